/**
 * The project is the package `pip` of the machine's Python, which has more than 400 files, or the one at `TOOLWRIGHT_PYTHON_PROJECT`. Pyright takes
 * long for the whole: 10 edits in an ordinary run; `TOOLWRIGHT_SOAK_FACTOR=20` makes 200.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { makeSandbox } from '../../support/sandbox.ts'
import { compareEdits, count, type Mutation, type Problems, replaced, summaryOf } from './compared-edits.ts'
import { isRunnable } from './installed.ts'

const CHANGES = 5 * Number(process.env['TOOLWRIGHT_SOAK_FACTOR'] ?? 1)

const mutations: readonly Mutation[] = [
  // Another name for something that others may import.
  (text, pick) => replaced(text, /^(?:async )?(?:def|class) (\w+)/gmu, pick, (all, name) => all.replace(name, `${name}_other`)),
  (text, pick) => replaced(text, /^(\w+) = /gmu, pick, (all, name) => all.replace(name, `${name}_other`)),
  // A parameter or a result of another type.
  (text, pick) => replaced(text, /(\w+): str\b/gu, pick, (_, name) => `${name}: int`),
  (text, pick) => replaced(text, /-> bool:/gu, pick, () => '-> "list[bytes]":'),
  // A further parameter that callers lack.
  (text, pick) => replaced(text, /^ {4}def (\w+)\(self\b/gmu, pick, (all) => `${all}, added: int`),
  // A line that is no longer there.
  (text, pick) => replaced(text, /^import \w+\n/gmu, pick, () => ''),
  (text, pick) => replaced(text, /^ {4}\w+: [^\n=]+\n/gmu, pick, () => ''),
  // Half a statement.
  (text) => `${text}\ndef added(:\n`,
  // Something that is added.
  (text) => `${text}\nadded: int = 'text'\n`,
  (text) => `${text}\nadded: int = 1\n`,
  // A comment alone.
  (text) => `# A comment.\n${text}`,
]

interface PyrightReport {
  generalDiagnostics: { file: string; severity: string; rule?: string; message: string }[]
}

/** As a server's problems are shown: a message is one line of 300 characters. */
const shown = (message: string): string => {
  const line = message.replaceAll(/\s+/gu, ' ').trim()
  return line.length <= 300 ? line : `${line.slice(0, 300)}…`
}

function wholeOf(root: string): Problems {
  const { stdout } = spawnSync('pyright', ['--outputjson', root], { cwd: root, encoding: 'utf8', maxBuffer: 500_000_000 })
  const report = JSON.parse(stdout) as PyrightReport
  const problems = report.generalDiagnostics.filter(({ severity }) => severity !== 'information')
  return count(problems.map(({ file, rule = '', message }) => `${file.slice(root.length + 1)} ${rule} ${shown(message)}`))
}

const toldIn = (text: string): string[] =>
  [...text.matchAll(/^(\S+\.py):\d+: (?:error|warning)(?: (report\w+))?: (.*)$/gmu)].map(
    ([, path = '', rule = '', message = '']) => `${path} ${rule} ${message}`,
  )

/** The directory of the project; `undefined` if there is none. */
function findProject(): string | undefined {
  const given = process.env['TOOLWRIGHT_PYTHON_PROJECT']
  if (given !== undefined) return given
  const { stdout } = spawnSync('python3', ['-c', 'import os, pip; print(os.path.dirname(pip.__file__))'], { encoding: 'utf8' })
  return stdout.trim() === '' ? undefined : stdout.trim()
}

const pythonFiles = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.py'))

const project = process.platform === 'linux' && isRunnable('pyright') && isRunnable('pyright-langserver') ? findProject() : undefined
const isLarge = project !== undefined && pythonFiles(project).length >= 400

describe.skipIf(!isLarge)('new problems of a project of 400 Python files (needs pyright, and pip in python3)', () => {
  test(`${2 * CHANGES} edits: what is told is what pyright says of the whole`, { timeout: 14_400_000 }, async () => {
    const { root } = makeSandbox()
    const from = project as string
    const name = basename(from)
    cpSync(from, join(root, name), { recursive: true, filter: (path) => !path.endsWith('__pycache__') })
    execFileSync('git', ['init', '-q'], { cwd: root })
    const sources = pythonFiles(join(root, name)).map((path) => join(name, path))
    const languageServers = { servers: { python: 'installed' }, waitMs: 60_000 } as const
    const compared = await compareEdits({ root, sources, mutations, changes: CHANGES, languageServers, wholeOf, toldIn })
    console.log(summaryOf(compared, `${sources.length} Python files`))
    expect(compared.wrong).toEqual([])
  })
})
