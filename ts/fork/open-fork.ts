import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import { noteFork } from '../core/grants.js'
import { nativeAddon, openNativeFork, unwrap } from '../core/native.js'
import {
  abortSignal,
  boolean,
  checked,
  type Checks,
  invalid,
  optional,
  parseOptions,
  path,
  paths,
  text,
  wholeNumber,
} from '../core/options.js'
import type { RecordedRun } from '../journal/calls/call-record.js'
import { getToolContext } from '../journal/calls/context.js'
import { runCall } from '../journal/calls/run-call.js'
import { checkJournal } from '../journal/checks.js'
import type { Journal } from '../journal/journal.js'
import { forkActions } from './fork-actions.js'
import type { AppliedFork, ApplyForkOptions, CollectedForks, Fork, ForkDiffOptions, ForkStatusOptions, ListedFork } from './fork.js'

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
  /** Where `apply` and `discard` are recorded, as calls of `fork_apply` and `fork_discard`. @default the task that they are made in */
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
  journal: optional(checkJournal),
  runId: optional(text),
  nodeId: optional(text),
} satisfies Checks<OpenForkOptions>

const statusChecks = { signal: abortSignal } satisfies Checks<ForkStatusOptions>
const diffChecks = { maxTextBytes: optional(wholeNumber(0), 200_000), signal: abortSignal } satisfies Checks<ForkDiffOptions>
const applyChecks = {
  paths: optional(paths, []),
  dryRun: optional(boolean, false),
  signal: abortSignal,
} satisfies Checks<ApplyForkOptions>

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
  const { rootDir, id, label, store, ...run } = parseOptions('openFork', options, openChecks)
  const request = checked('openFork', () => {
    const place = store === undefined ? {} : { store: resolve(store) }
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
      const { paths: chosen, dryRun, signal } = parseOptions('apply', given, applyChecks)
      if (dryRun) return actions.apply(chosen, true, signal)
      const args = { fork: known.id, ...(chosen.length > 0 && { paths: chosen }) }
      return recorded<AppliedFork>('fork_apply', run, args, signal, (stop) => actions.apply(chosen, false, stop))
    },
    async discard() {
      await recorded('fork_discard', run, { fork: known.id }, undefined, async () => {
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

/** Makes a call that changes the base or the fork, with a row in the journal. */
async function recorded<T>(
  name: string,
  run: RecordedRun,
  args: object,
  signal: AbortSignal | undefined,
  act: (signal: AbortSignal | undefined) => Promise<T>,
): Promise<T> {
  const metadata = { name, sideEffect: true, idempotent: false, acceptsIdempotencyKey: false, hasRevert: false }
  const result = await runCall({
    door: 'toolkit',
    metadata,
    run,
    args,
    builtIn: true,
    execute: (_, ctx) => act(ctx.signal),
    completeContext: (base) => base,
    callOptions: { toolCallId: getToolContext()?.toolUseId ?? `${name}-${randomUUID()}`, abortSignal: signal },
  })
  return result as T
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
