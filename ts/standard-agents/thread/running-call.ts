import { AsyncLocalStorage } from 'node:async_hooks'
import { toolTypeError } from '../../core/errors.js'
import type { CallQueue, PendingCall } from './pending-call.js'
import type { PendingCalls } from './pending-calls.js'
import type { ThreadParts } from './thread-parts.js'
import type { ThreadState } from './thread-state.js'

/** What makes the calls of a thread, as far as calls and states need it. */
export interface Scheduler {
  readonly parts: ThreadParts
  /** The thread's own queue. */
  readonly root: CallQueue
  /** The state of that queue, outside of any call. */
  readonly rootState: ThreadState
  readonly calls: PendingCalls
  /** Appends a call to its queue. */
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

const running = new AsyncLocalStorage<RunningCall>()

/** Runs a tool as this call. */
export const runAs = <T>(call: RunningCall, work: () => T): T => running.run(call, work)

/** The innermost running call of a thread around the caller; with `queue`, the innermost of that queue. */
export function callAround(scheduler: Scheduler, queue?: CallQueue): RunningCall | undefined {
  for (let around = running.getStore(); around !== undefined; around = around.outer) {
    if (!around.ended && around.scheduler === scheduler && (queue === undefined || around.call.queue === queue)) return around
  }
  return undefined
}

/** The call that runs around the caller, of any thread. */
export const currentCall = (): RunningCall | undefined => running.getStore()

/** What a state belongs to. */
export interface StateOwner {
  scheduler: Scheduler
  queue: CallQueue
  /** The call that the state was made for. */
  running?: RunningCall | undefined
}

const owners = new WeakMap<object, StateOwner>()

/** Records what a state belongs to. */
export function setOwner<T extends ThreadState>(state: T, owner: StateOwner): T {
  owners.set(state, owner)
  return state
}

/** @throws {TypeError} when `state` is not the state of a thread. */
export function ownerOf(state: ThreadState, caller: string, what = 'the first argument'): StateOwner {
  const owner = typeof state === 'object' && state !== null ? owners.get(state) : undefined
  if (owner === undefined) throw toolTypeError(`${caller}: ${what} must be the state of a thread`)
  return owner
}
