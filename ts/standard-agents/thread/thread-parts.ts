import type { BoundToolOptions } from '../../toolkit/settings.js'
import type { StoredThread, ThreadStore } from '../store/thread-store.js'
import type { Agent, DurableObjectStorage, Env, Message, ThreadEvent } from './thread-state.js'
import type { NamedTools } from '../tools/tool-definition.js'

/** What becomes of a call that ran when its process died. */
export type OnInterrupted = 'error' | 'retry'

/** What the calls of a thread work with. */
export interface ThreadParts {
  store: ThreadStore
  thread: StoredThread
  /** The tools as they are now. */
  tools: () => NamedTools
  storage: DurableObjectStorage
  env: Env
  context: Record<string, unknown>
  tenvs: Record<string, unknown>
  agentConfig: Agent
  messageHistory: readonly Message[]
  onEvent: ((event: ThreadEvent) => unknown) | undefined
  onInterrupted: OnInterrupted
  /** How long to wait for a process that works on the thread. */
  lockWaitMs: number
  /** Where calls are recorded; one object for the thread, as its calls are one run. */
  bound: BoundToolOptions
}
