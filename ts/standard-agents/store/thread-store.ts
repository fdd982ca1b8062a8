/**
 * What a thread store must do: `file:thread.db`, `memory:` and stores of your own. `toolwright/standard-agents/testing` has the
 * tests that each must pass.
 *
 * A store keeps any number of threads. Of each it keeps four things: values by key, messages, calls
 * (a queue that outlives its process) and attachments. Three laws hold for every store:
 *
 * 1. When a promise of the store settles, its effect is on disk: it survives the end of every process.
 * 2. {@link ThreadStore.commit} is one transaction. A process that is killed at any moment leaves all of
 *    it or nothing.
 * 3. A thread has one worker at a time, over all processes that have the store open. A worker ends with
 *    its process, however that ends.
 *
 * Every failure is a `ToolError`: THREAD_BUSY, THREAD_DISK_FULL, THREAD_READ_ONLY, THREAD_CORRUPT,
 * THREAD_CLOSED, THREAD_REMOVED or THREAD_IO_FAILED from any method, and those listed with the method.
 * A method that failed has changed nothing.
 */
import type {
  AttachmentRef,
  CallEnd,
  NewAttachment,
  NewMessage,
  NewQueuedCall,
  ReadRange,
  StoredCall,
  StoredMessage,
  ThreadWorker,
  WorkerOptions,
} from './stored-records.js'

export type * from './stored-records.js'

/** A thread in the store. */
export interface StoredThread {
  threadId: string
  flowId: string
  /** In milliseconds since 1970. */
  createdAtMs: number
}

/** A part of a list. */
export interface ListPart {
  /** Only entries after the one with this `seq`, in the order of the list. */
  after?: number | undefined
  /** The maximum number of entries. @default no limit */
  limit?: number | undefined
  /** The last entries first. `after` then means before. @default false */
  reverse?: boolean | undefined
}

/** Which values of a thread: as the options of `list` of a Durable Object. */
export interface ValueRange {
  /** Only keys with this prefix. */
  prefix?: string | undefined
  /** The first key, inclusive. */
  start?: string | undefined
  /** The first key, exclusive; not together with `start`. */
  startAfter?: string | undefined
  /** The last key, exclusive. */
  end?: string | undefined
  /** From the last to the first. It does not change what `start` and `end` mean. @default false */
  reverse?: boolean | undefined
  /** The maximum number of entries, at least 1. @default no limit */
  limit?: number | undefined
}

/** Changes that are committed together, all or nothing. Each is optional. */
export interface ThreadChanges {
  /** The end of a running call (see {@link ThreadWorker.claim}). */
  finish?: CallEnd | undefined
  /** Paths of staged attachments, which become readable. */
  attachments?: readonly string[] | undefined
  /** Messages, appended in this order. */
  messages?: readonly NewMessage[] | undefined
  /** Calls to append to their queues, in this order. */
  enqueue?: readonly NewQueuedCall[] | undefined
}

/** What {@link ThreadStore.commit} wrote. */
export interface Committed {
  /** The messages with their numbers, in the order given. */
  messages: StoredMessage[]
  /** The calls that were queued, in the order given. */
  calls: StoredCall[]
}

/** Threads with their values, messages, calls and attachments. */
export interface ThreadStore {
  /** The absolute path of the file, or `memory:`. */
  readonly path: string

  // Threads

  /**
   * Opens the thread with this id, or creates it.
   *
   * @param thread `flowId` applies to a new thread; an existing one keeps its own.
   * @throws {ToolError} THREAD_NAME_REFUSED for an id that is empty, longer than 512 bytes of UTF-8, not
   * well-formed, or with control characters.
   */
  openThread(thread: { threadId: string; flowId: string }): Promise<StoredThread>
  /** The thread, if there is one. */
  getThread(threadId: string): Promise<StoredThread | undefined>
  /** All threads by the time they were created. */
  listThreads(): Promise<StoredThread[]>
  /**
   * Removes a thread and all that it has. False when there is none.
   *
   * @throws {ToolError} THREAD_LOCKED while it has a worker.
   */
  deleteThread(threadId: string): Promise<boolean>

  // Values. `threadStorage` in thread-storage.ts is the Durable Object's interface on these: it checks
  // keys and encodes values, so that a store keeps text and nothing else. Each method is one
  // transaction. All of them throw THREAD_NOT_FOUND for an unknown thread.

  /** The encoded values of these keys, by key in ascending order of UTF-8. Missing keys are left out. */
  readValues(threadId: string, keys: readonly string[]): Promise<[key: string, encoded: string][]>
  /** Sets values. The last value of a repeated key counts. */
  writeValues(threadId: string, entries: readonly (readonly [key: string, encoded: string])[]): Promise<void>
  /** Removes values and returns how many there were. */
  deleteValues(threadId: string, keys: readonly string[]): Promise<number>
  /** Removes every value of the thread. */
  deleteAllValues(threadId: string): Promise<void>
  /** The values of a range by key, in ascending order of UTF-8 unless `reverse`. */
  listValues(threadId: string, range: ValueRange): Promise<[key: string, encoded: string][]>

  // Messages, calls and attachments: written by `commit`.

  /**
   * Writes changes that belong together, in one transaction.
   *
   * @throws {ToolError} THREAD_NOT_FOUND; THREAD_CALL_NOT_FOUND for an unknown call to finish,
   * THREAD_CALL_STATE for one that does not run; THREAD_ATTACHMENT_NOT_FOUND for an attachment that
   * is not staged; THREAD_DUPLICATE_ID for a call to queue, or a message, whose id the thread has
   * already; THREAD_TOO_LARGE.
   */
  commit(threadId: string, changes: ThreadChanges): Promise<Committed>

  /** Messages by `seq`. `after` is a `seq`. */
  listMessages(threadId: string, part?: ListPart): Promise<StoredMessage[]>

  /** A call in any state. */
  getCall(threadId: string, callId: string): Promise<StoredCall | undefined>
  /** Calls by `seq`, of this status if one is given. `after` is a `seq`. */
  listCalls(
    threadId: string,
    part?: ListPart & { status?: StoredCall['status'] | undefined; queue?: string | undefined },
  ): Promise<StoredCall[]>
  /**
   * Cancels queued calls that do not run yet: their status becomes `cancelled`.
   *
   * @param queue of this queue alone. @default every queue of the thread
   * @returns the cancelled calls, by `seq`.
   */
  cancelQueued(threadId: string, queue?: string): Promise<StoredCall[]>
  /**
   * Becomes the worker of a thread, of which there is one over all processes. Waits for the current one.
   *
   * @throws {ToolError} THREAD_LOCKED when the wait was too short, THREAD_NOT_FOUND, THREAD_LOCK_FAILED.
   * @throws the signal's reason when it is aborted before.
   */
  lockThread(threadId: string, options?: WorkerOptions): Promise<ThreadWorker>

  /**
   * Stores the bytes of an attachment, in parts of 1,835,008 bytes where there are more and the MIME
   * type is not text. It cannot be read before a {@link commit} names its path. What is never
   * committed is removed when the store is closed, or opened after its process died.
   *
   * @throws {ToolError} THREAD_ENCODING_INVALID, THREAD_NAME_REFUSED (a name that is empty, longer than
   * 255 bytes of UTF-8, not well-formed, or with control characters; an invalid MIME type),
   * THREAD_TOO_LARGE, THREAD_NOT_FOUND, INVALID_INPUT for an invalid width or height.
   * @throws the signal's reason when it is aborted before, and what reading the bytes throws.
   */
  stageAttachment(threadId: string, attachment: NewAttachment, options?: { signal?: AbortSignal | undefined }): Promise<AttachmentRef>
  /** Removes staged attachments. Committed ones stay. */
  discardStaged(threadId: string, paths: readonly string[]): Promise<void>

  /** The attachment at a path, if there is one. Throws THREAD_NAME_REFUSED for a path that is not `/attachments/NAME`. */
  getAttachment(threadId: string, path: string): Promise<AttachmentRef | undefined>
  /** All attachments, in the order in which they were committed. */
  listAttachments(threadId: string): Promise<AttachmentRef[]>
  /**
   * The bytes of an attachment exactly as they were given, or of a range of it, cut at its end.
   * `streamAttachment` in attachment-bytes.ts reads one chunk after the other.
   *
   * @throws {ToolError} THREAD_ATTACHMENT_NOT_FOUND, THREAD_NAME_REFUSED.
   */
  readAttachment(threadId: string, path: string, range?: ReadRange): Promise<Uint8Array>
  /** Removes an attachment. False when there is none. */
  deleteAttachment(threadId: string, path: string): Promise<boolean>
  /**
   * Writes an attachment into a directory, confined to it and by a rename, as a file with the last part
   * of the attachment's path for a name.
   *
   * @returns the absolute path of the file.
   * @throws {ToolError} THREAD_ATTACHMENT_NOT_FOUND, THREAD_NAME_REFUSED, and the TOOL_* codes of `write`.
   */
  exportAttachment(threadId: string, path: string, directory: string): Promise<string>

  /** Releases every worker, removes staged attachments and closes the file. A second call does nothing. */
  close(): Promise<void>
}
