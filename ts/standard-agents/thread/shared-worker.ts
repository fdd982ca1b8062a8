import { ToolError } from '../../core/errors.js'
import { failure } from '../tools/execution/tool-result.js'
import type { StoredCall, ThreadWorker } from '../store/thread-store.js'
import { storeFailure } from './run-ticket.js'
import type { ThreadParts } from './thread-parts.js'
import { toolCallIdOf } from './ticket.js'

/** How often a call is begun at most, when it is retried after the death of its process. */
const MAX_ATTEMPTS = 3

/** The right to work on a thread, for all of its queues in this process: held while one of them needs it. */
export class SharedWorker {
  readonly #parts: ThreadParts
  #users = 0
  #worker: Promise<ThreadWorker> | undefined
  #held: ThreadWorker | undefined

  constructor(parts: ThreadParts) {
    this.#parts = parts
  }

  /** Whether this process has the right now. */
  get isHeld(): boolean {
    return this.#held !== undefined
  }

  /** The right, if it is held now: until `release` is called. */
  share(): ThreadWorker | undefined {
    if (this.#held !== undefined) this.#users += 1
    return this.#held
  }

  /** Waits for the process that works on the thread, and sees to what a dead one has left. */
  async acquire(signal: AbortSignal): Promise<ThreadWorker> {
    this.#users += 1
    try {
      return await (this.#worker ??= this.#lock(signal))
    } catch (error) {
      this.#users -= 1
      this.#worker = undefined
      throw error
    }
  }

  release(): void {
    this.#users -= 1
    if (this.#users > 0) return
    const worker = this.#worker
    this.#worker = undefined
    this.#held = undefined
    void worker?.then(
      (held) => held.release(),
      () => undefined,
    )
  }

  async #lock(signal: AbortSignal): Promise<ThreadWorker> {
    const { store, thread, lockWaitMs } = this.#parts
    const worker = await store.lockThread(thread.threadId, { waitMs: lockWaitMs, signal })
    try {
      for (const call of worker.interrupted) await this.#decide(worker, call)
      this.#held = worker
      return worker
    } catch (error) {
      worker.release()
      throw error
    }
  }

  async #decide(worker: ThreadWorker, call: StoredCall): Promise<void> {
    const { onInterrupted } = this.#parts
    if (onInterrupted === 'retry' && call.attempts < MAX_ATTEMPTS) {
      await worker.requeue(call.id)
      return
    }
    const result = failure(
      'Interrupted: the process that executed this tool ended before it had a result. What it did until then may or may not have happened.',
    )
    try {
      await storeFailure(this.#parts, { ...call, toolCallId: toolCallIdOf(call) }, result)
    } catch (error) {
      // Somebody else has decided.
      if (!ToolError.isInstance(error) || !['THREAD_CALL_STATE', 'THREAD_CALL_NOT_FOUND'].includes(error.code)) throw error
    }
  }
}
