import { AsyncLocalStorage } from 'node:async_hooks'
import { abortError, unlessAborted } from '../../core/abort.js'
import { ToolError } from '../../core/errors.js'
import { invalid } from '../../core/options.js'
import type { StoredCall, ThreadWorker } from '../store/thread-store.js'
import type { ToolResult } from '../tools/tool-result.js'
import { executeCall } from './execute-call.js'
import { type CallQueue, type CallRequest, newCall, type PendingCall } from './pending-call.js'
import { PendingCalls } from './pending-calls.js'
import { callAround, createState, type Scheduler } from './running-call.js'
import { ThreadLock } from './thread-lock.js'
import type { ThreadParts } from './thread-parts.js'
import type { ThreadState } from './thread-state.js'

/** How long `close` waits for a running call, in milliseconds. */
const CLOSE_GRACE_MS = 5_000

/**
 * Makes the calls of a thread. They are stored in the order in which they are made and run one after the
 * other; the calls of a sub-prompt run inside the call that it belongs to.
 */
export class CallScheduler implements Scheduler {
  readonly parts: ThreadParts
  readonly root: CallQueue
  readonly rootState: ThreadState
  readonly calls: PendingCalls
  readonly #lock: ThreadLock
  /** Queues that are being drained, by name. */
  readonly #queues = new Map<string, CallQueue>()
  readonly #drains = new Map<CallQueue, Promise<void>>()
  readonly #cancellations = new Set<Promise<void>>()
  /** Queues that got calls since their drain last looked. */
  readonly #refilled = new Set<CallQueue>()
  /** Whether a call runs that is inside of no other. */
  #busy = false
  #wakeUps: (() => void)[] = []
  #stop = new AbortController()
  readonly #closing = new AbortController()
  #lastFailure: { error: unknown } | undefined
  readonly #outsideCalls = AsyncLocalStorage.snapshot() as <T>(work: () => T) => T

  constructor(parts: ThreadParts, side: 'a' | 'b') {
    this.parts = parts
    this.root = { name: 'root', side, context: undefined }
    this.calls = new PendingCalls(parts, (calls) => this.begin(calls))
    this.#lock = new ThreadLock(parts)
    this.rootState = createState({ scheduler: this, queue: this.root }, parts)
  }

  /**
   * Makes a call, and waits for it and for all calls that it queues.
   *
   * @throws an AbortError when the signal of its run is aborted, and what the store throws.
   */
  async call(request: CallRequest): Promise<ToolResult> {
    const { run, name } = request
    if (callAround(this, request.queue) !== undefined) {
      const remedy = 'Use queueTool, or the state of thread.childState() for a sub-prompt.'
      throw invalid(`The call of \`${name}\` would wait for the call that makes it. ${remedy}`)
    }
    const { signal } = run
    if (signal?.aborted === true) throw abortError(signal.reason)
    const onAbort = (): void => this.#drop((call) => call.run === run, abortError(signal?.reason))
    signal?.addEventListener('abort', onAbort, { once: true })
    const result = new Promise<ToolResult>((resolve, reject) => {
      this.add(newCall({ ...request, queued: false, inside: callAround(this), resolve, reject }))
    })
    try {
      await unlessAborted(
        result.then(() => run.drained()),
        signal,
      )
      return await result
    } catch (error) {
      throw run.signal?.aborted === true ? abortError(run.signal.reason) : error
    } finally {
      signal?.removeEventListener('abort', onAbort)
    }
  }

  add(call: PendingCall): void {
    this.checkOpen()
    this.calls.add(call)
    const isBusy = this.#drains.has(call.queue)
    this.#start(call.queue)
    if (!call.queued) return
    // The drain stores calls only between two tools, and not while it waits for another process.
    if (this.#lock.isHeld) void this.calls.storeAll()
    else if (isBusy) void this.calls.storeQueued()
  }

  begin(calls: readonly PendingCall[]): void {
    for (const { queue } of calls) this.#start(queue)
  }

  /** Waits until this and every other process has nothing left to do. Calls that dead processes left are made. */
  async flush(signal?: AbortSignal): Promise<void> {
    if (callAround(this) !== undefined) throw invalid('flush would wait for the call that calls it.')
    this.#lastFailure = undefined
    for (;;) {
      this.checkOpen()
      signal?.throwIfAborted()
      await this.calls.settled
      const isLeft = await this.#startStored()
      if (!isLeft && this.#drains.size + this.#cancellations.size === 0 && !this.calls.hasUnstored) return
      await this.#idle(signal)
      const failure = this.#lastFailure as { error: unknown } | undefined
      if (failure !== undefined) throw failure.error
    }
  }

  /** Starts the calls in the store, in the background. A failure is a warning. */
  resume(): void {
    this.#startStored().catch((error: unknown) => this.#warn(error))
  }

  async #startStored(): Promise<boolean> {
    const { store, thread } = this.parts
    const queued = await store.listCalls(thread.threadId, { status: 'queued' })
    const running = await store.listCalls(thread.threadId, { status: 'running' })
    const names = new Set([...running, ...queued].map(({ queue }) => queue))
    for (const name of names) {
      const known = name === this.root.name ? this.root : this.#queues.get(name)
      this.#start(known ?? { name, side: this.root.side, context: undefined })
    }
    return names.size > 0
  }

  /** Aborts what runs, and cancels what is queued. */
  async stop(): Promise<void> {
    this.checkOpen()
    const reason = abortError('the thread was stopped')
    const stop = this.#stop
    this.#stop = new AbortController()
    this.#drop(() => true, reason)
    stop.abort(reason)
    const { store, thread } = this.parts
    const cancelled = new Set((await store.cancelQueued(thread.threadId)).map(({ id }) => id))
    for (const call of this.calls.notStarted(({ id }) => cancelled.has(id))) this.calls.forget(call)
  }

  /** Makes no more calls. Queued calls stay in the store; a running call gets a moment to end. */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return
    const error = closedError()
    this.#closing.abort(error)
    this.#drop(({ queued }) => !queued, error)
    await this.calls.storeAll()
    await this.#idle(AbortSignal.timeout(CLOSE_GRACE_MS)).catch(() => undefined)
    this.#stop.abort(error)
  }

  checkOpen(): void {
    if (this.#closing.signal.aborted) throw closedError()
  }

  /** Rejects calls whose result is no longer wanted. Running ones learn it from their signal. */
  #drop(matches: (call: PendingCall) => boolean, error: unknown): void {
    for (const call of this.calls.takeUnstored(matches)) this.calls.fail(call, error)
    for (const call of this.calls.notStarted(matches)) {
      this.calls.fail(call, error)
      // Now rather than in its turn: a process that dies meanwhile must not leave the call to the next one.
      this.#cancel(call)
    }
    this.#wake()
  }

  #cancel(call: PendingCall): void {
    const worker = this.#lock.share()
    // A drain that waits for the lock cancels the call once it has the lock.
    if (worker === undefined) return
    const cancellation = this.calls.settled
      .then(() => worker.claimCall(call.id))
      .then((claimed) => this.#outsideCalls(() => this.#run(claimed, call.queue)))
      // Already claimed, or claimed in its turn: it then ends as dropped.
      .catch(() => undefined)
      .finally(() => {
        this.#cancellations.delete(cancellation)
        this.#lock.release()
      })
    this.#cancellations.add(cancellation)
  }

  #start(queue: CallQueue): void {
    this.#wake()
    this.#refilled.add(queue)
    if (this.#drains.has(queue) || this.#closing.signal.aborted) return
    const drain = this.#outsideCalls(() => this.#drain(queue))
      .catch((error: unknown) => this.#fail(queue, error))
      .finally(() => {
        this.#drains.delete(queue)
        this.#queues.delete(queue.name)
        if (this.#refilled.has(queue)) this.#start(queue)
        this.#wake()
      })
    this.#drains.set(queue, drain)
    this.#queues.set(queue.name, queue)
  }

  /** Runs the calls of a queue until none is left. */
  async #drain(queue: CallQueue): Promise<void> {
    // Calls that are made in one turn are stored together. What a tool has queued must not be lost while
    // another process has the lock.
    await undefined
    await this.calls.storeQueued()
    const worker = await this.#lock.acquire(this.#closing.signal)
    try {
      for (const call of this.calls.notStarted(({ dropped }) => dropped)) this.#cancel(call)
      while (await this.#step(queue, worker));
    } finally {
      this.#lock.release()
    }
  }

  /** Runs the next call of a queue, or waits for its turn; false when there is none. */
  async #step(queue: CallQueue, worker: ThreadWorker): Promise<boolean> {
    this.#refilled.delete(queue)
    await this.calls.storeAll()
    if (this.#closing.signal.aborted) return false
    const inside = this.calls.nextInside(queue)
    if (inside !== undefined) {
      const claimed = await worker.claimCall(inside.id).catch(() => undefined)
      if (claimed === undefined) this.calls.forget(inside)
      else await this.#run(claimed, queue)
      return true
    }
    if (this.#busy) {
      await new Promise<void>((resolve) => this.#wakeUps.push(resolve))
      return true
    }
    this.#busy = true
    try {
      const claimed = await worker.claim(queue.name)
      if (claimed !== undefined) await this.#run(claimed, queue)
      else await this.#forgetEnded(queue)
      return claimed !== undefined || this.#refilled.has(queue)
    } finally {
      this.#busy = false
      this.#wake()
    }
  }

  /** Forgets calls that another process has made meanwhile. */
  async #forgetEnded(queue: CallQueue): Promise<void> {
    const { store, thread } = this.parts
    for (const call of this.calls.notStarted((one) => one.queue === queue)) {
      const stored = await store.getCall(thread.threadId, call.id)
      if (stored !== undefined && stored.status !== 'queued' && stored.status !== 'running') this.calls.forget(call)
    }
  }

  async #run(claimed: StoredCall, queue: CallQueue): Promise<void> {
    const call = this.calls.find(claimed, queue)
    call.started = true
    const { signal } = call.run
    const stops = [this.#stop.signal, ...(signal === undefined ? [] : [signal])]
    try {
      await executeCall(this, call, call.dropped ? AbortSignal.abort() : AbortSignal.any(stops))
    } catch (error) {
      call.reject(error)
      throw error
    } finally {
      this.calls.forget(call)
    }
  }

  /** A queue cannot go on: its callers get the error; what tools have queued stays queued. */
  #fail(queue: CallQueue, error: unknown): void {
    this.#refilled.delete(queue)
    if (this.#closing.signal.aborted) return
    this.#lastFailure = { error }
    const isDirect = (call: PendingCall): boolean => call.queue === queue && !call.queued
    const direct = [...this.calls.takeUnstored(isDirect), ...this.calls.notStarted(isDirect)]
    for (const call of direct) this.calls.fail(call, error)
    if (direct.length === 0) this.#warn(error)
  }

  #warn(error: unknown): void {
    const { threadId } = this.parts.thread
    if (!this.#closing.signal.aborted) console.warn(`[toolwright] queued calls of thread ${threadId} wait:`, error)
  }

  #wake(): void {
    for (const wakeUp of this.#wakeUps.splice(0)) wakeUp()
  }

  /** Waits until no queue has anything to do. */
  async #idle(signal?: AbortSignal): Promise<void> {
    while (this.#drains.size + this.#cancellations.size > 0) {
      await unlessAborted(Promise.all([...this.#drains.values(), ...this.#cancellations]), signal)
    }
  }
}

function closedError(): ToolError {
  return new ToolError({
    code: 'THREAD_CLOSED',
    summary: 'The thread is closed',
    hint: 'Open it again with createThread and its threadId.',
  })
}
