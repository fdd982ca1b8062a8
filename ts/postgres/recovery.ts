/** Marks the calls of owners that are gone, a part at a time. */
import type { Awaitable } from '../core/abort.js'
import type { RecoveredCalls } from '../journal/journal-store.js'
import type { Owner } from './owner.js'
import type { Session } from './session.js'
import { prepared, type Prepared, type Statements } from './statements.js'

export class Recovery {
  readonly #session: Session
  readonly #owner: Owner
  readonly #statements: Statements
  readonly #diedJson: () => Awaitable<string>
  readonly #recover: Prepared
  #isRunning = false
  #isStopped = false

  constructor(session: Session, owner: Owner, statements: Statements, diedJson: () => Awaitable<string>) {
    this.#session = session
    this.#owner = owner
    this.#statements = statements
    this.#diedJson = diedJson
    const { prefix } = statements
    this.#recover = prepared(
      `SELECT r.what, r.number FROM ${prefix}_toolwright_recover($1::text) r
       UNION ALL SELECT 'alive', count(*) FROM ${prefix}_toolwright_owners o
       WHERE o.expires_at >= clock_timestamp() AND o.id <> $2::text::bigint`,
    )
  }

  /** Marks all that is left. */
  async recover(): Promise<RecoveredCalls> {
    const died = await this.#diedJson()
    const found: Record<string, number[]> = { call: [], revert: [] }
    for (;;) {
      const rows = await this.#session.run(() => ({ ...this.#recover, values: [died, this.#owner.id ?? 0] }))
      const one = (what: string): number => Number(rows.find((row) => row['what'] === what)?.['number'] ?? 0)
      for (const { what, number } of rows) found[String(what)]?.push(Number(number))
      if (one('left') > 0 && !this.#isStopped) continue
      const [calls = [], reverts = []] = [found['call'], found['revert']].map((numbers) => numbers?.toSorted((a, b) => a - b))
      return { calls, reverts, alive: one('alive'), undecided: 0 }
    }
  }

  /** The same beside everything else. What it cannot do is done by the next one. */
  begin(): void {
    if (this.#isStopped || this.#isRunning) return
    this.#isRunning = true
    void this.recover()
      .catch(() => undefined)
      .finally(() => (this.#isRunning = false))
  }

  stop(): void {
    this.#isStopped = true
  }

  /** The numbers of open rows whose owner is gone, or silent for too long. Nothing is marked. */
  async leftOpen(): Promise<number[]> {
    const { prefix, calls } = this.#statements
    const owners = `SELECT id, open_rows, rows_after, 9223372036854775807 AS rows_to FROM ${prefix}_toolwright_owners WHERE expires_at < clock_timestamp()
      UNION ALL SELECT id, open_rows, rows_after, rows_to FROM ${prefix}_toolwright_gone`
    const which = `c.tw_owner = o.id AND c.status = 'started'`
    const rows = await this.#session.ask(`WITH o AS (${owners})
      SELECT c.tw_row AS number FROM o CROSS JOIN LATERAL unnest(o.open_rows) AS n(number) JOIN ${calls} c ON c.tw_row = n.number AND ${which}
      UNION SELECT c.tw_row FROM o JOIN ${calls} c ON c.tw_row > o.rows_after AND c.tw_row < o.rows_to AND ${which} ORDER BY 1`)
    return rows.map(({ number }) => Number(number))
  }
}
