import { AsyncLocalStorage } from 'node:async_hooks'
import { toolTypeError } from '../../core/errors.js'
import type { CallQueue, PendingCall } from './pending-call.js'
import type { PendingCalls } from './pending-calls.js'
import type { LiveFields } from './run.js'
import type { ThreadParts } from './thread-parts.js'
import type { ThreadState } from './thread-state.js'

/** What makes the calls of a thread, as far as calls and states need it. */
export interface Scheduler {
  readonly parts: ThreadParts
  readonly root: CallQueue
  /** The state outside any call. */
  readonly rootState: ThreadState
  readonly calls: PendingCalls
  add(call: PendingCall): void
  /** Makes sure that stored calls are made. */
  begin(calls: readonly PendingCall[]): void
  /** @throws {ToolError} THREAD_CLOSED. */
  checkOpen(): void
}

/** A call whose tool runs. */
export interface RunningCall {
  scheduler: Scheduler
  call: PendingCall
  /** The calls that its tool queues; they are stored together with its result. */
  queued: PendingCall[]
  /** Whether its tool has ended, or is no longer waited for. */
  ended: boolean
  /** The call that it runs inside of. */
  outer: RunningCall | undefined
}

/** The call that runs around the caller, of any thread. */
export const currentCall = new AsyncLocalStorage<RunningCall>()

/** The innermost running call of a thread around the caller; with `queue`, the innermost of that queue. */
export function callAround(scheduler: Scheduler, queue?: CallQueue): RunningCall | undefined {
  for (let around = currentCall.getStore(); around !== undefined; around = around.outer) {
    if (!around.ended && around.scheduler === scheduler && (queue === undefined || around.call.queue === queue)) return around
  }
  return undefined
}

/** What a state belongs to. */
export interface StateOwner {
  scheduler: Scheduler
  queue: CallQueue
  /** The call that the state was made for. */
  running?: RunningCall | undefined
}

const owners = new WeakMap<object, StateOwner>()

/** The part of a state that belongs to one call. */
export interface CallState {
  context: Record<string, unknown>
  tenvs: Record<string, unknown>
  live?: LiveFields | undefined
  signal?: AbortSignal
}

/** Creates the state of a thread for one of its calls, or for use outside any. */
export function createState(owner: StateOwner, { context, tenvs, live, signal }: CallState): ThreadState {
  const { queue, scheduler } = owner
  const { thread, agentConfig, messageHistory, storage, env } = scheduler.parts
  const state: ThreadState = {
    threadId: thread.threadId,
    flowId: thread.flowId,
    agentConfig,
    currentSide: queue.side,
    turnCount: live?.turnCount ?? 0,
    get stopped() {
      return signal?.aborted === true
    },
    messageHistory: [...(live?.messageHistory ?? messageHistory)],
    storage,
    env,
    context,
    tenvs,
    get rootState() {
      return queue === scheduler.root ? state : scheduler.rootState
    },
  }
  owners.set(state, owner)
  return state
}

/** @throws {TypeError} when `state` is not the state of a thread. */
export function ownerOf(state: ThreadState, caller: string, what = 'the first argument'): StateOwner {
  const owner = typeof state === 'object' && state !== null ? owners.get(state) : undefined
  if (owner === undefined) throw toolTypeError(`${caller}: ${what} must be the state of a thread`)
  return owner
}
