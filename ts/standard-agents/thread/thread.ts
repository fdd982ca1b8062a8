import type { ToolSet } from 'ai'
import type { AttachmentBytes, ReadRange, ThreadStore } from '../store/thread-store.js'
import type { DurableObjectStorage, ThreadMessage, ThreadState } from './thread-state.js'
import type { AnyTool } from '../tools/tool-definition.js'
import type { AttachmentRef, ToolResult } from '../tools/tool-result.js'

/** How a call is made. */
export interface CallOptions {
  /** Aborts the call, and what it has queued; it then throws `aborted`. */
  signal?: AbortSignal | undefined
  /** What the tool finds in `state.context`. @default a copy of the thread's */
  context?: Record<string, unknown> | undefined
  /** The state of a sub-prompt, from `childState`. @default that of the thread */
  state?: ThreadState | undefined
  /** The id under which the call is told of in messages and records. @default a UUID */
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

/** How a sub-prompt's state differs. */
export interface ChildStateOptions {
  /** @default the thread's */
  side?: 'a' | 'b' | undefined
  /** What its tools find in `state.context` besides what the thread's context has. */
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
  /** Whether it is made although the prompt does not list the tool: true for what tools have queued. */
  forceAllow: boolean
  /** In microseconds since 1970. */
  queued_at: number
}

/** A call as it ended, or stands. */
export interface CallOutcome {
  id: string
  name: string
  status: 'queued' | 'running' | 'success' | 'error' | 'cancelled'
  /** With the stack, which no model has seen. */
  result: ToolResult | undefined
}

/** Which part of a list. */
export interface ListOptions {
  /** Only what comes after the one with this `seq`; with `reverse`, before it. */
  after?: number | undefined
  /** @default no limit */
  limit?: number | undefined
  /** The last ones first. @default false */
  reverse?: boolean | undefined
}

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
  /** The bytes, exactly as they were stored; or a range of them. */
  read(path: string, range?: ReadRange): Promise<Uint8Array>
  /** The bytes in parts, a few of which are in memory at a time. */
  stream(path: string): AsyncIterable<Uint8Array>
  /** False where there is none. */
  delete(path: string): Promise<boolean>
  /** Writes the file into a directory, under the last part of its path. @returns where it is. */
  export(path: string, directory: string): Promise<string>
}

/** A thread: tools, and the state that they work on. Closed by `close()` or by `await using`. */
export interface Thread extends AsyncDisposable {
  readonly threadId: string
  readonly flowId: string
  /** The state outside of any call, for `queueTool`, `emitThreadEvent` and the storage. */
  readonly state: ThreadState
  readonly storage: DurableObjectStorage
  readonly messages: ThreadMessages
  readonly attachments: ThreadAttachments
  readonly store: ThreadStore
  /** A tool of the thread, as it is now. */
  definition(name: string): AnyTool | undefined
  /**
   * Calls a tool, after all calls that were made before, and waits for it and for what it queues.
   * Whatever goes wrong with the tool is the result, its name included.
   *
   * @param args an object, or its JSON text. @default {}
   * @throws `aborted` when the signal is; THREAD_NAME_REFUSED for a name that no store takes; THREAD_* when the store
   * fails; INVALID_INPUT for an option that makes no sense, and for a call from inside of a call of the same queue,
   * which would wait for itself.
   */
  call(name: string, args?: Record<string, unknown> | string, options?: CallOptions): Promise<ToolResult>
  /**
   * The tools for an agent of the AI SDK. Calls of one step are made one after the other.
   *
   * A tool that a provider executes and that `providers` has not is left out, with one warning.
   *
   * @throws {ToolError} INVALID_INPUT for such a tool that `only` lists, and for a name that is no tool.
   */
  tools(options?: AgentToolsOptions): ToolSet
  /** A state for a sub-prompt: with a queue of its own, and the thread's as `rootState`. */
  childState(options?: ChildStateOptions): ThreadState
  /** What waits in the queues, in the order in which it will be made. */
  queued(): Promise<QueuedCall[]>
  /** How a call ended, by its id; that of an agent's call is in its message's `callId`. */
  outcome(callId: string): Promise<CallOutcome | undefined>
  /** Keeps the result of a tool that the provider has executed, as a message with its attachments. */
  recordProviderResult(name: string, result: ToolResult, toolCallId?: string): Promise<ThreadMessage>
  /** Waits until every queued call is made, those that an earlier process has left included. */
  flush(options?: { signal?: AbortSignal | undefined }): Promise<void>
  /** Aborts what runs, and takes back what is queued. Later calls are made. */
  stop(): Promise<void>
  /**
   * Waits for the call that runs, five seconds at most, and closes the thread. What is queued stays in the
   * store, for whoever opens the thread next.
   */
  close(): Promise<void>
}
