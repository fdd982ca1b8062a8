import type { ThreadState } from './thread-state.js'
import { ROOT } from './lane.js'
import { settle, type StateHome } from './running-call.js'
import type { LiveFields } from './run.js'
import type { ThreadParts } from './thread-parts.js'

/** What of a state belongs to one call. */
export interface OfCall {
  context: Record<string, unknown>
  tenvs: Record<string, unknown>
  live: LiveFields | undefined
  stopped: () => boolean
}

/**
 * The state of a thread as one of its calls sees it.
 *
 * @param rootState that of the thread's own queue, for the state of a sub-prompt
 */
export function makeState(parts: ThreadParts, home: StateHome, call: OfCall, rootState?: ThreadState): ThreadState {
  const { lane } = home
  const state = {
    threadId: parts.thread.threadId,
    flowId: parts.thread.flowId,
    agentConfig: parts.agentConfig,
    currentSide: lane.side,
    turnCount: call.live?.turnCount ?? 0,
    get stopped() {
      return call.stopped()
    },
    messageHistory: [...(call.live?.messageHistory ?? parts.messageHistory)],
    storage: parts.storage,
    env: parts.env,
    context: call.context,
    tenvs: call.tenvs,
    get rootState(): ThreadState {
      return lane.name === ROOT || rootState === undefined ? state : rootState
    },
  }
  return settle<ThreadState>(state, home)
}
