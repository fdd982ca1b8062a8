import { AsyncLocalStorage } from 'node:async_hooks'
import { toolTypeError } from '../../core/errors.js'
import type { ThreadState } from './thread-state.js'
import type { CallQueue } from './call-queue.js'
import type { Lane } from './lane.js'
import type { Ticket } from './ticket.js'

/** A call whose tool runs. */
export interface RunningCall {
  queue: CallQueue
  ticket: Ticket
  /** What it queues; stored together with its result. */
  queued: Ticket[]
  /** Whether its tool has ended, or is no longer waited for. */
  ended: boolean
  /** The call that it runs inside of. */
  outer: RunningCall | undefined
}

const running = new AsyncLocalStorage<RunningCall>()

/** Runs a tool as this call. */
export const runAs = <T>(call: RunningCall, work: () => T): T => running.run(call, work)

/** The call of a thread that runs around the caller, however deep. */
export function callAround(queue: CallQueue, lane?: Lane): RunningCall | undefined {
  for (let call = running.getStore(); call !== undefined; call = call.outer) {
    if (!call.ended && call.queue === queue && (lane === undefined || call.ticket.lane === lane)) return call
  }
  return undefined
}

/** The call that runs around the caller, of whatever thread. */
export const currentCall = (): RunningCall | undefined => running.getStore()

/** Whose state it is. */
export interface StateHome {
  queue: CallQueue
  lane: Lane
  /** The call that it was made for. */
  call?: RunningCall | undefined
}

const homes = new WeakMap<object, StateHome>()

/** Remembers whose state it is. */
export function settle<T extends ThreadState>(state: T, home: StateHome): T {
  homes.set(state, home)
  return state
}

/** @throws {TypeError} for what is no state of a thread. */
export function homeOf(state: ThreadState, caller: string, what = 'the first argument'): StateHome {
  const home = typeof state === 'object' && state !== null ? homes.get(state) : undefined
  if (home === undefined) throw toolTypeError(`${caller}: ${what} must be the state of a thread`)
  return home
}
