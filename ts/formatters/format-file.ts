/** Formats one file of a project, below every door. */
import { posix } from 'node:path'
import { ToolError } from '../core/errors.js'
import type { KeptProcess } from '../core/kept-process.js'
import { formattedNote, notFormattedNote } from './changed-lines.js'
import { formatText, NotFormatted } from './format-text.js'
import { type Formatter, formatterOf, type ProjectFiles } from './known-formatters.js'

/** How long a formatter may take for one file, in milliseconds, and its memory in bytes. */
const FORMAT_MS = 10_000
const MEMORY_BYTES = 2_000_000_000
/** The most files of one call that are formatted. */
const MAX_FILES = 50

/** The process of a formatter, as a host starts it: in the sandbox, in the root directory, without a network. */
export interface FormatterProcess {
  name: string
  command: readonly string[]
  memoryBytes: number
  timeoutMs: number
}

/** What the formatting of files needs of its door. Paths begin at the root. */
export interface FormatHost {
  /** The files that say what the project has. */
  files: ProjectFiles
  signal: AbortSignal | undefined
  /** The text of a file now; `undefined` without one, and for what is no UTF-8. */
  text(path: string): Promise<string | undefined>
  start(process: FormatterProcess, signal: AbortSignal): Promise<KeptProcess>
  /** Makes a text that of a file which still has another one. @throws {NotFormatted} for a file that has another; {ToolError} */
  replace(path: string, before: string, after: string): Promise<void>
}

/**
 * Formats the files of a call. It never throws: a file that is not formatted stays as it was written.
 *
 * @param paths from the root
 * @returns what there is to tell a model; `undefined` for nothing.
 */
export async function formatFiles(paths: readonly string[], host: FormatHost): Promise<string | undefined> {
  const notes: string[] = []
  for (const path of paths.slice(0, MAX_FILES)) {
    // eslint-disable-next-line no-await-in-loop -- one after the other: a formatter takes memory
    const note = await formatFile(posix.normalize(path), host)
    if (note !== undefined) notes.push(note)
  }
  if (paths.length > MAX_FILES) notes.push(`(Of ${paths.length} files, the first ${MAX_FILES} were formatted.)`)
  return notes.length === 0 ? undefined : notes.join('\n')
}

async function formatFile(path: string, host: FormatHost): Promise<string | undefined> {
  let formatter: Formatter | undefined
  try {
    formatter = path.startsWith('..') ? undefined : await formatterOf(path, host.files)
    if (formatter === undefined) return undefined
    const text = await host.text(path)
    if (text === undefined) {
      // A deleted file has no text.
      if (!(await host.files.has(path))) return undefined
      throw new NotFormatted('its text cannot be read, is too long, or is no UTF-8')
    }
    const formatted = await run(formatter, text, host)
    if (formatted === text) return undefined
    await host.replace(path, text, formatted)
    return formattedNote(formatter.name, path, text, formatted)
  } catch (error) {
    return formatter && notFormattedNote(formatter.name, path, whyNot(error))
  }
}

function whyNot(error: unknown): string {
  if (error instanceof NotFormatted) return error.message
  if (ToolError.isInstance(error)) return error.summary
  return (error as Error | undefined)?.name === 'TimeoutError'
    ? `it took more than ${FORMAT_MS / 1_000} s`
    : String((error as Error)?.message)
}

async function run({ name, command }: Formatter, text: string, host: FormatHost): Promise<string> {
  const limit = AbortSignal.timeout(FORMAT_MS)
  const signal = host.signal === undefined ? limit : AbortSignal.any([limit, host.signal])
  const process = await host.start({ name, command, memoryBytes: MEMORY_BYTES, timeoutMs: FORMAT_MS }, signal)
  return formatText(process, text, signal)
}
