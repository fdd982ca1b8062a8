import type { ToolSet } from 'ai'
import type { DurableObjectStorage } from '../store/thread-storage.js'
import type { AttachmentBytes, AttachmentRef, ListPart, ReadRange, StoredCallStatus, ThreadStore } from '../store/thread-store.js'
import type { AnyTool } from '../tools/tool-definition.js'
import type { ToolResult } from '../tools/tool-result.js'
import type { ThreadMessage, ThreadState } from './thread-state.js'

/** How a call is made. */
export interface CallOptions {
  /** Aborts the call and what it has queued. The call then throws an AbortError. */
  signal?: AbortSignal | undefined
  /** The value of `state.context`. @default a copy of the thread's */
  context?: Record<string, unknown> | undefined
  /** The state of a sub-prompt, from `childState`. @default that of the thread */
  state?: ThreadState | undefined
  /** The id of the call in messages and records. @default a UUID */
  toolCallId?: string | undefined
}

/** How an agent gets the tools of a thread. */
export interface AgentToolsOptions {
  /**
   * The tools that providers execute, by provider (`executionProvider`) and by the name of the tool:
   * `{ openai: { generate_image: openai.tools.imageGeneration() } }`.
   */
  providers?: Record<string, ToolSet> | undefined
  /** The tools that the prompt lists; a queued call may be of any other. @default all */
  only?: readonly string[] | undefined
  /** What the tools find in `state.context`: one object for the whole run. @default a copy of the thread's */
  context?: Record<string, unknown> | undefined
  /** The state of a sub-prompt, from `childState`. @default that of the thread */
  state?: ThreadState | undefined
  /** The largest image that the model is given, in bytes; larger ones are named by their path. @default 5000000 */
  maxImageBytes?: number | undefined
}

/** How the state of a sub-prompt differs. */
export interface ChildStateOptions {
  /** @default the thread's */
  side?: 'a' | 'b' | undefined
  /** Fields added to the thread's `state.context`. */
  context?: Record<string, unknown> | undefined
}

/** A call in a queue of the thread. */
export interface QueuedCall {
  id: string
  type: 'function'
  function: {
    name: string
    /** JSON. */
    arguments: string
  }
  /** Whether it is made although the prompt does not list the tool: true for calls that tools have queued. */
  forceAllow: boolean
  /** In microseconds since 1970. */
  queued_at: number
}

/** The state of a call. */
export interface CallOutcome {
  id: string
  name: string
  status: StoredCallStatus
  /** With the stack, which the model does not read. */
  result: ToolResult | undefined
}

/** A part of a list. */
export type ListOptions = ListPart

/** The messages of a thread. */
export interface ThreadMessages {
  list(options?: ListOptions): Promise<ThreadMessage[]>
  append(message: { role: 'system' | 'user' | 'assistant' | 'tool'; content: string }): Promise<ThreadMessage>
}

/** The files of a thread. A path is that of an `AttachmentRef`: `/attachments/…`. */
export interface ThreadAttachments {
  /** Stores a file: base64, bytes, or a stream of bytes. */
  put(file: { name: string; mimeType: string; data: AttachmentBytes; width?: number; height?: number }): Promise<AttachmentRef>
  get(path: string): Promise<AttachmentRef | undefined>
  list(): Promise<AttachmentRef[]>
  /** The bytes exactly as they were stored, or a range of them. */
  read(path: string, range?: ReadRange): Promise<Uint8Array>
  /** The bytes in parts, a few of them in memory at a time. */
  stream(path: string): AsyncIterable<Uint8Array>
  /** False when there is none. */
  delete(path: string): Promise<boolean>
  /** Writes the file into a directory, under the last part of its path. @returns its path. */
  export(path: string, directory: string): Promise<string>
}

/** A thread: tools and the state that they work on. Closed by `close()` or by `await using`. */
export interface Thread extends AsyncDisposable {
  readonly threadId: string
  readonly flowId: string
  /** The state outside any call, for `queueTool`, `emitThreadEvent` and the storage. */
  readonly state: ThreadState
  readonly storage: DurableObjectStorage
  readonly messages: ThreadMessages
  readonly attachments: ThreadAttachments
  readonly store: ThreadStore
  /** A tool of the thread, in its current version. */
  definition(name: string): AnyTool | undefined
  /**
   * Calls a tool after all earlier calls, and waits for it and for what it queues. A failure of the tool, an
   * unknown name included, is the result.
   *
   * @param args an object, or its JSON text. @default {}
   * @throws an AbortError when the signal is aborted; THREAD_NAME_REFUSED for a name that no store accepts; THREAD_*
   * when the store fails; INVALID_INPUT for an invalid option, and for a call from inside a call of the same
   * queue, which would wait for itself.
   */
  call(name: string, args?: Record<string, unknown> | string, options?: CallOptions): Promise<ToolResult>
  /**
   * The tools as an AI SDK tool set. The calls of one step are made one after the other.
   *
   * A tool of a provider that `providers` lacks is left out, with one warning.
   *
   * @throws {ToolError} INVALID_INPUT when `only` lists such a tool or an unknown name.
   */
  tools(options?: AgentToolsOptions): ToolSet
  /** Creates a state for a sub-prompt, with its own queue and the thread's state as `rootState`. */
  childState(options?: ChildStateOptions): ThreadState
  /** The queued calls, in the order in which they will be made. */
  queued(): Promise<QueuedCall[]>
  /** The state of a call by its id. The message of an agent's call has it as `callId`. */
  outcome(callId: string): Promise<CallOutcome | undefined>
  /** Stores the result of a tool that the provider executed, as a message with its attachments. */
  recordProviderResult(name: string, result: ToolResult, toolCallId?: string): Promise<ThreadMessage>
  /** Waits until every queued call is made, including those that an earlier process left. */
  flush(options?: { signal?: AbortSignal | undefined }): Promise<void>
  /** Aborts the running call and cancels queued ones. Later calls are made. */
  stop(): Promise<void>
  /**
   * Waits for the running call, five seconds at most, and closes the thread. Queued calls stay in the store
   * and run when the thread is opened again.
   */
  close(): Promise<void>
}
