import { randomUUID } from 'node:crypto'
import type { NativeCheckpoints, Unfinished } from '../../../index.js'
import type { Awaitable } from '../../core/abort.js'
import { call, unwrap } from '../../core/native.js'
import { getToolContext } from '../calls/context.js'
import type { RecordedRun } from '../calls/call-record.js'
import { runCall } from '../calls/run-call.js'
import type {
  Checkpoint,
  CheckpointChange,
  CheckpointDiff,
  CheckpointList,
  CheckpointProgress,
  CollectedCheckpoints,
  RestoredCheckpoint,
  UndoTarget,
} from './checkpoints.js'

/** How long a restoration may still report how it ended, after an abort. */
const RESTORE_GRACE_MS = 30_000

interface ParsedRestore {
  paths: string[]
  dryRun: boolean
  force: boolean
  signal: AbortSignal | undefined
}

/** The store of the addon, with checked arguments. */
export class NativeStore {
  readonly #native: NativeCheckpoints
  readonly #run: RecordedRun
  #turn: string | undefined

  constructor(native: NativeCheckpoints, run: RecordedRun) {
    this.#native = native
    this.#run = run
  }

  async take({ label, signal }: { label: string | undefined; signal: AbortSignal | undefined }): Promise<Checkpoint> {
    return this.#ask('checkpoint', signal, (cancel) => this.#native.take(label, cancel))
  }

  async diff(
    from: number,
    to: number | undefined,
    { maxTextBytes, signal }: { maxTextBytes: number; signal: AbortSignal | undefined },
  ): Promise<CheckpointDiff> {
    const most = maxTextBytes === 0 ? undefined : maxTextBytes
    return this.#ask('diff', signal, (cancel) => this.#native.diff(from, to, most, cancel))
  }

  /** Restores, as a recorded call unless nothing is to be changed. */
  async restore(target: { id: number } | UndoTarget, options: ParsedRestore): Promise<RestoredCheckpoint> {
    const { signal, ...how } = options
    const name = `restore-${randomUUID()}`
    const restore = (request: object, stop: AbortSignal | undefined): Promise<Omit<RestoredCheckpoint, 'call'>> =>
      this.#ask('restore', stop, (cancel) => this.#native.restore({ ...request, name }, cancel), RESTORE_GRACE_MS)
    if (how.dryRun) return { call: name, ...(await restore({ ...target, ...how }, signal)) }
    const { paths, force } = how
    const args = { ...target, ...(paths.length > 0 && { paths }), ...(force && { force }) }
    const metadata = { name: 'checkpoint_restore', sideEffect: true, idempotent: false, acceptsIdempotencyKey: false, hasRevert: false }
    const restored = await runCall({
      door: 'toolkit',
      metadata,
      run: this.#run,
      args,
      builtIn: true,
      execute: (checked, ctx) => restore({ paths, force, ...checked }, ctx.signal),
      completeContext: (base) => base,
      callOptions: { toolCallId: getToolContext()?.toolUseId ?? name, abortSignal: signal },
    })
    return { call: name, ...(restored as Omit<RestoredCheckpoint, 'call'>) }
  }

  /** Makes a call between two checkpoints. */
  async track<T>(
    id: string,
    fn: () => Awaitable<T>,
    how: { turn?: string | undefined; signal?: AbortSignal | undefined; onChanged?: ((changed: CheckpointChange[]) => void) | undefined },
  ): Promise<T> {
    const turn = how.turn ?? this.#turn
    const limits = { what: 'checkpoint', signal: how.signal }
    const before = await call(limits, (_, cancel) => this.#native.beginCall(id, turn, cancel))
    try {
      return await fn()
    } finally {
      await this.#end(id, turn, before, how.onChanged)
    }
  }

  /** Neither result nor error of a call depends on the checkpoint after it. */
  async #end(id: string, turn: string | undefined, before: number, onChanged?: (changed: CheckpointChange[]) => void): Promise<void> {
    try {
      const ended = JSON.parse(unwrap(await this.#native.endCall(id, turn, before))) as { changed: CheckpointChange[] }
      onChanged?.(ended.changed)
    } catch (error) {
      process.emitWarning(`The changes of a call are not known: ${error instanceof Error ? error.message : String(error)}`, {
        type: 'ToolwrightCheckpointWarning',
      })
    }
  }

  async beginTurn(turn: string, signal: AbortSignal | undefined): Promise<number> {
    const id = await call({ what: 'checkpoint', signal }, (_, cancel) => this.#native.beginTurn(turn, cancel))
    this.#turn = turn
    return id
  }

  async list({ limit, before }: { limit: number; before: number | undefined }): Promise<CheckpointList> {
    return JSON.parse(unwrap(await this.#native.list(limit, before))) as CheckpointList
  }

  async gc({ signal, ...limits }: { signal: AbortSignal | undefined } & object): Promise<CollectedCheckpoints> {
    return this.#ask('gc', signal, (cancel) => this.#native.gc(limits, cancel))
  }

  progress(): CheckpointProgress {
    return this.#native.progress()
  }

  async close(): Promise<void> {
    unwrap(await this.#native.close())
  }

  async #ask<T>(
    what: string,
    signal: AbortSignal | undefined,
    start: (cancel: Parameters<Parameters<typeof call>[1]>[1]) => Promise<string | Unfinished>,
    graceMs = 0,
  ): Promise<T> {
    return JSON.parse(await call({ what, signal, graceMs }, (_, cancel) => start(cancel))) as T
  }
}
