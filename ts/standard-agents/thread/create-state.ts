import type { ThreadState } from './thread-state.js'
import { ROOT } from './pending-call.js'
import { setOwner, type StateOwner } from './running-call.js'
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
export function createState(parts: ThreadParts, owner: StateOwner, call: OfCall, rootState?: ThreadState): ThreadState {
  const { queue } = owner
  const state = {
    threadId: parts.thread.threadId,
    flowId: parts.thread.flowId,
    agentConfig: parts.agentConfig,
    currentSide: queue.side,
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
      return queue.name === ROOT || rootState === undefined ? state : rootState
    },
  }
  return setOwner<ThreadState>(state, owner)
}
