import { readFileSync } from 'node:fs'
import { release } from 'node:os'
import { parseArgs, type ParseArgsConfig } from 'node:util'
import type { Journal } from '../journal/journal.js'
import type { RunSummary } from '../journal/journal-store.js'
import { fitted, print, shown, shownJson, joined, type TerminalText } from '../core/terminal.js'
import { nearestName } from '../core/text.js'

/** An invalid command line. It is reported without a stack. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  /** The exit code of the command: 2 for an invalid command line, 1 for a failure. */
  readonly exitCode: 1 | 2

  readonly text: TerminalText

  /** @param message a text of others in it is escaped */
  constructor(message: TerminalText | string, exitCode: 1 | 2 = 2) {
    const text = shown`${message}`
    super(text.toString())
    this.text = text
    this.exitCode = exitCode
  }
}

/**
 * Node's `parseArgs` with an option `--help`, which prints the help. The result is then `undefined`.
 *
 * @throws {UsageError}
 */
export function parseCommandLine<CONFIG extends ParseArgsConfig>(help: TerminalText, config: CONFIG) {
  try {
    const options = { ...config.options, help: { type: 'boolean', short: 'h' } } as const
    const parsed = parseArgs({ ...config, options })
    if ((parsed.values as { help?: boolean }).help !== true) return parsed as ReturnType<typeof parseArgs<CONFIG>>
    print(fitted(help, process.stdout))
    return undefined
  } catch (error) {
    throw new UsageError(wrongOption(config) ?? (error instanceof Error ? error.message : String(error)))
  }
}

/** What is wrong with a command line, in the same words in Node and in Bun. */
function wrongOption({ args, options = {}, allowPositionals = false }: ParseArgsConfig): TerminalText | undefined {
  const known: NonNullable<ParseArgsConfig['options']> = { ...options, help: { type: 'boolean', short: 'h' } }
  const { tokens } = parseArgs({ args: args ?? [], options: known, allowPositionals: true, strict: false, tokens: true })
  for (const token of tokens) {
    if (token.kind === 'positional' && !allowPositionals) return shown`unexpected argument ${shownJson(token.value)}`
    if (token.kind !== 'option') continue
    const { rawName, name, value, inlineValue } = token
    const option = Object.hasOwn(known, name) ? known[name] : undefined
    if (option === undefined) {
      // `-root` is read as `-r -o -o -t`.
      const word = args?.[token.index] ?? rawName
      const long = /^-([a-z][\w-]+)/u.exec(word)?.[1]
      if (long !== undefined && Object.hasOwn(known, long)) return shown`unknown option ${word} (did you mean --${long}?)`
      return shown`unknown option ${rawName}${meant(
        rawName,
        Object.keys(known).map((one) => `--${one}`),
      )}`
    }
    if (option.type === 'boolean' && value !== undefined) return shown`${rawName} takes no value`
    if (option.type === 'string' && (value === undefined || (inlineValue !== true && value.startsWith('-')))) {
      const next = value === undefined ? '' : shown`, and one that begins with a dash as ${rawName}=${value}`
      return shown`${rawName} takes a value${next}`
    }
  }
  return undefined
}

/** Shorter words begin too many others. */
const SHORTEST_BEGINNING = 3

/** Names what a person may have meant by a word that is unknown. */
export function meant(word: string, names: Iterable<string>): TerminalText {
  const all = [...names]
  // A beginning is an abbreviation, however long the rest is.
  const near = all.find((name) => word.length > SHORTEST_BEGINNING && name.startsWith(word)) ?? nearestName(word, all)
  return near === undefined ? shown`` : shown` (did you mean ${near}?)`
}

export function version(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}

/** The versions for a bug report. */
export function versions(): Record<'toolwright' | 'runtime' | 'system', string> {
  const runtime = process.versions['bun'] === undefined ? `Node ${process.versions.node}` : `Bun ${process.versions['bun']}`
  return { toolwright: version(), runtime, system: `${process.platform} ${process.arch}, kernel ${release()}` }
}

/** The journal that a command names. It has to be a file. */
export function journalArgument(command: string, positionals: readonly string[]): string {
  const [location, ...others] = positionals
  if (location === undefined) throw new UsageError(`${command}: name a journal`)
  if (others.length > 0) throw new UsageError(`${command}: name one journal`)
  if (/^:?memory:$/u.test(location)) throw new UsageError(`${command}: only the process that keeps ${location} can read it`)
  return location
}

/** A journal in messages: as the command line named it, or without the password of its server. */
export const shownLocation = (journal: Journal, location: string): string =>
  /^postgres(?:ql)?:/iu.test(location) ? journal.location : location

/** The runs of a journal, or the one that a command names. @throws {UsageError} for an unknown run. */
export async function chosenRuns(journal: Journal, runId: string | undefined, location: string): Promise<RunSummary[]> {
  const all = await journal.listRuns()
  const runs = all.filter((run) => runId === undefined || run.runId === runId)
  if (runs.length === 0 && runId !== undefined) {
    // One line, whatever the ids are.
    const newest = all.slice(-NAMED_RUNS).map((run) => shownJson(run.runId.slice(0, MAX_ID)))
    const there =
      newest.length === 0
        ? 'which has no calls'
        : shown`whose ${all.length > newest.length ? 'newest are' : 'runs are'} ${joined(newest, shown`, `)}`
    throw new UsageError(shown`no run ${shownJson(runId)} in ${shownLocation(journal, location)}, ${there}`, 1)
  }
  return runs
}

/** How many runs a message names, and how many characters of each. */
const NAMED_RUNS = 3
const MAX_ID = 100

/** The port that an option names. */
export function portNumber(option: string, text: string): number {
  const port = Number(text)
  if (!/^\d{1,5}$/u.test(text) || port > 65_535) throw new UsageError(`${option} is a number from 0 to 65535, not ${JSON.stringify(text)}`)
  return port
}
