/** Edits of a real project, whose new problems are compared with what the compiler says of the whole project before and after. */
import { createTools, type LanguageServerOptions } from 'toolwright'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { numbers } from '../../support/numbers.ts'

/** What may be wrong after an edit: of an export, of a type, of a line. */
export type Mutation = (text: string, pick: (end: number) => number) => string

/** A text with one of the places of a pattern replaced. */
export function replaced(text: string, what: RegExp, pick: (end: number) => number, by: (all: string, name: string) => string): string {
  const all = [...text.matchAll(what)]
  const chosen = all[pick(all.length)]
  if (chosen === undefined) return text
  return text.slice(0, chosen.index) + by(chosen[0], chosen[1] ?? '') + text.slice(chosen.index + chosen[0].length)
}

/** Problems as `path code`, each as often as it is there. */
export type Problems = Map<string, number>

export function count(problems: Iterable<string>): Problems {
  const all: Problems = new Map()
  for (const one of problems) all.set(one, (all.get(one) ?? 0) + 1)
  return all
}

/** Those that are there more often than before. */
const added = (now: Problems, before: Problems): string[] =>
  [...now].flatMap(([one, times]) => Array.from({ length: Math.max(times - (before.get(one) ?? 0), 0) }, () => one)).toSorted()

const valueOf = (shown: unknown): string => (shown as { value: string } | undefined)?.value ?? ''

/** A set of tools with language servers, whose answers are what a model reads. */
export function checkedTools(root: string, languageServers: LanguageServerOptions) {
  const tools = createTools({ rootDir: root, languageServers, unseenChanges: 'allow' })
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
    for (let turn = 0; turn < 300 && /not checked yet|Not checked yet/u.test(text.split('\n(').at(-1) ?? text); turn += 1) {
      // eslint-disable-next-line no-await-in-loop -- until it is told
      await sleep(250)
      // eslint-disable-next-line no-await-in-loop -- until it is told
      const next = await late()
      if (next.includes('language server')) return `${text}\n${next}`
    }
    return text
  }
  return { told }
}

interface ComparedProject {
  root: string
  /** The files that are edited, from the root. */
  sources: readonly string[]
  mutations: readonly Mutation[]
  /** How many changes are made. Each is taken back, which is an edit too. */
  changes: number
  languageServers: LanguageServerOptions
  /** What the compiler says of the whole. */
  wholeOf(root: string): Problems
  /** The problems in an answer. */
  toldIn(text: string): string[]
}

/** What became of edits. */
interface ComparedEdits {
  edits: number
  /** Edits with so many problems that an answer shows the first of them. */
  cut: number
  /** Those of which something else was told. */
  wrong: string[]
  /** Until all was told of an edit, in milliseconds. */
  medianMs: number
}

/** Makes changes and takes them back. What is told of each edit is compared with what the compiler says of the whole before and after it. */
export async function compareEdits(project: ComparedProject): Promise<ComparedEdits> {
  const { root, sources, mutations, changes, wholeOf, toldIn } = project
  const { told } = checkedTools(root, project.languageServers)
  const pick = numbers(Number(process.env['TOOLWRIGHT_SEED'] ?? 1))
  const clean = wholeOf(root)
  const wrong: string[] = []
  const times: number[] = []
  let cut = 0
  const edit = async (path: string, content: string, what: string): Promise<(before: Problems, now: Problems) => void> => {
    const began = performance.now()
    const text = await told(path, content)
    times.push(performance.now() - began)
    const ours = toldIn(text).toSorted()
    return (before, now) => {
      const whole = added(now, before)
      const isCut = /\(\d+ more; see/u.test(text)
      if (isCut) cut += 1
      const isSame = isCut ? ours.every((one) => whole.includes(one)) : JSON.stringify(ours) === JSON.stringify(whole)
      if (!isSame) wrong.push(`${path}, ${what}: told ${JSON.stringify(ours)}, whole ${JSON.stringify(whole)}\n${text.slice(0, 400)}`)
    }
  }
  for (let change = 0; change < changes; change += 1) {
    const path = sources[pick(sources.length)] as string
    const old = readFileSync(join(root, path), 'utf8')
    const mutation = pick(mutations.length)
    // eslint-disable-next-line no-await-in-loop -- one edit after the other
    const compareMade = await edit(path, (mutations[mutation] as Mutation)(old, pick), `mutation ${mutation}`)
    const whole = wholeOf(root)
    compareMade(clean, whole)
    // eslint-disable-next-line no-await-in-loop -- one edit after the other
    const compareTakenBack = await edit(path, old, `mutation ${mutation} taken back`)
    compareTakenBack(whole, clean)
  }
  times.sort((a, b) => a - b)
  return { edits: times.length, cut, wrong, medianMs: Math.round(times[times.length >> 1] ?? 0) }
}

/** One line for the log of a run. */
export const summaryOf = ({ edits, cut, wrong, medianMs }: ComparedEdits, files: string): string =>
  `${edits} edits of ${files}: ${edits - wrong.length} right (${cut} of them shown in part), median ${medianMs} ms until all was told`
