/** The state of a call. It runs only while a worker lives; see `ThreadWorker.interrupted`. */
export type StoredCallStatus = 'queued' | 'running' | 'success' | 'error' | 'cancelled'

/** A call to queue. */
export interface NewQueuedCall {
  /** Unique within its thread. @default a UUID */
  id?: string | undefined
  /** The tool. */
  name: string
  /** Its arguments as JSON text, stored as given. */
  argumentsJson: string
  /** The queue of the thread. Each sub-prompt has its own. @default 'root' */
  queue?: string | undefined
  /** Whether it runs although the prompt does not list the tool. @default false */
  forceAllow?: boolean | undefined
  /** The call that queued it. */
  parentCallId?: string | undefined
  /** Further data of the host, as JSON text. */
  infoJson?: string | undefined
}

/** A call in the store. */
export interface StoredCall {
  id: string
  /** Its position among all calls of the thread. The lowest queued number runs next. */
  seq: number
  name: string
  argumentsJson: string
  queue: string
  forceAllow: boolean
  parentCallId: string | null
  infoJson: string | null
  status: StoredCallStatus
  /** How often it was started: 1 during the first run. */
  attempts: number
  /** The {@link CallEnd.resultJson}, or `null` before the end. */
  resultJson: string | null
  /** In microseconds since 1970. */
  queuedAtUs: number
  /** When it was last started, in milliseconds since 1970. */
  startedAtMs: number | null
  finishedAtMs: number | null
}

/** The end of a running call. */
export interface CallEnd {
  callId: string
  status: 'success' | 'error' | 'cancelled'
  /** The result as JSON text, stored as given. */
  resultJson: string
}

/** A message to append. */
export interface NewMessage {
  /** Unique within its thread. @default a UUID */
  id?: string | undefined
  /** The speaker: `user`, `assistant`, `tool`, … */
  role: string
  /** The whole message as JSON text, stored as given. It contains links to attachments. */
  bodyJson: string
  /** The call that it is about. */
  callId?: string | undefined
}

/** A message in the store. */
export interface StoredMessage {
  id: string
  /** Its position: 1 for the first of the thread, never reused. */
  seq: number
  role: string
  bodyJson: string
  callId: string | null
  /** In milliseconds since 1970. */
  createdAtMs: number
}

/** How long to wait for the thread's lock. */
export interface WorkerOptions {
  /** In milliseconds; 0 tries once. @default 30000 */
  waitMs?: number | undefined
  /** Stops waiting. */
  signal?: AbortSignal | undefined
}

/** The one worker of a thread, until it is released or its process ends. */
export interface ThreadWorker {
  /**
   * The calls that ran when the last worker died, by `seq`. How much of them was done is unknown. Each keeps
   * the status `running` until the worker decides: {@link requeue} runs it again in its old position, a
   * `commit` finishes it with another result.
   */
  readonly interrupted: readonly StoredCall[]
  /**
   * Starts the next call of a queue, in the order in which they were queued; `undefined` when there is none.
   * When the promise settles, its status is `running` and `attempts` counts it: after a crash it is known to
   * have started.
   *
   * @param queue which queue. @default 'root'
   * @throws {ToolError} THREAD_LOCKED when the worker was released.
   */
  claim(queue?: string): Promise<StoredCall | undefined>
  /**
   * Starts this queued call out of turn.
   *
   * @throws {ToolError} THREAD_CALL_NOT_FOUND, THREAD_CALL_STATE for one that is not queued,
   * THREAD_LOCKED when the worker was released.
   */
  claimCall(callId: string): Promise<StoredCall>
  /**
   * Puts a running call back into its queue, at its old position.
   *
   * @throws {ToolError} THREAD_CALL_NOT_FOUND, THREAD_CALL_STATE for one that does not run,
   * THREAD_LOCKED when the worker was released.
   */
  requeue(callId: string): Promise<StoredCall>
  /**
   * Releases the lock. A second call does nothing. Finish or requeue claimed calls first: the next worker
   * treats a call that still runs as one whose worker died.
   */
  release(): void
}

/**
 * The bytes of an attachment: base64 (strict: the standard alphabet, padded, without line breaks),
 * bytes, or bytes that come in parts (a stream, an async generator), of which a few are in memory at a
 * time.
 */
export type AttachmentBytes = string | Uint8Array | AsyncIterable<Uint8Array>

/** An attachment to store. */
export interface NewAttachment {
  /** What a reader calls it: data, and never a path. Its ending names the kind of file. */
  name: string
  /** For instance `image/png`. `text/*`, JSON and the like are stored as text, in one piece. */
  mimeType: string
  data: AttachmentBytes
  /** In pixels. @default read from the bytes, for PNG, JPEG, GIF and WebP */
  width?: number | undefined
  /** In pixels. @default read from the bytes, for PNG, JPEG, GIF and WebP */
  height?: number | undefined
}

/** A file that is stored in the thread already. */
export interface AttachmentRef {
  /** A UUID. */
  id: string
  type: 'file'
  /** Where it is in the thread: `/attachments/MILLISECONDS-FIRST8OFID.EXTENSION`. */
  path: string
  name: string
  mimeType: string
  /** In bytes. */
  size: number
  /** In pixels. */
  width?: number
  /** In pixels. */
  height?: number
}

/** A range of bytes. */
export interface ReadRange {
  /** The first byte. @default 0 */
  start?: number | undefined
  /** The byte after the last one. @default the end */
  end?: number | undefined
}
