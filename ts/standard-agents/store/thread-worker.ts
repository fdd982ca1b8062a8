import type { StoredCall } from './stored-call.js'

/** How long to wait for the right to work on a thread. */
export interface WorkerOptions {
  /** In milliseconds; 0 asks once. @default 30000 */
  waitMs?: number | undefined
  /** Stops waiting. */
  signal?: AbortSignal | undefined
}

/** The right to work on a thread, until it is released or its process ends. */
export interface ThreadWorker {
  /**
   * The calls that ran when the last worker died, by `seq`: nobody knows how much of them was done. Each
   * keeps the status `running` until the worker decides: {@link requeue} to run it again (its place in
   * the queue is the old one), or a `commit` that finishes it with a result of its own.
   */
  readonly interrupted: readonly StoredCall[]
  /**
   * Begins the next call of a queue, in the order in which they were queued; `undefined` when there is
   * none. Its status is `running` and `attempts` is counted when the promise settles, so that after a
   * crash it is known to have been begun.
   *
   * @param queue which queue. @default 'root'
   * @throws {ToolError} THREAD_LOCKED when the worker was released.
   */
  claim(queue?: string): Promise<StoredCall | undefined>
  /**
   * Begins this queued call, out of turn.
   *
   * @throws {ToolError} THREAD_CALL_NOT_FOUND, THREAD_CALL_STATE for one that is not queued,
   * THREAD_LOCKED when the worker was released.
   */
  claimCall(callId: string): Promise<StoredCall>
  /**
   * Puts a call that runs back into its queue, where it was.
   *
   * @throws {ToolError} THREAD_CALL_NOT_FOUND, THREAD_CALL_STATE for one that does not run,
   * THREAD_LOCKED when the worker was released.
   */
  requeue(callId: string): Promise<StoredCall>
  /**
   * Gives the right back. The second time it does nothing. What was claimed is finished or requeued
   * before: the next worker takes a call that still runs for one whose worker has died.
   */
  release(): void
}
