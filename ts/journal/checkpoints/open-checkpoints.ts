import { resolve } from 'node:path'
import { type Awaitable } from '../../core/abort.js'
import {
  abortSignal,
  boolean,
  callable,
  checked,
  type Checks,
  invalid,
  optional,
  parseOptions,
  path,
  paths,
  positive,
  string,
  listOf,
  text,
  wholeNumber,
} from '../../core/options.js'
import { openNativeCheckpoints } from '../../core/native.js'
import type { RecordedRun } from '../calls/call-record.js'
import { checkJournal } from '../checks.js'
import type { Journal } from '../journal.js'
import type {
  Checkpoints,
  CollectCheckpointsOptions,
  DiffCheckpointsOptions,
  ListCheckpointsOptions,
  RestoreCheckpointOptions,
  TakeCheckpointOptions,
  TrackOptions,
  UndoTarget,
} from './checkpoints.js'
import { NativeStore } from './native-store.js'

/** Options of {@link openCheckpoints}. */
export interface OpenCheckpointsOptions {
  /**
   * The directory of the store, outside of the one that it keeps.
   * @default one for each directory below `$XDG_STATE_HOME/toolwright/checkpoints` or `~/.local/state/toolwright/checkpoints`
   */
  store?: string | undefined
  /**
   * Lines as in a `.gitignore`, which beat every ignore file. `node_modules/` comes before them: `'!node_modules/'` takes it in.
   * @default none
   */
  ignore?: readonly string[] | undefined
  /** Whether files that ignore files leave out are kept. @default false */
  withIgnored?: boolean | undefined
  /** A larger file is not kept, in bytes. @default 67108864 */
  maxFileBytes?: number | undefined
  /** The most that the store keeps, in bytes. The oldest checkpoints go first. @default 1073741824 */
  maxBytes?: number | undefined
  /** A checkpoint that is older goes, in milliseconds. @default 30 days */
  maxAgeMs?: number | undefined
  /** How long a call waits for other processes, in milliseconds. @default 30000 */
  busyTimeoutMs?: number | undefined
  /** Where restorations are recorded as calls of `checkpoint_restore`. @default the task that they are made in */
  journal?: Journal | undefined
  /** The run that restorations outside of a task are recorded as. @default a new UUID */
  runId?: string | undefined
  /** The node of that run. @default 'agent' */
  nodeId?: string | undefined
}

const openChecks = {
  store: optional(path),
  ignore: optional(listOf(string), []),
  withIgnored: optional(boolean, false),
  maxFileBytes: optional(positive(), 64 * 2 ** 20),
  maxBytes: optional(positive(), 2 ** 30),
  maxAgeMs: optional(positive(), 30 * 86_400_000),
  busyTimeoutMs: optional(positive(), 30_000),
  journal: optional(checkJournal),
  runId: optional(text),
  nodeId: optional(text),
} satisfies Checks<OpenCheckpointsOptions>

const takeChecks = { label: optional(text), signal: abortSignal } satisfies Checks<TakeCheckpointOptions>
const diffChecks = { maxTextBytes: optional(wholeNumber(0), 200_000), signal: abortSignal } satisfies Checks<DiffCheckpointsOptions>
const restoreChecks = {
  paths: optional(paths, []),
  dryRun: optional(boolean, false),
  force: optional(boolean, false),
  signal: abortSignal,
} satisfies Checks<RestoreCheckpointOptions>
const trackChecks = {
  turn: optional(text),
  onChanged: optional(callable<NonNullable<TrackOptions['onChanged']>>()),
  signal: abortSignal,
} satisfies Checks<TrackOptions>
const turnChecks = { signal: abortSignal }
const listChecks = { limit: optional(wholeNumber(1), 100), before: optional(wholeNumber(0)) } satisfies Checks<ListCheckpointsOptions>
const gcChecks = {
  maxBytes: optional(wholeNumber(0)),
  maxAgeMs: optional(wholeNumber(0)),
  maxCheckpoints: optional(wholeNumber(1)),
  signal: abortSignal,
} satisfies Checks<CollectCheckpointsOptions>

/**
 * Opens the checkpoints of a directory. Their store lies outside of it; nothing is written into the directory but what is
 * restored, and `.git` is neither read nor changed.
 *
 * ```ts
 * await using checkpoints = await openCheckpoints('.')
 * const { id } = await checkpoints.checkpoint()
 * // … an agent works, and then:
 * await checkpoints.checkpoint()
 * console.log((await checkpoints.diff(id)).text)
 * await checkpoints.restore(id)
 * ```
 *
 * @throws {ToolError} CHECKPOINT_STORE_INSIDE, CHECKPOINT_OTHER_ROOT, CHECKPOINT_CORRUPT, CHECKPOINT_STORE_FAILED,
 * TOOL_ROOT_INVALID, INVALID_INPUT, NATIVE_UNAVAILABLE.
 */
export async function openCheckpoints(dir: string, options: OpenCheckpointsOptions = {}): Promise<Checkpoints> {
  const { journal, runId, nodeId, store, ...others } = parseOptions('openCheckpoints', options, openChecks)
  return open('openCheckpoints', dir, store, others, { journal, runId, nodeId })
}

/** Opens a store to look at it: what is left out is as in the program that keeps it, and nothing is removed because of limits. */
export async function openToLook(dir: string, store: string | undefined): Promise<Checkpoints> {
  return open('openCheckpoints', dir, store, { inherit: true, maxBytes: Number.MAX_SAFE_INTEGER, maxAgeMs: Number.MAX_SAFE_INTEGER }, {})
}

async function open(caller: string, dir: string, store: string | undefined, options: object, run: RecordedRun): Promise<Checkpoints> {
  const root = checked(caller, () => resolve(path(dir, 'dir')))
  const request = store === undefined ? { ...options } : { ...options, store: resolve(store) }
  const { native, path: location } = await openNativeCheckpoints(root, request)
  return storeCheckpoints(dir, location, new NativeStore(native, run))
}

function storeCheckpoints(dir: string, location: string, store: NativeStore): Checkpoints {
  const close = (): Promise<void> => store.close()
  return {
    dir,
    location,
    checkpoint: async (options = {}) => store.take(parseOptions('checkpoint', options, takeChecks)),
    async diff(from, to, options = {}) {
      const ends = [checkId('diff', from), to === undefined ? undefined : checkId('diff', to)] as const
      return store.diff(...ends, parseOptions('diff', options, diffChecks))
    },
    async restore(id, options = {}) {
      return store.restore({ id: checkId('restore', id) }, parseOptions('restore', options, restoreChecks))
    },
    async undo(what, options = {}) {
      return store.restore(checkTarget(what), parseOptions('undo', options, restoreChecks))
    },
    async track<T>(call: string, fn: () => Awaitable<T>, options: TrackOptions = {}) {
      const parsed = parseOptions('track', options, trackChecks)
      const name = checked('track', () => {
        if (typeof fn !== 'function') throw invalid('track needs a function: what the call does.')
        return text(call, 'The id of the call')
      })
      return store.track(name, fn, parsed)
    },
    async beginTurn(turn, options = {}) {
      const { signal } = parseOptions('beginTurn', options, turnChecks)
      return store.beginTurn(
        checked('beginTurn', () => text(turn, 'The id of the turn')),
        signal,
      )
    },
    list: async (options = {}) => store.list(parseOptions('list', options, listChecks)),
    gc: async (options = {}) => store.gc(parseOptions('gc', options, gcChecks)),
    progress: () => store.progress(),
    close,
    [Symbol.asyncDispose]: close,
  }
}

const checkId = (caller: string, id: unknown): number => checked(caller, () => wholeNumber(0)(id, 'The number of a checkpoint'))

function checkTarget(what: UndoTarget): UndoTarget {
  return checked('undo', () => {
    const { call, turn } = what ?? {}
    if ((call === undefined) === (turn === undefined)) throw invalid('undo needs the id of a call or of a turn.')
    return call === undefined ? { turn: text(turn, 'turn') } : { call: text(call, 'call') }
  })
}
