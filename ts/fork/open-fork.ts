import { resolve } from 'node:path'
import { ToolError } from '../core/errors.js'
import { forkedPath, noteFork } from '../core/grants.js'
import { nativeAddon, openNativeFork, unwrap } from '../core/native.js'
import {
  abortSignal,
  boolean,
  checked,
  type Checks,
  invalid,
  oneOf,
  optional,
  parseOptions,
  path,
  paths,
  text,
  wholeNumber,
} from '../core/options.js'
import { checkJournal } from '../journal/checks.js'
import type { Journal } from '../journal/journal.js'
import { forkActions, storedFork } from './fork-actions.js'
import { recordedForkCall } from './recorded-call.js'
import type {
  AppliedFork,
  ApplyForkOptions,
  CollectedForks,
  Fork,
  ForkDiffOptions,
  ForkStatusOptions,
  ListedFork,
  UndoForkOptions,
  UndoneFork,
} from './fork.js'

/** Options of {@link openFork}. */
export interface OpenForkOptions {
  /** The directory to fork. @default that of the fork with this `id` */
  rootDir?: string | undefined
  /** The name of a fork that was made before and closed: it is opened again, and takes neither `rootDir` nor `label`. @default none */
  id?: string | undefined
  /** A name for people. @default none */
  label?: string | undefined
  /**
   * The directory of all forks: outside of the one that is forked, on ext4, xfs, btrfs or tmpfs, and of this user alone.
   * @default `$XDG_STATE_HOME/toolwright/forks` or `~/.local/state/toolwright/forks`
   */
  store?: string | undefined
  /**
   * How much space of the disk the changes may take, in bytes. A fork that has more is refused to tools and new commands with FORK_FULL,
   * some tenths of a second later; commands that run go on. Reopening with a larger number lifts it, for as long as it is open.
   * @default 17179869184 (16 GiB), or what the fork was made with
   */
  maxBytes?: number | undefined
  /** Where `apply`, `undo` and `discard` are recorded, as calls of `fork_apply`, `fork_undo` and `fork_discard`. @default the task that they are made in */
  journal?: Journal | undefined
  /** The run that they are recorded as outside of a task. @default a new UUID */
  runId?: string | undefined
  /** The node of that run. @default 'agent' */
  nodeId?: string | undefined
}

const openChecks = {
  rootDir: optional(path),
  id: optional(text),
  label: optional(text),
  store: optional(path),
  maxBytes: optional(wholeNumber(1)),
  journal: optional(checkJournal),
  runId: optional(text),
  nodeId: optional(text),
} satisfies Checks<OpenForkOptions>

const statusChecks = { signal: abortSignal } satisfies Checks<ForkStatusOptions>
const diffChecks = { maxTextBytes: optional(wholeNumber(0), 200_000), signal: abortSignal } satisfies Checks<ForkDiffOptions>
const applyChecks = {
  paths: optional(paths, []),
  dryRun: optional(boolean, false),
  merge: optional(oneOf('text', 'refuse'), 'text'),
  signal: abortSignal,
} satisfies Checks<ApplyForkOptions>
const undoChecks = { signal: abortSignal } satisfies Checks<UndoForkOptions>

/**
 * Makes a fork of a directory, without copying it: tools and commands see the directory as it is, at its own path, with everything
 * in it, and what they change stays in the fork until it is applied.
 *
 * ```ts
 * await using fork = await openFork({ rootDir: '.' })
 * const tools = createTools({ rootDir: fork })
 * // … an agent works, and then:
 * console.log((await fork.diff()).text)
 * const { conflicts } = await fork.apply()
 * ```
 *
 * On Linux 5.11 and later, where user namespaces are permitted. Elsewhere it is refused: a fork is never a copy.
 *
 * @throws {ToolError} FORK_UNAVAILABLE, FORK_NOT_FOUND, FORK_BUSY, FORK_DAMAGED, FORK_FAILED, TOOL_ROOT_INVALID, INVALID_INPUT,
 * NATIVE_UNAVAILABLE.
 */
export async function openFork(options: OpenForkOptions): Promise<Fork> {
  if (forkedPath(options?.rootDir) !== undefined) throw forkOfFork(forkedPath(options.rootDir))
  const { rootDir, id, label, store, maxBytes, ...run } = parseOptions('openFork', options, openChecks)
  const request = checked('openFork', () => {
    const place = { ...(store !== undefined && { store: resolve(store) }), ...(maxBytes !== undefined && { maxBytes }) }
    if (id === undefined) {
      if (rootDir === undefined) throw invalid('openFork needs rootDir, the directory to fork, or the id of a fork.')
      return { base: resolve(rootDir), ...(label !== undefined && { label }), ...place }
    }
    if (rootDir !== undefined || label !== undefined) throw invalid('A fork with an id has its directory and label.')
    return { id, ...place }
  })
  const { native, facts } = await openNativeFork(request)
  const known = JSON.parse(facts) as Pick<Fork, 'id' | 'base' | 'label' | 'createdMs'>
  const actions = forkActions((action, cancel) => native.act(action, cancel))
  const close = async (): Promise<void> => {
    unwrap(await native.close())
  }
  const fork: Fork = {
    ...known,
    status: async (given = {}) => actions.status(parseOptions('status', given, statusChecks).signal),
    async diff(given = {}) {
      const { maxTextBytes, signal } = parseOptions('diff', given, diffChecks)
      return actions.diff(maxTextBytes, signal)
    },
    async apply(given = {}) {
      const { paths: chosen, dryRun, merge, signal } = parseOptions('apply', given, applyChecks)
      const what = { paths: chosen, dryRun, merge }
      if (dryRun) return actions.apply(what, signal)
      const args = { fork: known.id, ...(chosen.length > 0 && { paths: chosen }), ...(merge !== 'text' && { merge }) }
      return recordedForkCall<AppliedFork>('fork_apply', run, args, signal, (stop) => actions.apply(what, stop))
    },
    async undo(given = {}) {
      const { signal } = parseOptions('undo', given, undoChecks)
      return recordedForkCall<UndoneFork>('fork_undo', run, { fork: known.id }, signal, (stop) => actions.undo(stop))
    },
    async discard() {
      await recordedForkCall('fork_discard', run, { fork: known.id }, undefined, async () => {
        await actions.discard()
        return null
      })
    },
    close,
    [Symbol.asyncDispose]: close,
  }
  const root = native.root()
  if (root !== null) noteFork(fork, known.base, root)
  return fork
}

/** The changes of the first would go on below the second, which must not see them change. */
function forkOfFork(base: string | undefined): ToolError {
  const summary = 'No fork can be made of a fork'
  return new ToolError({
    code: 'FORK_UNAVAILABLE',
    summary,
    place: `${summary}: \`${base}\``,
    hint: 'Apply it, or a part of it, and fork its base again; or give both agents the same fork.',
    details: { path: base, reason: 'it is a fork' },
  })
}

/** Options of {@link undoFork}. */
export interface UndoStoredForkOptions {
  /** The name of the fork whose last apply is taken back. It may have been discarded since. */
  id: string
  /** The directory of all forks, as for {@link openFork}. @default that of this user */
  store?: string | undefined
  /** Where it is recorded, as a call of `fork_undo`. @default the task that it is made in */
  journal?: Journal | undefined
  /** The run that it is recorded as outside of a task. @default a new UUID */
  runId?: string | undefined
  /** The node of that run. @default 'agent' */
  nodeId?: string | undefined
  /** Ends the work before anything is changed; the promise rejects with its reason. */
  signal?: AbortSignal | undefined
}

const undoStoredChecks = {
  id: text,
  store: optional(path),
  journal: optional(checkJournal),
  runId: optional(text),
  nodeId: optional(text),
  signal: abortSignal,
} satisfies Checks<UndoStoredForkOptions>

/**
 * Takes the last apply of a fork back, also when the fork was discarded: all of it, or nothing where somebody has changed what it
 * applied. A fork that this program has open is undone by its own method, so that its changes can be applied again.
 *
 * ```ts
 * const fork = await openFork({ rootDir: '.' })
 * // … an agent works in it, and then:
 * await fork.apply()
 * await fork.discard()
 * const { conflicts } = await undoFork({ id: fork.id })
 * ```
 *
 * @throws {ToolError} FORK_NOT_APPLIED, FORK_FAILED, FORK_UNAVAILABLE, TOOL_ROOT_CHANGED, TOOL_PERMISSION_DENIED, TOOL_IO_FAILED,
 * INVALID_INPUT, NATIVE_UNAVAILABLE. Nothing of the directory has changed then.
 */
export async function undoFork(options: UndoStoredForkOptions): Promise<UndoneFork> {
  const { id, store, signal, ...run } = parseOptions('undoFork', options, undoStoredChecks)
  const place = checked('undoFork', () => (store === undefined ? undefined : resolve(store)))
  return recordedForkCall<UndoneFork>('fork_undo', run, { fork: id }, signal, async (stop) => (await storedFork(id, place)).undo(stop))
}

/** Options of {@link listForks}. */
export interface ListForksOptions {
  /** Only the forks of this directory. @default all */
  rootDir?: string | undefined
  /** The directory of all forks, as for {@link openFork}. @default that of this user */
  store?: string | undefined
}

/** Options of {@link collectForks}. */
export interface CollectForksOptions {
  /** Removes forks with changes too that are older, in milliseconds. @default none: they stay */
  maxAgeMs?: number | undefined
  /** The directory of all forks, as for {@link openFork}. @default that of this user */
  store?: string | undefined
}

const listChecks = { rootDir: optional(path), store: optional(path) } satisfies Checks<ListForksOptions>
const collectChecks = { maxAgeMs: optional(wholeNumber(0)), store: optional(path) } satisfies Checks<CollectForksOptions>

/**
 * The forks of this user, the newest first.
 *
 * ```ts
 * for (const { id, base, state } of await listForks()) console.log(id, state, base)
 * ```
 *
 * @throws {ToolError} FORK_UNAVAILABLE, FORK_FAILED, INVALID_INPUT, NATIVE_UNAVAILABLE.
 */
export async function listForks(options: ListForksOptions = {}): Promise<ListedFork[]> {
  const { rootDir, store } = parseOptions('listForks', options, listChecks)
  const { listForks: list } = await nativeAddon()
  const request = { ...(rootDir !== undefined && { base: resolve(rootDir) }), ...(store !== undefined && { store: resolve(store) }) }
  return JSON.parse(unwrap(await list(request))) as ListedFork[]
}

/**
 * Removes what killed programs have left, and forks without changes that no program has open.
 *
 * ```ts
 * const { removed } = await collectForks({ maxAgeMs: 7 * 86_400_000 })
 * ```
 *
 * @throws {ToolError} FORK_UNAVAILABLE, FORK_FAILED, INVALID_INPUT, NATIVE_UNAVAILABLE.
 */
export async function collectForks(options: CollectForksOptions = {}): Promise<CollectedForks> {
  const { maxAgeMs, store } = parseOptions('collectForks', options, collectChecks)
  const { collectForks: collect } = await nativeAddon()
  const request = { ...(maxAgeMs !== undefined && { maxAgeMs }), ...(store !== undefined && { store: resolve(store) }) }
  return JSON.parse(unwrap(await collect(request))) as CollectedForks
}
