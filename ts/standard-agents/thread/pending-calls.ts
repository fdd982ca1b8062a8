import type { StoredCall } from '../store/thread-store.js'
import { type CallQueue, type PendingCall, restoredCall, toStoredCall } from './pending-call.js'
import { Run } from './run.js'
import type { ThreadParts } from './thread-parts.js'

/** The calls of a thread that have not ended, as this process knows them. */
export class PendingCalls {
  readonly #parts: ThreadParts
  /** Calls that are not stored yet, in the order in which they were made. */
  #unstored: PendingCall[] = []
  readonly #stored = new Map<string, PendingCall>()
  readonly #onStored: (calls: readonly PendingCall[]) => void
  #storing: Promise<void> = Promise.resolve()
  /** The run that restored calls of a queue share. */
  readonly #restoredRuns = new WeakMap<CallQueue, Run>()

  /** @param onStored makes sure that stored calls are made */
  constructor(parts: ThreadParts, onStored: (calls: readonly PendingCall[]) => void) {
    this.#parts = parts
    this.#onStored = onStored
  }

  get hasUnstored(): boolean {
    return this.#unstored.length > 0
  }

  add(call: PendingCall): void {
    call.run.begin()
    this.#unstored.push(call)
  }

  /** Removes and returns calls that are not stored yet. The caller stores them or puts them back. */
  takeUnstored(matches: (call: PendingCall) => boolean = () => true): PendingCall[] {
    const taken = this.#unstored.filter(matches)
    this.#unstored = this.#unstored.filter((call) => !matches(call))
    return taken
  }

  putBack(calls: PendingCall[]): void {
    for (const call of calls) {
      this.#stored.delete(call.id)
      if (call.dropped) call.run.end()
    }
    this.#unstored.unshift(...calls.filter(({ dropped }) => !dropped))
  }

  /** Marks calls as stored, just before they are: a call that is dropped meanwhile must be found here. */
  markStored(calls: readonly PendingCall[]): void {
    for (const call of calls) this.#stored.set(call.id, call)
  }

  /** Does work that stores calls after all earlier work that does: calls keep their order. */
  async inOrder<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#storing.then(work)
    this.#storing = turn.then(
      () => undefined,
      () => undefined,
    )
    return turn
  }

  /** Settles when everything that is being stored is stored. */
  get settled(): Promise<void> {
    return this.#storing
  }

  /** Stores every call that is not stored yet. A call that cannot be stored fails and is forgotten. */
  storeAll(): Promise<void> {
    return this.hasUnstored ? this.inOrder(() => this.#storeEach(this.takeUnstored())) : this.#storing
  }

  /** Stores the calls that tools have queued, up to the first call with a waiting caller. */
  storeQueued(): Promise<void> {
    return this.inOrder(() => {
      const firstDirect = this.#unstored.find(({ queued }) => !queued)?.arrival ?? Infinity
      return this.#storeEach(this.takeUnstored(({ arrival }) => arrival < firstDirect))
    })
  }

  async #storeEach(calls: PendingCall[]): Promise<void> {
    if (calls.length === 0) return
    try {
      await this.#store(calls)
    } catch (error) {
      if (calls.length === 1) return this.fail(calls[0] as PendingCall, error)
      // The store may refuse one of them only.
      for (const call of calls) await this.#storeEach([call])
    }
  }

  async #store(calls: PendingCall[]): Promise<void> {
    this.markStored(calls)
    try {
      await this.#parts.store.commit(this.#parts.thread.threadId, { enqueue: calls.map(toStoredCall) })
    } catch (error) {
      for (const { id } of calls) this.#stored.delete(id)
      throw error
    }
    this.#onStored(calls)
  }

  /** The pending call for a claimed one. Must be called outside any call, whose context a restored one would take over. */
  find(claimed: StoredCall, queue: CallQueue): PendingCall {
    const known = this.#stored.get(claimed.id)
    if (known !== undefined) return known
    const run = this.#restoredRuns.get(queue) ?? new Run({ ...this.#parts.context })
    this.#restoredRuns.set(queue, run)
    const call = restoredCall(claimed, queue, run)
    run.begin()
    this.#stored.set(call.id, call)
    return call
  }

  /** The first call of a queue that a running call waits for. */
  nextInside(queue: CallQueue): PendingCall | undefined {
    for (const call of this.#stored.values()) {
      if (call.queue === queue && !call.started && call.inside?.ended === false) return call
    }
    return undefined
  }

  /** Removes a call that has ended. */
  forget(call: PendingCall): void {
    if (this.#stored.delete(call.id)) call.run.end()
  }

  /** Rejects a call that cannot be made or whose result is no longer wanted. */
  fail(call: PendingCall, error: unknown): void {
    call.dropped = true
    call.reject(error)
    if (!this.#stored.has(call.id)) call.run.end()
  }

  /** Stored calls that have not started. */
  notStarted(matches: (call: PendingCall) => boolean): PendingCall[] {
    return [...this.#stored.values()].filter((call) => !call.started && matches(call))
  }
}
