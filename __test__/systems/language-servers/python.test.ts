/** A tenth of the edits in an ordinary run; `TOOLWRIGHT_SOAK_FACTOR=10` makes 200. */
import { spawnSync } from 'node:child_process'
import { cpSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { makeSandbox } from '../../support/sandbox.ts'
import { compareEdits, count, type Mutation, type Problems, replaced } from './compared-edits.ts'
import { isRunnable, printed } from './installed.ts'

const EDITS = 20 * Number(process.env['TOOLWRIGHT_SOAK_FACTOR'] ?? 1)
/** The packages of an interpreter: pip alone has more than 400 files. */
const PIP = printed('python3', '-c', 'import os, pip; print(os.path.dirname(pip.__file__))')
const hasAll = isRunnable('pyright', '--version') && isRunnable('pyright-langserver') && PIP !== ''

const mutations: readonly Mutation[] = [
  // Another name for something that others may import.
  (text, pick) => replaced(text, /^(?:def|class) (\w+)/gmu, pick, (all, name) => all.replace(name, `${name}_other`)),
  // A parameter of another type.
  (text, pick) => replaced(text, /(\w+): str\b/gu, pick, (_, name) => `${name}: int`),
  (text, pick) => replaced(text, /(\w+): int\b/gu, pick, (_, name) => `${name}: str`),
  // A line of imports that is no longer there.
  (text, pick) => replaced(text, /^from [.\w]+ import \w+\n/gmu, pick, () => ''),
  // Something that is added.
  (text) => `${text}\nadded: int = 'text'\n`,
  (text) => `${text}\nfine: int = 1\n`,
  // A comment alone.
  (text) => `# A comment.\n${text}`,
]

interface Report {
  generalDiagnostics: { file: string; severity: string; rule?: string }[]
}

/** What pyright says of the whole. */
function wholeOf(root: string): Problems {
  const { stdout } = spawnSync('pyright', ['--outputjson'], { cwd: root, encoding: 'utf8', maxBuffer: 200_000_000 })
  const { generalDiagnostics } = JSON.parse(stdout) as Report
  const told = generalDiagnostics.filter(({ severity }) => severity === 'error' || severity === 'warning')
  return count(told.map(({ file, rule = '' }) => `${file.slice(root.length + 1)} ${rule}`.trim()))
}

const toldIn = (text: string): string[] =>
  [...text.matchAll(/^(\S+\.py):\d+: (?:error|warning)(?: (report\w+))?:/gmu)].map(([, path, rule = '']) => `${path} ${rule}`.trim())

describe.skipIf(process.platform !== 'linux' || !hasAll)('new problems of a project of 400 Python files (needs pyright and pip)', () => {
  test(`${EDITS} edits: what is told is what pyright says of the whole`, { timeout: 7_200_000 }, async () => {
    const { root } = makeSandbox()
    cpSync(PIP, join(root, 'pip'), { recursive: true, filter: (path) => !path.endsWith('__pycache__') })
    writeFileSync(join(root, 'pyrightconfig.json'), JSON.stringify({ typeCheckingMode: 'basic', include: ['pip'] }))
    const sources = readdirSync(join(root, 'pip'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.py'))
      .map((name) => join('pip', name))
    expect(sources.length).toBeGreaterThan(400)
    const languageServers = { servers: { python: 'installed' as const }, waitMs: 60_000 }
    const { wrong, medianMs } = await compareEdits({ root, sources, mutations, edits: EDITS, languageServers, wholeOf, toldIn })
    console.log(`${EDITS} edits of ${sources.length} Python files: median ${medianMs} ms until all was told`)
    expect(wrong).toEqual([])
  })
})
