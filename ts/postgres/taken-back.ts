/** Takes back what the server did unheard: calls that nobody makes, and locks that nobody holds. */
import { steadyNow } from '../core/clock.js'
import type { SqlRow } from './client.js'
import { type Lease, type Owner, taskName } from './owner.js'
import type { Parameter, Session } from './session.js'
import type { Statements } from './statements.js'
import type { Columns, Writer } from './writer.js'

/** A call whose beginning nobody heard of. It is known by its id or by its place, its owner and its time. */
export interface LostCall {
  lease: Lease
  runId: string
  nodeId: string
  iteration: number
  /** The id of a claim. */
  callId?: string
  /** The place of any other call. */
  place?: { attempt: number; seq: number }
  /** When it was to begin. A claim of an older row gives it a later time, where clocks differ. */
  start: number
  /** What it becomes: nothing was done, or it is as unknown as before. */
  status: 'error' | 'unknown'
}

/** A call that was to begin, by its columns. */
export function lostCall(columns: Columns, lease: Lease): LostCall {
  const { run_id: runId, node_id: nodeId, iteration, attempt, seq, started_at_ms: start } = columns
  const place = { attempt: Number(attempt), seq: Number(seq) }
  return { lease, runId: String(runId), nodeId: String(nodeId), iteration: Number(iteration), place, start: Number(start), status: 'error' }
}

const notMade = JSON.stringify({
  name: 'ToolError',
  code: 'JOURNAL_UNREACHABLE',
  message: 'The call was not made: the answer of the database server was lost',
})

export class TakenBack {
  readonly #session: Session
  readonly #owner: Owner
  readonly #statements: Statements
  readonly #writer: () => Writer
  readonly #diedJson: () => string

  constructor(session: Session, owner: Owner, statements: Statements, writer: () => Writer, diedJson: () => string) {
    this.#session = session
    this.#owner = owner
    this.#statements = statements
    this.#writer = writer
    this.#diedJson = diedJson
  }

  /** Not longer than any other statement: a call may wait for it. */
  #ask(text: string, values: readonly Parameter[]): Promise<readonly SqlRow[]> {
    return this.#session.run(() => ({ text, values }))
  }

  /** Ends a call that nobody makes. Its row is named by its number and its time, so that this cannot end a later one. */
  async call({ lease, runId, nodeId, iteration, callId, place, start, status }: LostCall): Promise<void> {
    const which = callId === undefined ? 'c.attempt = $7::text::bigint AND c.seq = $8::text::bigint' : 'c.tw_call_id = $7::text'
    const values = [runId, nodeId, iteration, lease.id, start, this.#diedJson()]
    const rows = await this.#ask(
      `SELECT c.tw_row, c.started_at_ms FROM ${this.#statements.calls} c WHERE ${this.#statements.ofRun('$1::text')}
         AND c.node_id = $2::text AND c.iteration = $3::text::bigint AND c.tw_owner = $4::text::bigint AND c.started_at_ms ${callId === undefined ? '=' : '>='} $5::text::bigint
         AND (c.status = 'started' OR (c.status = 'unknown' AND c.error_json = $6::text)) AND ${which}`,
      callId === undefined ? [...values, place?.attempt, place?.seq] : [...values, callId],
    )
    for (const { tw_row: row, started_at_ms: began } of rows) {
      const number = Number(row)
      if (this.#owner.isOpen(number)) continue
      const end = { status, error_json: notMade, output_json: null, finished_at_ms: steadyNow(), tw_output_bytes: null }
      const acted = status === 'error' ? 0 : null
      await this.#writer().end({ number, owner: lease.id, start: Number(began), run_id: runId, ...end, tw_acted: acted })
    }
  }

  /** Releases a task that nobody works on. */
  async lock(lease: Lease, runId: string, nodeId: string, iteration: number): Promise<void> {
    const held = this.#owner.tokenOf(taskName(runId, nodeId, iteration))
    const rows = await this.#ask(
      `SELECT token FROM ${this.#statements.prefix}_toolwright_task_locks WHERE run_id = $1::text AND node_id = $2::text
         AND iteration = $3::text::bigint AND owner = $4::text::bigint`,
      [runId, nodeId, iteration, lease.id],
    )
    for (const { token } of rows) {
      if (Number(token) === held) continue
      await this.#session.run(() => ({ ...this.#statements.unlock, values: [runId, nodeId, iteration, Number(token)] }))
    }
  }

  /** Lets others undo a call that nobody undoes. */
  async revert(lease: Lease, row: number): Promise<void> {
    if (this.#owner.isOpen(row)) return
    await this.#ask(
      `UPDATE ${this.#statements.calls} SET revert_status = NULL, tw_revert_owner = NULL
       WHERE tw_row = $1::text::bigint AND tw_revert_owner = $2::text::bigint AND revert_status = 'reverting'`,
      [row, lease.id],
    )
  }
}
