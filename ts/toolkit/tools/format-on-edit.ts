/** Formats files after a change, by what the project has. The formatter runs in the sandbox without a network. */
import { posix, relative } from 'node:path'
import { ToolError } from '../../core/errors.js'
import { grantedRoot } from '../../core/grants.js'
import { startProcess } from '../../core/kept-process.js'
import { callLimited, fileText, call as callAddon } from '../../core/native.js'
import { entriesIn, realRoot } from '../../core/near-paths.js'
import { noVariables } from '../../core/network-guard/guard-network.js'
import { formattedNote, notFormattedNote } from '../../formatters/changed-lines.js'
import { FORMATTER_IO, formatText, NotFormatted } from '../../formatters/format-text.js'
import { type Formatter, formatterOf, type ProjectFiles } from '../../formatters/known-formatters.js'
import type { BoundToolOptions } from '../settings.js'
import { callPlan, type CallPlan, type CallSettings, commandOf, commandSettings, confined } from './call-plan.js'

/** How long a formatter may take for one file, in milliseconds, and its memory in bytes. */
const FORMAT_MS = 10_000
const MEMORY_BYTES = 2_000_000_000
/** The largest file of settings that is read, in bytes. */
const MAX_SETTINGS_BYTES = 1_000_000
/** The most files of one call that are formatted. */
const MAX_FILES = 50

/** Makes a change and then formats its files, if the set does. @returns what the change has returned, and a note. */
export async function changeAndFormat<T>(
  formats: boolean,
  paths: readonly string[],
  call: CallSettings,
  bound: BoundToolOptions,
  change: () => Promise<T>,
): Promise<{ result: T; formatNote: string | undefined }> {
  const result = await change()
  return { result, formatNote: formats ? await formatFiles(paths, call, bound) : undefined }
}

/** Formats the files of a call. It never throws: a file that is not formatted stays as it was written. @returns notes for the model. */
async function formatFiles(paths: readonly string[], call: CallSettings, bound: BoundToolOptions): Promise<string | undefined> {
  const plan = callPlan(call)
  const files = projectFiles(plan)
  const notes: string[] = []
  for (const path of paths.slice(0, MAX_FILES)) {
    // eslint-disable-next-line no-await-in-loop -- one after the other: a formatter takes memory
    const note = await formatFile(path, plan, files, bound)
    if (note !== undefined) notes.push(note)
  }
  if (paths.length > MAX_FILES) notes.push(`(Of ${paths.length} files, the first ${MAX_FILES} were formatted.)`)
  return notes.length === 0 ? undefined : notes.join('\n')
}

async function formatFile(given: string, plan: CallPlan, files: ProjectFiles, bound: BoundToolOptions): Promise<string | undefined> {
  const path = posix.normalize(given.startsWith('/') ? relative(await realRoot(plan.rootDir), given) : given)
  let formatter: Formatter | undefined
  try {
    formatter = path.startsWith('..') ? undefined : await formatterOf(path, files)
    const text = formatter && (await textOf(plan, path, plan.maxOutputBytes))
    if (formatter === undefined || text === undefined) return undefined
    const formatted = await run(formatter, plan, text, bound)
    if (formatted === text) return undefined
    if ((await textOf(plan, path, plan.maxOutputBytes)) !== text) throw new NotFormatted('the file has changed meanwhile')
    await callLimited(plan.changeLimits(`format ${path}`), (addon, cancel) =>
      addon.write(grantedRoot(addon, plan), path, formatted, plan.maxOutputBytes, false, plan.publishSeen(addon), cancel),
    )
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

async function run({ name, command }: Formatter, plan: CallPlan, text: string, bound: BoundToolOptions): Promise<string> {
  const limit = AbortSignal.timeout(FORMAT_MS)
  const signal = plan.signal === undefined ? limit : AbortSignal.any([limit, plan.signal])
  const own = confined(plan, MEMORY_BYTES)
  const [cmd = '', ...args] = command
  const process = await startProcess(
    { signal, timeoutMs: FORMAT_MS, what: `formatter ${name}` },
    (addon, keep, cancel) =>
      addon.startProcess(commandSettings(own, { ...bound })(addon), commandOf({ cmd, args, cwd: '.' }, noVariables), keep, cancel),
    FORMATTER_IO,
  )
  return formatText(process, text, signal)
}

/** The text of a file below the root; `undefined` without one, and for what is no UTF-8. */
async function textOf(plan: CallPlan, path: string, limitBytes: number): Promise<string | undefined> {
  try {
    const bytes = await callAddon(plan.limits(`read ${path}`), (addon, cancel) =>
      addon.read(grantedRoot(addon, plan), path, limitBytes, false, cancel),
    )
    const text = fileText(bytes)
    return text.includes('\u{fffd}') ? undefined : text
  } catch {
    return undefined
  }
}

/** What the project has, read once for a call. */
function projectFiles(plan: CallPlan): ProjectFiles {
  const texts = new Map<string, Promise<string | undefined>>()
  return {
    read: (path) => {
      const text = texts.get(path) ?? textOf(plan, path, MAX_SETTINGS_BYTES)
      texts.set(path, text)
      return text
    },
    has: async (path) => {
      const { dir, base } = posix.parse(path)
      const entries = await entriesIn(await realRoot(plan.rootDir), dir)
      return entries?.some(({ name }) => name === base) === true
    },
  }
}
