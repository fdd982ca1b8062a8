import type { RecordedRun } from '../../journal/calls/call-record.js'
import type { DurableObjectStorage } from '../store/thread-storage.js'
import type { StoredThread, ThreadStore } from '../store/thread-store.js'
import type { Agent, Env, Message, ThreadEvent } from './thread-state.js'
import type { AnyTool, NamedTools } from '../tools/tool-definition.js'

/** What happens to a call whose process died. */
export type OnInterrupted = 'error' | 'retry'

/** Everything that the calls of a thread share. */
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
  /** How long to wait for the process that has the lock, in milliseconds. */
  lockWaitMs: number
  /** The recorder's options, one object for the thread: its calls are one run. */
  run: RecordedRun
}

/** The tool of this name, as it is now. */
export function findTool(parts: ThreadParts, name: string): AnyTool | undefined {
  const tools = parts.tools()
  return Object.hasOwn(tools, name) ? tools[name] : undefined
}
