import type { ThreadState } from './thread-state.js'
import { ROOT } from './pending-call.js'
import { setOwner, type StateOwner } from './running-call.js'
import type { LiveFields } from './run.js'
import type { ThreadParts } from './thread-parts.js'

/** The part of a state that belongs to one call. */
export interface OfCall {
  context: Record<string, unknown>
  tenvs: Record<string, unknown>
  live: LiveFields | undefined
  stopped: () => boolean
}

/**
 * Creates the state of a thread for one of its calls.
 *
 * @param rootState the state of the thread's own queue, for the state of a sub-prompt
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
