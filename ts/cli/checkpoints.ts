import { openToLook } from '../journal/checkpoints/open-checkpoints.js'
import type { Checkpoints, RestoreCheckpointOptions, UndoTarget } from '../journal/checkpoints/checkpoints.js'
import { ageOf, bytesOf, collectedText, diffText, listText, restoredText } from './checkpoints/texts.js'
import { ToolError } from '../core/errors.js'
import { fitted, print, shown, shownJson, type TerminalText } from '../core/terminal.js'
import { meant, parseCommandLine, UsageError } from './program.js'
import { startProgress } from './progress.js'

const HELP = shown`Usage: toolwright checkpoints <list|diff|restore|gc> [options]

  list                     show the checkpoints, the newest first, with the calls that ended with them
  diff <id> [<other id>]   show what changed between two checkpoints, or since one
  restore <id> [<path> …]  bring the directory, or these paths, back to a checkpoint
  gc                       remove the oldest checkpoints beyond limits, and give their space back

  --dir <path>       use this directory (default: the current one)
  --store <path>     use the store in this directory (default: the user's own for the directory)
  --limit <n>        list: show at most so many (default: 50)
  --names            diff: show the paths alone
  --call <id>        restore: undo what a call has changed
  --turn <id>        restore: undo what a turn has changed
  --dry-run          restore: say what would be done
  --force            restore: include what somebody else has changed since
  --max-bytes <n>    gc: keep at most so much: 500MB, 2GB
  --max-age <time>   gc: keep what is younger: 12h, 30d
  --keep <n>         gc: keep at most so many checkpoints
  --json             print the result as JSON
  --help             print this text

The exit code is 1 if it cannot be done, such as when somebody else has changed a file since. Nothing is
changed then.
`

const options = {
  dir: { type: 'string' },
  store: { type: 'string' },
  limit: { type: 'string' },
  names: { type: 'boolean' },
  call: { type: 'string' },
  turn: { type: 'string' },
  'dry-run': { type: 'boolean' },
  force: { type: 'boolean' },
  'max-bytes': { type: 'string' },
  'max-age': { type: 'string' },
  keep: { type: 'string' },
  json: { type: 'boolean' },
} as const

const UNDO = '; restore <id> brings a checkpoint back, and restore --call <id> and --turn <id> undo what was changed'

/** The most bytes of a diff that is printed. */
const DIFF_BYTES = 4 << 20
const POLL_MS = 100

type Line = NonNullable<ReturnType<typeof parseLine>>
type Action = (store: Checkpoints, line: Line, names: string[]) => Promise<{ json: unknown; text: TerminalText; code?: number }>

const parseLine = (args: string[]) => parseCommandLine(HELP, { args, allowPositionals: true, options })

const actions: Record<string, Action> = {
  async list(store, { values }, names) {
    if (names.length > 0) throw new UsageError('checkpoints list: takes no arguments')
    const found = await store.list({ limit: values.limit === undefined ? 50 : count('--limit', values.limit) })
    return { json: found, text: listText(found) }
  },
  async diff(store, { values }, names) {
    const [from, to, ...others] = names
    if (from === undefined || others.length > 0) throw new UsageError('checkpoints diff: name one checkpoint, or two')
    const ends = [checkpointId(from), to === undefined ? undefined : checkpointId(to)] as const
    const maxTextBytes = values.names === true ? 0 : DIFF_BYTES
    const found = await store.diff(...ends, { maxTextBytes })
    return { json: found, text: diffText(found, values.names === true) }
  },
  async restore(store, { values }, names) {
    const how: RestoreCheckpointOptions = { dryRun: values['dry-run'] === true, force: values.force === true }
    const undone = undoTarget(values)
    const [id, ...rest] = names
    if (undone === undefined && id === undefined) throw new UsageError('checkpoints restore: name a checkpoint, a call or a turn')
    const paths = undone === undefined ? rest : names
    const work = undone === undefined ? store.restore(checkpointId(id ?? ''), { ...how, paths }) : store.undo(undone, { ...how, paths })
    const restored = await work.catch(inWordsOfCommand)
    return { json: restored, text: restoredText(restored, how.dryRun === true), code: restored.conflicts.length > 0 ? 1 : 0 }
  },
  async gc(store, { values }, names) {
    if (names.length > 0) throw new UsageError('checkpoints gc: takes no arguments')
    const collected = await store.gc({
      ...(values['max-bytes'] !== undefined && { maxBytes: bytesOf('checkpoints: --max-bytes', values['max-bytes']) }),
      ...(values['max-age'] !== undefined && { maxAgeMs: ageOf('--max-age', values['max-age']) }),
      ...(values.keep !== undefined && { maxCheckpoints: count('--keep', values.keep) }),
    })
    return { json: collected, text: collectedText(collected) }
  },
}

/** `toolwright checkpoints`. */
export async function checkpoints(args: string[]): Promise<number> {
  const line = parseLine(args)
  if (line === undefined) return 0
  const { values, positionals } = line
  const [what, ...names] = positionals
  const action = what !== undefined && Object.hasOwn(actions, what) ? actions[what] : undefined
  if (action === undefined) {
    throw new UsageError(
      what === undefined
        ? 'checkpoints: list, diff, restore or gc?'
        : shown`checkpoints: no command ${shownJson(what)}${/^(?:undo|revert|rollback|rewind|reset)$/u.test(what) ? UNDO : meant(what, Object.keys(actions))}`,
    )
  }
  const store = await openToLook(values.dir ?? '.', values.store)
  try {
    const { json, text, code = 0 } = await withProgress(store, () => action(store, line, names))
    if (values.json === true) print(shown`${shownJson(json)}\n`)
    else print(what === 'diff' ? text : fitted(text, process.stdout))
    return code
  } finally {
    await store.close()
  }
}

async function withProgress<T>(store: Checkpoints, work: () => Promise<T>): Promise<T> {
  const progress = startProgress(process.stderr)
  const show = (): void => {
    const { files, bytes } = store.progress()
    progress.show(shown`${files} files, ${Math.round(bytes / 1e6)} MB`)
  }
  const timer = setInterval(show, POLL_MS)
  try {
    return await work()
  } finally {
    clearInterval(timer)
    progress.end()
  }
}

/** The hint of a conflict speaks of options in a program. */
function inWordsOfCommand(error: unknown): never {
  if (!ToolError.isInstance(error) || error.code !== 'CHECKPOINT_CONFLICT') throw error
  const what = error.message.replace(error.hint ?? '', '').trimEnd()
  throw new UsageError(`${what} Name other paths behind the checkpoint, or include these with --force.`, 1)
}

function undoTarget({ call, turn }: { call?: string | undefined; turn?: string | undefined }): UndoTarget | undefined {
  if (call !== undefined && turn !== undefined) throw new UsageError('checkpoints restore: give --call or --turn, not both')
  if (call !== undefined) return { call }
  return turn === undefined ? undefined : { turn }
}

function checkpointId(text: string): number {
  if (!/^\d{1,15}$/u.test(text)) throw new UsageError(shown`a checkpoint is a number, not ${shownJson(text)}`)
  return Number(text)
}

function count(option: string, text: string): number {
  if (!/^[1-9]\d{0,8}$/u.test(text)) throw new UsageError(shown`checkpoints: ${option} is a whole number from 1, not ${shownJson(text)}`)
  return Number(text)
}
