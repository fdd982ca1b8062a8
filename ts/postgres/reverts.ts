/** Undoing calls: each at most once, over all processes. */
import type { RevertClaim, ToolCallRow } from '../journal/journal-store.js'
import { fenced } from './failures.js'
import type { Owner } from './owner.js'
import { claimsOlder } from './recovery-statements.js'
import { isCode, type Session, type Statement } from './session.js'
import type { Statements } from './statements.js'
import { callError } from './failures.js'
import type { TakenBack } from './taken-back.js'
import type { Unheard } from './unheard.js'

export class Reverts {
  readonly #session: Session
  readonly #owner: Owner
  readonly #statements: Statements
  readonly #unheard: Unheard
  readonly #takenBack: TakenBack

  constructor(session: Session, owner: Owner, statements: Statements, taking: [Unheard, TakenBack]) {
    this.#session = session
    this.#owner = owner
    this.#statements = statements
    ;[this.#unheard, this.#takenBack] = taking
  }

  async claim(row: number, rowOf: (row: number) => Promise<ToolCallRow | undefined>): Promise<RevertClaim> {
    const { calls, prefix } = this.#statements
    for (;;) {
      const lease = await this.#owner.current()
      let wasTried = false
      const make = (again: boolean) => {
        wasTried = again
        return {
          text: `WITH owner AS (
              UPDATE ${prefix}_toolwright_owners o SET ${claimsOlder('$2::text::bigint')}
              WHERE o.id = $1::text::bigint RETURNING o.id
            ) UPDATE ${calls} c SET revert_status = 'reverting', reverted_at_ms = NULL, revert_error_json = NULL, tw_revert_owner = owner.id
            FROM owner WHERE c.tw_row = $2::text::bigint AND c.revert_status IS NULL AND coalesce(c.has_revert, 0) <> 0
              AND c.status NOT IN ('started', 'intended') AND coalesce(c.tw_acted, 1) <> 0
            RETURNING c.tw_row`,
          values: [lease.id, row],
        }
      }
      const look = () => this.#takenBack.revert(lease, row)
      const won = await this.#unheard.ask(`revert ${row}`, lease, make, look)
      this.#owner.reopened(lease, row)
      const found = await rowOf(row)
      const isOurs = won.length > 0 || (wasTried && (await this.#isClaimedBy(lease.id, row)))
      if (isOurs && found !== undefined) return { won: found }
      this.#owner.closed(row)
      if (found === undefined) throw callError('JOURNAL_CALL_MISSING', 'Call is not in the journal', row, this.#session.place)
      if (found.revertStatus !== null) return { taken: found.revertStatus }
      if (found.hasRevert !== true) return { nothing: 'its tool cannot undo it' }
      if (found.status === 'started') return { nothing: 'it has no outcome yet' }
      if (!found.acted) return { nothing: 'it was refused before it did anything' }
      // Nothing is against it but this owner, which is gone.
      this.#owner.lose(lease, 'its lease had ended, and was taken over')
    }
  }

  /** @returns false when the row is not `reverting` any more. */
  async finish(row: number, errorJson: string | undefined): Promise<boolean> {
    const status = errorJson === undefined ? 'reverted' : 'revert-failed'
    let wasTried = false
    const statement = {
      text: `UPDATE ${this.#statements.calls} c SET revert_status = $2::text, revert_error_json = $3::text,
               reverted_at_ms = CASE WHEN $3::text IS NULL THEN (extract(epoch FROM clock_timestamp()) * 1000)::bigint END
             WHERE c.tw_row = $1::text::bigint AND c.revert_status = 'reverting' RETURNING c.tw_row`,
      values: [row, status, errorJson ?? null],
    }
    const make = (again: boolean) => {
      wasTried = again
      return statement
    }
    const rows = await this.#session.run(make).catch((error: unknown) => {
      if (isCode(error, 'JOURNAL_OWNER_FENCED')) throw fenced(this.#session.place, 'the undoing was taken over')
      // The undoing stands: it is recorded when the server answers, as long as nobody else undoes the call.
      const lease = this.#owner.now
      if (lease !== undefined) this.#unheard.note(`revert ${row}`, lease, () => this.#finishLater(statement, lease.id, row))
      throw error
    })
    this.#owner.closed(row)
    return rows.length > 0 || (wasTried && (await this.#hasStatus(row, status)))
  }

  async #finishLater(statement: Statement, owner: number, row: number): Promise<void> {
    if (await this.#isClaimedBy(owner, row)) await this.#session.run(() => statement)
    this.#owner.closed(row)
  }

  async #isClaimedBy(owner: number, row: number): Promise<boolean> {
    const text = `SELECT 1 AS is_ours FROM ${this.#statements.calls} WHERE tw_row = $1::text::bigint AND tw_revert_owner = $2::text::bigint
      AND revert_status = 'reverting'`
    return (await this.#session.run(() => ({ text, values: [row, owner] }))).length > 0
  }

  async #hasStatus(row: number, status: string): Promise<boolean> {
    const text = `SELECT 1 AS is_so FROM ${this.#statements.calls} WHERE tw_row = $1::text::bigint AND revert_status = $2::text`
    return (await this.#session.ask(text, [row, status])).length > 0
  }
}
