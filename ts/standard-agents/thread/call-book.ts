import type { StoredCall } from '../store/thread-store.js'
import type { Lane } from './lane.js'
import { Run } from './run.js'
import { foundTicket, type Ticket, toStore } from './ticket.js'
import type { ThreadParts } from './thread-parts.js'

/** What this process knows of the calls of a thread that have not ended. */
export class CallBook {
  readonly #parts: ThreadParts
  readonly #neutral: <T>(work: () => T) => T
  /** Not stored yet, in the order in which they were made. */
  #waiting: Ticket[] = []
  /** Stored, by id. */
  readonly #stored = new Map<string, Ticket>()
  readonly #onStored: (tickets: readonly Ticket[]) => void
  #storing: Promise<void> = Promise.resolve()
  /** What calls that were found in the store have in common, by lane. */
  readonly #found = new WeakMap<Lane, Run>()

  /** `neutral` runs something in the asynchronous context of nobody's call. `onStored` sees to it that calls are made. */
  constructor(parts: ThreadParts, neutral: <T>(work: () => T) => T, onStored: (tickets: readonly Ticket[]) => void) {
    this.#parts = parts
    this.#onStored = onStored
    this.#neutral = neutral
  }

  /** Whether there is a call that nobody has stored yet. */
  get isWaiting(): boolean {
    return this.#waiting.length > 0
  }

  add(ticket: Ticket): void {
    ticket.run.begin()
    this.#waiting.push(ticket)
  }

  /** Hands over what is not stored yet: whoever takes it stores it, or puts it back. */
  takeWaiting(wanted: (ticket: Ticket) => boolean = () => true): Ticket[] {
    const taken = this.#waiting.filter(wanted)
    this.#waiting = this.#waiting.filter((ticket) => !wanted(ticket))
    return taken
  }

  /** They have not been stored after all. */
  putBack(tickets: Ticket[]): void {
    for (const ticket of tickets) {
      this.#stored.delete(ticket.id)
      if (ticket.dropped) ticket.run.end()
    }
    this.#waiting.unshift(...tickets.filter(({ dropped }) => !dropped))
  }

  /** They are stored, or will be in this moment: whoever drops one of them finds it here. */
  markStored(tickets: readonly Ticket[]): void {
    for (const ticket of tickets) this.#stored.set(ticket.id, ticket)
  }

  /** Does something that stores calls, after whatever else stores some: they keep their order. */
  async inOrder<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#storing.then(work)
    this.#storing = turn.then(
      () => undefined,
      () => undefined,
    )
    return turn
  }

  /** Settles when what is being stored is. */
  get settled(): Promise<void> {
    return this.#storing
  }

  /** Stores what waits; a call that cannot be stored is told so, and is no call any more. */
  storeWaiting(): Promise<void> {
    return this.isWaiting ? this.inOrder(() => this.#storeAll(this.takeWaiting())) : this.#storing
  }

  /** Stores what tools have queued, as far as nothing else waits before it. */
  storeQueued(): Promise<void> {
    return this.inOrder(() => {
      const firstDirect = this.#waiting.find(({ queued }) => !queued)?.arrival ?? Infinity
      return this.#storeAll(this.takeWaiting(({ arrival }) => arrival < firstDirect))
    })
  }

  async #storeAll(tickets: Ticket[]): Promise<void> {
    if (tickets.length === 0) return
    try {
      await this.#store(tickets)
    } catch (error) {
      if (tickets.length === 1) return this.#refuse(tickets, error)
      // One of them may be what the store does not take.
      for (const ticket of tickets) await this.#store([ticket]).catch((why: unknown) => this.#refuse([ticket], why))
    }
  }

  async #store(tickets: Ticket[]): Promise<void> {
    this.markStored(tickets)
    try {
      await this.#parts.store.commit(this.#parts.thread.threadId, { enqueue: tickets.map(toStore) })
    } catch (error) {
      for (const { id } of tickets) this.#stored.delete(id)
      throw error
    }
    this.#onStored(tickets)
  }

  #refuse(tickets: Ticket[], error: unknown): void {
    for (const ticket of tickets) this.fail(ticket, error)
  }

  /** What is known of a call that was claimed. */
  ticketOf(call: StoredCall, lane: Lane): Ticket {
    const known = this.#stored.get(call.id)
    if (known !== undefined) return known
    let run = this.#found.get(lane)
    if (run === undefined) this.#found.set(lane, (run = new Run({ ...this.#parts.context })))
    const found = run
    const ticket = this.#neutral(() => foundTicket(call, lane, found))
    ticket.run.begin()
    this.#stored.set(ticket.id, ticket)
    return ticket
  }

  /** The first call of a lane that another one, which runs, waits for. */
  nextInside(lane: Lane): Ticket | undefined {
    for (const ticket of this.#stored.values()) {
      if (ticket.lane === lane && !ticket.started && ticket.inside?.ended === false) return ticket
    }
    return undefined
  }

  /** A call has ended, however it did. */
  forget(ticket: Ticket): void {
    if (this.#stored.delete(ticket.id)) ticket.run.end()
  }

  /** A call cannot be made, or nobody wants it any more. */
  fail(ticket: Ticket, error: unknown): void {
    ticket.dropped = true
    ticket.failed(error)
    if (!this.#stored.has(ticket.id)) ticket.run.end()
  }

  /** The calls that are stored, and of which nobody has begun. */
  idle(wanted: (ticket: Ticket) => boolean): Ticket[] {
    return [...this.#stored.values()].filter((ticket) => !ticket.started && wanted(ticket))
  }
}
