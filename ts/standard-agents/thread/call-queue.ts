import { AsyncLocalStorage } from 'node:async_hooks'
import { ToolError } from '../../core/errors.js'
import { invalid } from '../../core/options.js'
import type { StoredCall, ThreadWorker } from '../store/thread-store.js'
import type { ThreadState } from './thread-state.js'
import type { ToolResult } from '../tools/tool-definition.js'
import { aborted } from './aborted.js'
import { CallBook } from './call-book.js'
import { type Lane, ROOT } from './lane.js'
import { makeState } from './make-state.js'
import { callAround } from './running-call.js'
import type { Run } from './run.js'
import { runTicket } from './run-ticket.js'
import { SharedWorker } from './shared-worker.js'
import { newTicket, type Ticket } from './ticket.js'
import type { ThreadParts } from './thread-parts.js'

/** A call from outside. */
export interface CallRequest {
  lane: Lane
  run: Run
  name: string
  argumentsJson: string
  toolCallId?: string | undefined
}

/** How long `close` waits for a call that runs, in milliseconds. */
const CLOSE_GRACE_MS = 5_000

/**
 * The calls of a thread: stored in the order in which they are made, and run one after the other, those of
 * a sub-prompt inside of the call that it belongs to.
 */
export class CallQueue {
  readonly parts: ThreadParts
  readonly root: Lane
  /** The state of the thread's own queue, outside of any call. */
  readonly rootState: ThreadState
  readonly book: CallBook
  readonly #worker: SharedWorker
  /** Those that have something to do, by their names. */
  readonly #lanes = new Map<string, Lane>()
  readonly #pumps = new Map<Lane, Promise<void>>()
  readonly #cancelling = new Set<Promise<void>>()
  /** Lanes that have got calls since their pumps looked. */
  readonly #again = new Set<Lane>()
  /** Whether a call runs that is inside of no other. */
  #busy = false
  #changed: (() => void)[] = []
  #stop = new AbortController()
  readonly #closing = new AbortController()
  #trouble: { error: unknown } | undefined
  readonly #neutral = AsyncLocalStorage.snapshot() as <T>(work: () => T) => T

  constructor(parts: ThreadParts, side: 'a' | 'b') {
    this.parts = parts
    this.root = { name: ROOT, side, context: undefined }
    this.book = new CallBook(parts, this.#neutral, (tickets) => this.begin(tickets))
    this.#worker = new SharedWorker(parts)
    const ofThread = { context: parts.context, tenvs: parts.tenvs, live: undefined, stopped: () => false }
    this.rootState = makeState(parts, { queue: this, lane: this.root }, ofThread)
  }

  /**
   * Makes a call, and waits for it and for all that it queues.
   *
   * @throws `aborted` when the signal of its run is, and what the store throws.
   */
  async call({ lane, run, name, argumentsJson, toolCallId }: CallRequest): Promise<ToolResult> {
    this.#checkNotInside(lane, `The call of \`${name}\``)
    const { signal } = run
    if (signal?.aborted === true) throw aborted(signal.reason)
    let onAbort: () => void = () => undefined
    const givenUp = new Promise<never>((_, reject) => {
      onAbort = () => {
        const error = aborted(signal?.reason)
        this.#drop((ticket) => ticket.run === run, error)
        reject(error)
      }
    })
    givenUp.catch(() => undefined)
    signal?.addEventListener('abort', onAbort, { once: true })
    try {
      const made = new Promise<ToolResult>((ended, failed) => {
        const named = toolCallId === undefined ? {} : { toolCallId }
        const inside = callAround(this)
        this.add(newTicket({ lane, run, name, argumentsJson, queued: false, inside, ended, failed, ...named }))
      })
      const result = await Promise.race([made, givenUp])
      await Promise.race([run.drained(), givenUp])
      return result
    } finally {
      signal?.removeEventListener('abort', onAbort)
    }
  }

  /** Puts a call behind the others. */
  add(ticket: Ticket): void {
    this.checkOpen()
    this.book.add(ticket)
    const isBusy = this.#pumps.has(ticket.lane)
    this.#kick(ticket.lane)
    if (!ticket.queued) return
    // While a tool runs, nobody else stores it; nor while the lane waits for another process.
    if (this.#worker.isHeld) void this.book.storeWaiting()
    else if (isBusy) void this.book.storeQueued()
  }

  /** Sees to it that calls which have been stored are made. */
  begin(tickets: readonly Ticket[]): void {
    for (const { lane } of tickets) this.#kick(lane)
  }

  /**
   * Waits until nothing is left to do, by this process or by another one; what dead processes have left
   * is done.
   */
  async flush(signal?: AbortSignal): Promise<void> {
    if (callAround(this) !== undefined) throw invalid('flush would wait for the call that calls it.')
    this.#trouble = undefined
    for (;;) {
      this.checkOpen()
      signal?.throwIfAborted()
      await this.book.settled
      const left = await this.#kickStored()
      if (!left && this.#pumps.size + this.#cancelling.size === 0 && !this.book.isWaiting) return
      await this.#idle(signal)
      const trouble = this.#trouble as { error: unknown } | undefined
      if (trouble !== undefined) throw trouble.error
    }
  }

  /** Begins what is in the store, in the background; a failure is told by a warning. */
  resume(): void {
    this.#kickStored().catch((error: unknown) => this.#warn(error))
  }

  async #kickStored(): Promise<boolean> {
    const { store, thread } = this.parts
    const queued = await store.listCalls(thread.threadId, { status: 'queued' })
    const running = await store.listCalls(thread.threadId, { status: 'running' })
    const names = new Set([...running, ...queued].map(({ queue }) => queue))
    for (const name of names) this.#kick(this.#laneOf(name))
    return names.size > 0
  }

  #laneOf(name: string): Lane {
    if (name === ROOT) return this.root
    return this.#lanes.get(name) ?? { name, side: this.root.side, context: undefined }
  }

  /** Aborts what runs, and takes back what is queued. */
  async stop(): Promise<void> {
    this.checkOpen()
    const reason = aborted('the thread was stopped')
    const stop = this.#stop
    this.#stop = new AbortController()
    this.#drop(() => true, reason)
    stop.abort(reason)
    const { store, thread } = this.parts
    const cancelled = new Set((await store.cancelQueued(thread.threadId)).map(({ id }) => id))
    for (const ticket of this.book.idle(({ id }) => cancelled.has(id))) this.book.forget(ticket)
  }

  /** Makes no more calls. What is queued stays in the store; what runs is waited for, for a moment. */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return
    const error = closedError()
    this.#closing.abort(error)
    this.#drop(({ queued }) => !queued, error)
    await this.book.storeWaiting()
    await this.#idle(AbortSignal.timeout(CLOSE_GRACE_MS)).catch(() => undefined)
    this.#stop.abort(error)
  }

  /** @throws {ToolError} THREAD_CLOSED. */
  checkOpen(): void {
    if (this.#closing.signal.aborted) throw closedError()
  }

  #checkNotInside(lane: Lane, what: string): void {
    if (callAround(this, lane) === undefined) return
    throw invalid(`${what} would wait for the call that makes it. Use queueTool, or the state of thread.childState() for a sub-prompt.`)
  }

  /** Nobody wants these calls any more; those that run are told by their signal. */
  #drop(wanted: (ticket: Ticket) => boolean, error: unknown): void {
    for (const ticket of this.book.takeWaiting(wanted)) this.book.fail(ticket, error)
    for (const ticket of this.book.idle(wanted)) {
      this.book.fail(ticket, error)
      // Now, and not when its turn comes: a process that dies before must not leave it to the next one.
      this.#cancel(ticket)
    }
    this.#wake()
  }

  #cancel(ticket: Ticket): void {
    const worker = this.#worker.share()
    // A pump that waits for the right sees to it when it has it.
    if (worker === undefined) return
    const cancelling = this.book.settled
      .then(() => worker.claimCall(ticket.id))
      .then((call) => this.#run(call, ticket.lane))
      // It has been claimed already, or is when its turn comes, and then ended as it is dropped.
      .catch(() => undefined)
      .finally(() => {
        this.#cancelling.delete(cancelling)
        this.#worker.release()
      })
    this.#cancelling.add(cancelling)
  }

  #kick(lane: Lane): void {
    this.#wake()
    this.#again.add(lane)
    if (this.#pumps.has(lane) || this.#closing.signal.aborted) return
    const pump = this.#neutral(() => this.#pump(lane))
      .catch((error: unknown) => this.#fail(lane, error))
      .finally(() => {
        this.#pumps.delete(lane)
        this.#lanes.delete(lane.name)
        if (this.#again.has(lane)) this.#kick(lane)
        this.#wake()
      })
    this.#pumps.set(lane, pump)
    this.#lanes.set(lane.name, lane)
  }

  /** Runs the calls of a lane until none is left. */
  async #pump(lane: Lane): Promise<void> {
    // Calls that are made at once are stored at once; what a tool has queued is not to be lost while
    // somebody else works on the thread.
    await undefined
    await this.book.storeQueued()
    const worker = await this.#worker.acquire(this.#closing.signal)
    try {
      for (const ticket of this.book.idle(({ dropped }) => dropped)) this.#cancel(ticket)
      while (await this.#step(lane, worker));
    } finally {
      this.#worker.release()
    }
  }

  /** Runs the next call of a lane, or waits for its turn; false when there is none. */
  async #step(lane: Lane, worker: ThreadWorker): Promise<boolean> {
    this.#again.delete(lane)
    await this.book.storeWaiting()
    if (this.#closing.signal.aborted) return false
    const inside = this.book.nextInside(lane)
    if (inside !== undefined) {
      const call = await worker.claimCall(inside.id).catch(() => undefined)
      if (call === undefined) this.book.forget(inside)
      else await this.#run(call, lane)
      return true
    }
    if (this.#busy) {
      await new Promise<void>((resolve) => this.#changed.push(resolve))
      return true
    }
    this.#busy = true
    try {
      const call = await worker.claim(lane.name)
      if (call !== undefined) await this.#run(call, lane)
      else await this.#forgetEnded(lane)
      return call !== undefined || this.#again.has(lane)
    } finally {
      this.#busy = false
      this.#wake()
    }
  }

  /** What another process has made meanwhile. */
  async #forgetEnded(lane: Lane): Promise<void> {
    const { store, thread } = this.parts
    for (const ticket of this.book.idle((one) => one.lane === lane)) {
      const call = await store.getCall(thread.threadId, ticket.id)
      if (call !== undefined && call.status !== 'queued' && call.status !== 'running') this.book.forget(ticket)
    }
  }

  async #run(call: StoredCall, lane: Lane): Promise<void> {
    const ticket = this.book.ticketOf(call, lane)
    ticket.started = true
    const { signal } = ticket.run
    const stops = [this.#stop.signal, ...(signal === undefined ? [] : [signal])]
    try {
      await runTicket(this, ticket, ticket.dropped ? AbortSignal.abort() : AbortSignal.any(stops))
    } catch (error) {
      ticket.failed(error)
      throw error
    } finally {
      this.book.forget(ticket)
    }
  }

  /** A lane cannot go on: whoever waits for a call of it is told; what tools have queued stays queued. */
  #fail(lane: Lane, error: unknown): void {
    this.#again.delete(lane)
    if (this.#closing.signal.aborted) return
    this.#trouble = { error }
    const isDirect = (ticket: Ticket): boolean => ticket.lane === lane && !ticket.queued
    const told = [...this.book.takeWaiting(isDirect), ...this.book.idle(isDirect)]
    for (const ticket of told) this.book.fail(ticket, error)
    if (told.length === 0) this.#warn(error)
  }

  #warn(error: unknown): void {
    const { threadId } = this.parts.thread
    if (!this.#closing.signal.aborted) console.warn(`[toolwright] queued calls of thread ${threadId} wait:`, error)
  }

  #wake(): void {
    for (const go of this.#changed.splice(0)) go()
  }

  /** Waits until no lane has anything to do. */
  async #idle(signal?: AbortSignal): Promise<void> {
    while (this.#pumps.size + this.#cancelling.size > 0) {
      const all = Promise.all([...this.#pumps.values(), ...this.#cancelling])
      await (signal === undefined ? all : Promise.race([all, whenAborted(signal)]))
    }
  }
}

async function whenAborted(signal: AbortSignal): Promise<never> {
  signal.throwIfAborted()
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

function closedError(): ToolError {
  return new ToolError({
    code: 'THREAD_CLOSED',
    summary: 'The thread is closed',
    hint: 'Open it again with createThread and its threadId.',
  })
}
