import { setTimeout as pause } from 'node:timers/promises'
import type { Pool } from 'pg'

/** What becomes of the statement at which the network fails. */
export type Fate =
  /** The server carries it out, and its answer is lost. */
  | 'answer lost'
  /** It never reaches the server. */
  | 'never sent'
  /** It reaches the server when everybody has given it up. */
  | 'late'

/** A client whose network fails at one statement, and is silent for a while. */
export class FailingClient {
  readonly #pool: Pool
  #fault: { at: RegExp | number; fate: Fate; silentMs: number } | undefined
  #silentUntilMs = 0
  /** How often the network has failed. */
  failures = 0
  /** The number of statements so far. */
  sent = 0

  constructor(pool: Pool) {
    this.#pool = pool
  }

  /** Fails at the next statement of this kind, or at the one with this number. */
  failAt(at: RegExp | number, fate: Fate, silentMs: number): void {
    this.#fault = { at, fate, silentMs }
  }

  async query(text: string, values: readonly (string | null)[]): Promise<Record<string, unknown>[]> {
    const run = async () => (await this.#pool.query(text, [...values])).rows
    const fault = this.#fault
    this.sent += 1
    if (fault !== undefined && (typeof fault.at === 'number' ? fault.at === this.sent : fault.at.test(text))) {
      this.#fault = undefined
      this.failures += 1
      this.#silentUntilMs = performance.now() + fault.silentMs
      if (fault.fate === 'answer lost') await run().catch(() => undefined)
      if (fault.fate === 'late')
        void pause(fault.silentMs + 400)
          .then(run, () => undefined)
          .catch(() => undefined)
      return this.#silence()
    }
    if (performance.now() < this.#silentUntilMs) return this.#silence()
    return run()
  }

  async #silence(): Promise<never> {
    await pause(Math.max(0, this.#silentUntilMs - performance.now()))
    throw Object.assign(new Error('the connection was reset'), { code: 'ECONNRESET' })
  }
}

/** The statements of a journal. */
export const statements = {
  claim: /_toolwright_claim\(/u,
  intent: /INSERT INTO \S*_smithers_tool_calls|_toolwright_begin\(/u,
  outcome: /_toolwright_finish\(|^UPDATE \S*_smithers_tool_calls/u,
  heartbeat: /UPDATE \S*_toolwright_owners SET expires_at/u,
  lock: /_toolwright_(?:lock|begin_task)\(/u,
  unlock: /DELETE FROM \S*_toolwright_task_locks/u,
}
