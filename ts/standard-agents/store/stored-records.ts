/** How a call stands. It runs only while a worker lives; see `ThreadWorker.interrupted`. */
export type StoredCallStatus = 'queued' | 'running' | 'success' | 'error' | 'cancelled'

/** A call to queue. */
export interface NewQueuedCall {
  /** Unique within its thread. @default a UUID */
  id?: string | undefined
  /** The tool. */
  name: string
  /** Its arguments, as JSON text; kept as given. */
  argumentsJson: string
  /** Which queue of the thread: a sub-prompt has one of its own. @default 'root' */
  queue?: string | undefined
  /** Whether it runs although the prompt does not list the tool. @default false */
  forceAllow?: boolean | undefined
  /** The call that queued it. */
  parentCallId?: string | undefined
  /** What else the host wants to find again with it, as JSON text. */
  infoJson?: string | undefined
}

/** A call in the store. */
export interface StoredCall {
  id: string
  /** Its place among all calls of the thread: the lowest number that is queued runs next. */
  seq: number
  name: string
  argumentsJson: string
  queue: string
  forceAllow: boolean
  parentCallId: string | null
  infoJson: string | null
  status: StoredCallStatus
  /** How often it was begun: 1 while it runs for the first time. */
  attempts: number
  /** What {@link CallEnd.resultJson} was; `null` before the end. */
  resultJson: string | null
  /** In microseconds since 1970. */
  queuedAtUs: number
  /** When it was begun last, in milliseconds since 1970. */
  startedAtMs: number | null
  finishedAtMs: number | null
}

/** The end of a call that runs. */
export interface CallEnd {
  callId: string
  status: 'success' | 'error' | 'cancelled'
  /** The result, as JSON text; kept as given. */
  resultJson: string
}

/** A message to append. */
export interface NewMessage {
  /** Unique within its thread. @default a UUID */
  id?: string | undefined
  /** Who speaks: `user`, `assistant`, `tool`, … */
  role: string
  /** The whole message, as JSON text; kept as given. Attachments are linked from within. */
  bodyJson: string
  /** The call that it is about. */
  callId?: string | undefined
}

/** A message in the store. */
export interface StoredMessage {
  id: string
  /** Its place: 1 for the first of the thread, and never given twice. */
  seq: number
  role: string
  bodyJson: string
  callId: string | null
  /** In milliseconds since 1970. */
  createdAtMs: number
}

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
