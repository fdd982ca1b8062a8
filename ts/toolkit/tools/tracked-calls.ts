/** Calls of a tool set that are made between two checkpoints. */
import { randomUUID } from 'node:crypto'
import type { CallContext } from '../../journal/calls/call-record.js'
import { getToolContext } from '../../journal/calls/context.js'
import type { CheckpointChange, Checkpoints } from '../../journal/checkpoints/checkpoints.js'
import { KnownFiles, listed } from '../../journal/checkpoints/known-files.js'
import { turnOfTask } from '../task/task-checkpoints.js'

/** The checkpoints of one set of tools, and what a model has read with it. */
export class TrackedCalls {
  readonly known: KnownFiles
  readonly #checkpoints: Checkpoints

  constructor(checkpoints: Checkpoints) {
    this.#checkpoints = checkpoints
    this.known = new KnownFiles(checkpoints.dir)
  }

  /** What a model is told of the changes of a command. */
  noteOf(changed: readonly CheckpointChange[]): string | undefined {
    if (changed.length === 0) return undefined
    const stale = this.known.staleNote(changed)
    const notes = [`(Changed: ${listed(changed.map(({ path, kind }) => `${path} ${kind}`))}.)`]
    if (stale !== undefined) notes.push(`(${stale})`)
    return notes.join('\n')
  }

  /** Makes a call between two checkpoints. */
  run<CTX extends TrackedContext, T>(call: CTX, make: () => T | PromiseLike<T>): Promise<T> {
    const onChanged = (changed: CheckpointChange[]): void => void (call.changed = changed)
    const turn = turnOfTask(getToolContext())
    return this.#checkpoints.track(call.toolCallId ?? randomUUID(), make, { turn, signal: call.signal, onChanged })
  }

  /** The same for a call that yields preliminary results. */
  async *stream<CTX extends TrackedContext, T>(call: CTX, make: () => AsyncGenerator<T>): AsyncGenerator<T, void, undefined> {
    const ended = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const tracked = this.run(call, () => {
      begun.resolve()
      return ended.promise
    })
    await Promise.race([begun.promise, tracked])
    try {
      yield* make()
    } finally {
      ended.resolve()
      await tracked
    }
  }
}

/** The context of a call that is made between two checkpoints. */
export type TrackedContext = Pick<CallContext, 'toolCallId' | 'signal'> & {
  /** What it has changed, once it has ended. */
  changed?: CheckpointChange[] | undefined
}
