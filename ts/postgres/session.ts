/** Statements with patience: a server that restarts is waited for. */
import { setTimeout as sleep } from 'node:timers/promises'
import { settledWithin } from '../core/abort.js'
import { ToolError } from '../core/errors.js'
import type { SqlClient, SqlRow } from './client.js'
import { failureKind, fenced, lacksPartition, storeError, unreachable } from './failures.js'

export type Parameter = string | number | boolean | null | undefined

export interface Statement {
  text: string
  values: readonly Parameter[]
  /** The name under which it may stay prepared. */
  name?: string
}

/** How often a transaction is tried again that was rolled back for the sake of another one. */
const MAX_CONFLICTS = 20
const FIRST_PAUSE_MS = 5
const MAX_PAUSE_MS = 250

export class Session {
  readonly client: SqlClient
  /** The store in messages. */
  readonly place: string
  readonly patienceMs: number
  /** Called when a table may have been partitioned under a statement. What is tried again is made for the new layout. */
  onPartitioned: (() => Promise<void>) | undefined
  /** The number of statements so far. */
  statements = 0
  /** Whether statements may stay prepared on their connections. */
  #prepares = true
  #closed = false

  constructor(client: SqlClient, place: string, patienceMs: number) {
    this.client = client
    this.place = place
    this.patienceMs = patienceMs
  }

  /**
   * Runs a statement until the server has answered. It is made for each try: `again` says that an earlier one may have been
   * carried out, though nobody heard of it.
   *
   * @throws {ToolError} JOURNAL_OWNER_FENCED, JOURNAL_UNREACHABLE, …
   */
  async run(make: (again: boolean) => Statement, patienceMs = this.patienceMs, isBounded = true): Promise<readonly SqlRow[]> {
    const start = performance.now()
    let [again, conflicts, pauseMs, wasLookedAt] = [false, 0, FIRST_PAUSE_MS, false]
    for (;;) {
      try {
        return await this.#once(make(again), isBounded ? Math.max(1, patienceMs - (performance.now() - start)) : undefined)
      } catch (error) {
        const kind = failureKind(error)
        if (kind === 'unprepared' && this.#prepares) {
          this.#prepares = false
          continue
        }
        if (!wasLookedAt && lacksPartition(error)) {
          wasLookedAt = true
          // Without an answer, this is a conflict like any other.
          const looking = this.onPartitioned?.().catch(() => undefined)
          await settledWithin(Promise.resolve(looking), Math.max(1, patienceMs - (performance.now() - start)))
        }
        if (kind === 'fenced') throw fenced(this.place, 'the lease of this process has ended')
        if (kind === 'final' || kind === 'unprepared' || (kind === 'conflict' && (conflicts += 1) > MAX_CONFLICTS))
          throw storeError(error, this.place)
        const waitedMs = performance.now() - start
        if (kind === 'connection') {
          if (this.#closed || waitedMs + pauseMs > patienceMs) throw unreachable(error, this.place, waitedMs)
          again = true
        }
        await sleep(pauseMs * (0.5 + Math.random()))
        pauseMs = Math.min(MAX_PAUSE_MS, pauseMs * 2)
      }
    }
  }

  /** Runs a statement that may be carried out twice, and may take as long as it takes. */
  async ask(text: string, values: readonly Parameter[] = []): Promise<readonly SqlRow[]> {
    const statement = { text, values }
    return this.run(() => statement, this.patienceMs, false)
  }

  /** A network that is silent gives no answer and no error: then the limit ends the wait. */
  async #once({ text, values, name }: Statement, limitMs: number | undefined): Promise<readonly SqlRow[]> {
    this.statements += 1
    const answer = this.client.query(text, values.map(asText), this.#prepares ? name : undefined)
    if (limitMs === undefined) return answer
    const { promise: late, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(() => reject(Object.assign(new Error('no answer came'), { code: 'ETIMEDOUT' })), limitMs)
    try {
      return await Promise.race([answer, late])
    } finally {
      clearTimeout(timer)
      // Nobody waits for an answer that comes later.
      void Promise.resolve(answer).catch(() => undefined)
    }
  }

  /** No more waiting for a server. */
  close(): void {
    this.#closed = true
  }
}

const asText = (value: Parameter): string | null => (value === undefined || value === null ? null : String(value))

export const isCode = (error: unknown, ...codes: string[]): boolean => ToolError.isInstance(error) && codes.includes(error.code)
