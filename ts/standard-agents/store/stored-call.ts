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
