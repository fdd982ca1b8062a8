/**
 * New problems of edits in real projects, compared with what the compiler says of the whole project before and after.
 *
 * A tenth of the edits in an ordinary run; `TOOLWRIGHT_SOAK_FACTOR=10` makes 200.
 */
import { createTools } from 'toolwright'
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { numbers } from '../support/numbers.ts'
import { makeSandbox } from '../support/sandbox.ts'

const repository = resolve(import.meta.dirname, '../..')
const EDITS = 20 * Number(process.env['TOOLWRIGHT_SOAK_FACTOR'] ?? 1)

/** What may be wrong after an edit: of an export, of a type, of a line. */
const mutations: readonly ((text: string, pick: (end: number) => number) => string)[] = [
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

function replaced(text: string, what: RegExp, pick: (end: number) => number, by: (all: string, name: string) => string): string {
  const all = [...text.matchAll(what)]
  const chosen = all[pick(all.length)]
  if (chosen === undefined) return text
  return text.slice(0, chosen.index) + by(chosen[0], chosen[1] ?? '') + text.slice(chosen.index + chosen[0].length)
}

/** Problems as `path code`, each as often as it is there. */
type Problems = Map<string, number>

function count(problems: Iterable<string>): Problems {
  const all: Problems = new Map()
  for (const one of problems) all.set(one, (all.get(one) ?? 0) + 1)
  return all
}

/** Those that are there more often than before. */
const added = (now: Problems, before: Problems): string[] =>
  [...now].flatMap(([one, times]) => Array.from({ length: Math.max(times - (before.get(one) ?? 0), 0) }, () => one)).toSorted()

function wholeOf(root: string): Problems {
  const { stdout } = spawnSync(join(repository, 'node_modules/.bin/tsc'), ['--noEmit', '--pretty', 'false', '-p', root], {
    cwd: root,
    encoding: 'utf8',
  })
  return count([...stdout.matchAll(/^(\S+)\(\d+,\d+\): error (TS\d+)/gmu)].map(([, path, code]) => `${path} ${code}`))
}

const toldIn = (text: string): string[] =>
  [...text.matchAll(/^(\S+):\d+: (?:error|warning) (TS\d+):/gmu)].map(([, path, code]) => `${path} ${code}`)

const valueOf = (shown: unknown): string => (shown as { value: string } | undefined)?.value ?? ''

const sources = (root: string): string[] =>
  readdirSync(join(root, 'ts'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))
    .map((name) => join('ts', name))

describe.skipIf(process.platform !== 'linux')('new problems of a project of 400 TypeScript files', () => {
  test(`${EDITS} edits: what is told is what the compiler says of the whole`, { timeout: 3_600_000 }, async () => {
    const { root } = makeSandbox()
    cpSync(join(repository, 'ts'), join(root, 'ts'), { recursive: true })
    // The page of the report is another project, which this one leaves out. A server looks at both.
    rmSync(join(root, 'ts/report/page'), { recursive: true })
    for (const name of ['index.d.ts', 'package.json', 'tsconfig.json']) cpSync(join(repository, name), join(root, name))
    symlinkSync(join(repository, 'node_modules'), join(root, 'node_modules'))
    execFileSync('git', ['init', '-q'], { cwd: root })
    writeFileSync(join(root, '.gitignore'), 'node_modules\n')
    const tools = createTools({ rootDir: root, languageServers: { waitMs: 60_000 }, unseenChanges: 'allow' })
    onTestFinished(() => tools[Symbol.asyncDispose]())
    let calls = 0
    const write = async (path: string, content: string): Promise<string> => {
      const toolCallId = `call-${(calls += 1)}`
      const input = { path, content }
      const output = await tools.write.execute(input, { toolCallId })
      return valueOf(tools.write.toModelOutput?.({ toolCallId, input, output }))
    }
    const late = async (): Promise<string> => {
      const toolCallId = `call-${(calls += 1)}`
      const input = { cmd: 'true' }
      const output = await tools.bash.execute(input, { toolCallId })
      return valueOf(tools.bash.toModelOutput?.({ toolCallId, input, output }))
    }
    /** Everything that is told of an edit, in its answer and in the next ones. */
    const told = async (path: string, content: string): Promise<string> => {
      const text = await write(path, content)
      for (let turn = 0; turn < 600 && /not checked yet|Not checked yet/u.test(text.split('\n(').at(-1) ?? text); turn += 1) {
        // eslint-disable-next-line no-await-in-loop -- until it is told
        await sleep(100)
        // eslint-disable-next-line no-await-in-loop -- until it is told
        const next = await late()
        if (next.includes('language server')) return `${text}\n${next}`
      }
      return text
    }
    const all = sources(root)
    const pick = numbers(Number(process.env['TOOLWRIGHT_SEED'] ?? 1))
    const clean = wholeOf(root)
    const wrong: string[] = []
    const times: number[] = []
    for (let edit = 0; edit < EDITS; edit += 1) {
      const path = all[pick(all.length)] as string
      const old = readFileSync(join(root, path), 'utf8')
      const mutate = mutations[pick(mutations.length)] as (typeof mutations)[number]
      const began = performance.now()
      // eslint-disable-next-line no-await-in-loop -- one edit after the other
      const text = await told(path, mutate(old, pick))
      times.push(performance.now() - began)
      const whole = added(wholeOf(root), clean)
      const ours = toldIn(text).toSorted()
      const isCut = /\(\d+ more; see/u.test(text)
      const isSame = isCut ? ours.every((one) => whole.includes(one)) : JSON.stringify(ours) === JSON.stringify(whole)
      if (!isSame) wrong.push(`${path}: told ${JSON.stringify(ours)}, whole ${JSON.stringify(whole)}\n${text.slice(0, 400)}`)
      // eslint-disable-next-line no-await-in-loop -- one edit after the other
      await told(path, old)
    }
    times.sort((a, b) => a - b)
    console.log(
      `${EDITS} edits of ${relative(repository, import.meta.filename)}: median ${times[times.length >> 1]?.toFixed(0)} ms until all was told`,
    )
    expect(wrong).toEqual([])
  })
})
