import type { AttachmentRef } from '../store/stored-records.js'
import type { DurableObjectStorage } from '../store/thread-storage.js'

/** The agent that a thread belongs to, as the host describes it. */
export interface Agent {
  name?: string
  [field: string]: unknown
}

/** Bindings of the host for its tools: databases, clients, keys. */
export interface Env {
  // oxlint-disable-next-line typescript/no-explicit-any -- bindings have whatever types a host gives them
  [binding: string]: any
}

/** A message of the thread, or of the AI SDK while an agent runs. */
export interface Message {
  role: 'system' | 'user' | 'assistant' | 'tool'
  content: string | readonly unknown[]
}

/** A message that is stored in the thread. */
export interface ThreadMessage extends Message {
  id: string
  /** Its position: 1 for the first of the thread. */
  seq: number
  content: string
  /** In milliseconds since 1970. */
  createdAtMs: number
  /** The call that it is the result of, for `thread.outcome`. */
  callId?: string
  /** The id of that call in the agent that made it. */
  toolCallId?: string
  toolName?: string
  /** The arguments of the call; `{}` for a tool that the provider executed. */
  args?: unknown
  status?: 'success' | 'error'
  attachments?: AttachmentRef[]
}

/** The thread that a tool runs in. */
export interface ThreadState {
  readonly threadId: string
  readonly flowId: string
  /** @default {} */
  readonly agentConfig: Agent
  /** @default 'a' */
  readonly currentSide: 'a' | 'b'
  /** The number of steps of the running AI SDK agent. @default 0 */
  readonly turnCount: number
  /** Whether the call was aborted, or the thread stopped. */
  readonly stopped: boolean
  /** The messages of the running AI SDK agent, as a copy for each call. @default [] */
  readonly messageHistory: Message[]
  readonly storage: DurableObjectStorage
  /** The host's bindings, which never include the process's environment by default. */
  readonly env: Env
  /** Shared by the calls of one run: of an agent, or of a call and those that it queues. */
  readonly context: Record<string, unknown>
  /** The thread's variables; for a tool with `tenvs`, as its schema gives them. */
  readonly tenvs: Record<string, unknown>
  /** The state of the thread's own queue: the parent's in a sub-prompt, elsewhere the state itself. */
  readonly rootState: ThreadState
}

/** An event of a thread, as it goes to a frontend. */
export interface ThreadEvent {
  type: 'event'
  eventType: string
  data: unknown
  /** In milliseconds since 1970. */
  timestamp: number
}
