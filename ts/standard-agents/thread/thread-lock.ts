import { ToolError } from '../../core/errors.js'
import type { StoredCall, ThreadWorker } from '../store/thread-store.js'
import { failure } from '../tools/tool-result.js'
import { storeFailure } from './call-end.js'
import { toolCallIdOf } from './pending-call.js'
import type { ThreadParts } from './thread-parts.js'

/** How often a call is started at most, when it is retried after its process died. */
const MAX_ATTEMPTS = 3

/** The thread's lock, shared by all of its queues in this process and held while one of them needs it. */
export class ThreadLock {
  readonly #parts: ThreadParts
  #users = 0
  #acquiring: Promise<ThreadWorker> | undefined
  #worker: ThreadWorker | undefined

  constructor(parts: ThreadParts) {
    this.#parts = parts
  }

  /** Whether this process has the lock now. */
  get isHeld(): boolean {
    return this.#worker !== undefined
  }

  /** The lock, if this process has it, until `release` is called. */
  share(): ThreadWorker | undefined {
    if (this.#worker !== undefined) this.#users += 1
    return this.#worker
  }

  /** Waits for the lock, and decides on the calls that a dead process left running. */
  async acquire(signal: AbortSignal): Promise<ThreadWorker> {
    this.#users += 1
    try {
      return await (this.#acquiring ??= this.#lock(signal))
    } catch (error) {
      this.#users -= 1
      this.#acquiring = undefined
      throw error
    }
  }

  release(): void {
    this.#users -= 1
    if (this.#users > 0) return
    const acquiring = this.#acquiring
    this.#acquiring = undefined
    this.#worker = undefined
    void acquiring?.then(
      (worker) => worker.release(),
      () => undefined,
    )
  }

  async #lock(signal: AbortSignal): Promise<ThreadWorker> {
    const { store, thread, lockWaitMs } = this.#parts
    const worker = await store.lockThread(thread.threadId, { waitMs: lockWaitMs, signal })
    try {
      for (const call of worker.interrupted) await this.#decide(worker, call)
      this.#worker = worker
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
      // Another process has decided already.
      if (!ToolError.isInstance(error) || !['THREAD_CALL_STATE', 'THREAD_CALL_NOT_FOUND'].includes(error.code)) throw error
    }
  }
}
