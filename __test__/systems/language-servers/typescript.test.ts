/** 40 edits in an ordinary run; `TOOLWRIGHT_SOAK_FACTOR=10` makes 400. */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { makeSandbox } from '../../support/sandbox.ts'
import { compareEdits, count, type Mutation, type Problems, replaced, summaryOf } from './compared-edits.ts'

const repository = resolve(import.meta.dirname, '../../..')
const CHANGES = 20 * Number(process.env['TOOLWRIGHT_SOAK_FACTOR'] ?? 1)

const mutations: readonly Mutation[] = [
  // Another name for something that is exported.
  (text, pick) =>
    replaced(text, /export (?:async )?(?:const|function|class) (\w+)/gu, pick, (all, name) => all.replace(name, `${name}Other`)),
  // A parameter of another type.
  (text, pick) => replaced(text, /(\w+): string\b/gu, pick, (_, name) => `${name}: number`),
  (text, pick) => replaced(text, /(\w+): number\b/gu, pick, (_, name) => `${name}: string`),
  // A field that is no longer there.
  (text, pick) => replaced(text, /\n {2}(?:readonly )?\w+\??: [^\n{]+(?=\n)/gu, pick, () => ''),
  // Something that is added.
  (text) => `${text}\nconst added: number = 'text'\n`,
  (text) => `${text}\nexport const fine: number = 1\n`,
  // A comment alone.
  (text) => `// A comment.\n${text}`,
]

function wholeOf(root: string): Problems {
  const { stdout } = spawnSync(join(repository, 'node_modules/.bin/tsc'), ['--noEmit', '--pretty', 'false', '-p', root], {
    cwd: root,
    encoding: 'utf8',
  })
  return count([...stdout.matchAll(/^(\S+)\(\d+,\d+\): error (TS\d+)/gmu)].map(([, path, code]) => `${path} ${code}`))
}

const toldIn = (text: string): string[] =>
  [...text.matchAll(/^(\S+):\d+: (?:error|warning) (TS\d+):/gmu)].map(([, path, code]) => `${path} ${code}`)

describe.skipIf(process.platform !== 'linux')('new problems of a project of 400 TypeScript files', () => {
  test(`${2 * CHANGES} edits: what is told is what the compiler says of the whole`, { timeout: 3_600_000 }, async () => {
    const { root } = makeSandbox()
    cpSync(join(repository, 'ts'), join(root, 'ts'), { recursive: true })
    // The page of the report is another project, which this one leaves out. A server looks at both.
    rmSync(join(root, 'ts/report/page'), { recursive: true })
    for (const name of ['index.d.ts', 'package.json', 'tsconfig.json']) cpSync(join(repository, name), join(root, name))
    symlinkSync(join(repository, 'node_modules'), join(root, 'node_modules'))
    execFileSync('git', ['init', '-q'], { cwd: root })
    writeFileSync(join(root, '.gitignore'), 'node_modules\n')
    const sources = readdirSync(join(root, 'ts'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))
      .map((name) => join('ts', name))
    const languageServers = { waitMs: 60_000 }
    const compared = await compareEdits({ root, sources, mutations, changes: CHANGES, languageServers, wholeOf, toldIn })
    console.log(summaryOf(compared, `${sources.length} TypeScript files`))
    expect(compared.wrong).toEqual([])
  })
})
