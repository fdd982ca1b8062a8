/**
 * Who works on a thread: a row of `_toolwright_thread_locks` that names an owner, which lives as long as its lease.
 *
 * Whatever this store writes to a thread that it works on holds the row of its owner. Whoever takes over deletes that row
 * first, so that nothing of a process that was paused lands after it.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { abortSignal, type Checks, optional, parseOptions } from '../../core/options.js'
import { isCode, type Parameter } from '../session.js'
import { waitForWorker } from '../../standard-agents/store/open-thread-store.js'
import { notNegative, storedText } from '../../standard-agents/store/store-checks.js'
import type { StoredCall, ThreadWorker, WorkerOptions } from '../../standard-agents/store/thread-store.js'
import type { SqlRow } from '../client.js'
import type { Owner } from '../owner.js'
import { missing, threadFailure } from './thread-failures.js'
import { callOf } from './thread-rows.js'
import type { ThreadSession } from './thread-session.js'

/** The right to work on a thread. `id` is that of the question that got it. */
export interface Lock {
  readonly id: string
  readonly thread: number
  readonly owner: number
  readonly token: number
}

const workerChecks = { waitMs: optional(notNegative, 30_000), signal: abortSignal } satisfies Checks<WorkerOptions>

/** How long after a failure a lock is given back again, in milliseconds. */
const AGAIN_MS = 1_000

export class ThreadLocks {
  readonly #session: ThreadSession
  readonly #owner: Owner
  /** The locks of workers of this store, by the ids of their threads. */
  readonly #held = new Map<string, Lock>()
  /** Locks that are given back, or that this store may have without knowing. Its next question for them is not refused. */
  readonly #freed = new Set<string>()

  constructor(session: ThreadSession, owner: Owner) {
    this.#session = session
    this.#owner = owner
  }

  /** The number of a thread. @throws {ToolError} THREAD_NOT_FOUND */
  async numberOf(threadId: string): Promise<number> {
    const threads = this.#session.table('threads')
    const [row] = await this.#session.ask(`SELECT id FROM ${threads} WHERE thread_id = $1::text`, [storedText(threadId, 'thread id')])
    if (row === undefined) throw missing('THREAD_NOT_FOUND', threadId)
    return Number(row['id'])
  }

  /** The parameters by which a function knows what this store may write: the owner, and the token of its worker. */
  rightsFor(threadId: string): [owner: number | null, token: number | null] {
    const lock = this.#held.get(threadId)
    return [lock?.owner ?? this.#owner.id ?? null, lock?.token ?? null]
  }

  /** The condition of a statement of {@link change}: its parameters are the second and the third one. */
  get fence(): string {
    return `(SELECT ${this.#session.table('thread_fence')}($1::text::bigint, $2::text::bigint, $3::text::bigint))`
  }

  /**
   * Changes something of a thread, unless this store works on it and was taken over. The number of the thread becomes the first
   * parameter, and what `fence` needs the next two.
   *
   * @throws {ToolError} THREAD_LOCKED after a takeover, THREAD_NOT_FOUND
   */
  async change(
    threadId: string,
    text: string,
    values: readonly Parameter[] | ((again: boolean) => readonly Parameter[]) = [],
  ): Promise<readonly SqlRow[]> {
    this.#session.checkWritable()
    const first = [await this.numberOf(threadId), ...this.rightsFor(threadId)]
    const rest = typeof values === 'function' ? values : () => values
    return this.#session.change(text, (again) => [...first, ...rest(again)])
  }

  /** Asks once for the right to work on a thread. @throws {ToolError} THREAD_LOCKED, THREAD_NOT_FOUND */
  async lock(threadId: string): Promise<Lock> {
    const died = await this.#session.ready()
    this.#session.checkWritable()
    const id = randomUUID()
    const own = JSON.stringify([...this.#freed, id])
    const text = `SELECT l.thread, l.token FROM ${this.#session.table('thread_lock')}($1::text, $2::text::bigint, $3::text, $4::text::json, $5::text) l`
    try {
      for (;;) {
        const lease = await this.#owner.current()
        const [row] = await this.#session.change(text, [threadId, lease.id, id, own, died])
        if (row !== undefined) return { id, owner: lease.id, thread: Number(row['thread']), token: Number(row['token']) }
        this.#owner.lose(lease, 'its lease had ended, and was taken over')
      }
    } catch (error) {
      // Nobody knows whether it was given: then nobody has it.
      const failure = threadFailure(error)
      if (isCode(failure, 'THREAD_IO_FAILED')) void this.unlock(threadId, { id })
      throw failure
    }
  }

  /** Gives a lock back, as soon as the server can be reached. */
  async unlock(threadId: string, { id }: Pick<Lock, 'id'>): Promise<void> {
    this.#freed.add(id)
    const [locks, threads] = [this.#session.table('thread_locks'), this.#session.table('threads')]
    const text = `DELETE FROM ${locks} l USING ${threads} t WHERE t.thread_id = $1::text AND l.thread = t.id AND l.asked_by = $2::text`
    while (!this.#session.isClosed) {
      try {
        await this.#session.ask(text, [threadId, id])
        this.#freed.delete(id)
        return
      } catch {
        await pause(AGAIN_MS, undefined, { ref: false })
      }
    }
  }

  /** Waits for the right to work on a thread. */
  async worker(threadId: string, options: WorkerOptions): Promise<ThreadWorker> {
    const { waitMs, signal } = parseOptions('store.lockThread', options, workerChecks)
    storedText(threadId, 'thread id')
    const lock = await waitForWorker(() => this.lock(threadId), { waitMs, signal })
    const release = (): void => {
      if (this.#held.get(threadId) === lock) this.#held.delete(threadId)
      void this.unlock(threadId, lock)
    }
    try {
      signal?.throwIfAborted()
      const interrupted = await this.#calls(lock.thread, `status = 'running' ORDER BY seq`)
      signal?.throwIfAborted()
      this.#held.set(threadId, lock)
      return this.#workerOf(threadId, lock, interrupted, release)
    } catch (error) {
      release()
      throw error
    }
  }

  #workerOf(threadId: string, lock: Lock, interrupted: StoredCall[], release: () => void): ThreadWorker {
    let isReleased = false
    const claim = async (queue: string | null, callId: string | null, to: 'running' | 'queued'): Promise<StoredCall | undefined> => {
      if (isReleased) throw missing('THREAD_LOCKED', threadId)
      const id = randomUUID()
      const [row] = await this.#session.change(
        `SELECT m.seq FROM ${this.#session.table('thread_claim')}($1::text, $2::text::bigint, $3::text::bigint, $4::text, $5::text::boolean, $6::text, $7::text, $8::text) m`,
        (again) => [threadId, lock.owner, lock.token, id, again, queue, callId, to],
      )
      if (row === undefined) return undefined
      return (await this.#calls(lock.thread, 'seq = $2::text::bigint', [Number(row['seq'])]))[0]
    }
    return {
      interrupted,
      claim: (queue = 'root') => claim(storedText(queue, 'queue'), null, 'running'),
      claimCall: async (callId) => (await claim(null, storedText(callId, 'call id'), 'running')) as StoredCall,
      requeue: async (callId) => (await claim(null, storedText(callId, 'call id'), 'queued')) as StoredCall,
      release: () => {
        if (!isReleased) release()
        isReleased = true
      },
    }
  }

  async #calls(thread: number, where: string, values: readonly Parameter[] = []): Promise<StoredCall[]> {
    const calls = this.#session.table('thread_calls')
    return (await this.#session.ask(`SELECT * FROM ${calls} WHERE thread = $1::text::bigint AND ${where}`, [thread, ...values])).map(callOf)
  }
}
