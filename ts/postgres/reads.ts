/** Reading what was recorded. */
import { invalid } from '../core/options.js'
import type { ListOptions, ListRunOptions, ListRunsOptions, ReadRows, RunSummary, TaskId, ToolCallRow } from '../journal/journal-store.js'
import { callRow, isTrue } from './rows.js'
import { UNSAFE_TO_REPEAT } from './columns.js'
import type { Parameter, Session } from './session.js'
import type { Statements } from './statements.js'

/** A process that records. */
export interface JournalOwner {
  id: number
  host: string
  pid: number
  /** The name that its store was opened with. */
  label: string | null
  openedAtMs: number
  /** Whether its lease runs. Another process takes over from one that is not alive. */
  isAlive: boolean
}

/** The last number of a row that JavaScript can tell from its neighbours. The sequence gets nowhere near; an INSERT may. */
const LAST_NUMBER = Number.MAX_SAFE_INTEGER

/**
 * The time of a cursor as a number of 64 bits. One that JavaScript cannot tell from its neighbours stands for all of them, so that
 * no page comes twice.
 */
function cursorTime(ms: number): string | number {
  if (Number.isSafeInteger(ms) || !Number.isInteger(ms)) return ms
  return String(
    BigInt.asIntN(
      64,
      [-(2n ** 63n), BigInt(ms) - 1_024n].reduce((one, other) => (one > other ? one : other)),
    ),
  )
}

export class Reads {
  readonly #session: Session
  readonly #statements: Statements
  /** The hash of arguments: the addon's. */
  readonly #argsHash: (json: string) => string

  constructor(session: Session, statements: Statements, argsHash: (json: string) => string) {
    this.#session = session
    this.#statements = statements
    this.#argsHash = argsHash
  }

  /** The condition of a task, whose parts are the first three values. */
  get #ofTask(): string {
    return `WHERE ${this.#statements.ofRun('$1::text')} AND c.node_id = $2::text AND c.iteration = $3::text::bigint`
  }

  task({ runId, nodeId, iteration }: TaskId, { outline = false }: ListOptions = {}): Promise<ToolCallRow[]> {
    return this.#rows(outline, `${this.#ofTask} ORDER BY c.attempt, c.seq`, [runId, nodeId, iteration])
  }

  run(runId: string, { reverse = false, outline = false }: ListRunOptions = {}): Promise<ToolCallRow[]> {
    const order = ['started_at_ms', 'attempt', 'seq', 'node_id COLLATE "C"', 'iteration']
    const sorted = order.map((column) => `c.${column}${reverse ? ' DESC' : ''}`).join(', ')
    return this.#rows(outline, `WHERE ${this.#statements.ofRun('$1::text')} ORDER BY ${sorted}`, [runId])
  }

  /** A page costs what it holds, whatever the table does. */
  async runs({ limit, beforeMs, before }: ListRunsOptions = {}): Promise<RunSummary[]> {
    const { calls, prefix, ofRun } = this.#statements
    const page =
      limit === undefined
        ? `SELECT c.run_id, min(c.started_at_ms) AS first FROM ${calls} c GROUP BY c.run_id`
        : `SELECT r.run_id, r.first FROM ${prefix}_toolwright_runs($2::text::bigint, $1::text::float8, $3::text::bigint, $4::text) r`
    const rows = await this.#session.ask(
      `WITH page AS MATERIALIZED (${page})
       SELECT p.run_id, p.first, n.calls, n.started, n.succeeded, n.failed, n.last FROM page p CROSS JOIN LATERAL (
         SELECT count(*) AS calls, count(*) FILTER (WHERE c.status IN ('started', 'intended')) AS started,
           count(*) FILTER (WHERE c.status IN ('success', 'succeeded')) AS succeeded, count(*) FILTER (WHERE c.status = 'error') AS failed,
           max(c.finished_at_ms) AS last
         FROM ${calls} c WHERE ${ofRun('p.run_id')}) n
       WHERE ($1::text IS NULL OR p.first < $1::text::float8)
         AND ($3::text IS NULL OR (p.first, p.run_id COLLATE "C") < ($3::text::bigint, $4::text))
       ORDER BY p.first DESC, p.run_id COLLATE "C" DESC LIMIT $2::text::bigint`,
      [beforeMs, limit, before && cursorTime(before.startedAtMs), before?.runId],
    )
    const summaries = rows.map((row) => ({
      runId: String(row['run_id']),
      calls: Number(row['calls']),
      started: Number(row['started']),
      succeeded: Number(row['succeeded']),
      failed: Number(row['failed']),
      startedAtMs: Number(row['first']),
      finishedAtMs: row['last'] === null ? null : Number(row['last']),
    }))
    return summaries.toReversed()
  }

  after(row: number, limit: number): Promise<ToolCallRow[]> {
    const clause = `WHERE c.tw_row > $1::text::bigint AND c.tw_row <= ${LAST_NUMBER} ORDER BY c.tw_row LIMIT $2::text::bigint`
    return this.#rows(false, clause, [row, limit])
  }

  async numbered(numbers: readonly number[]): Promise<ToolCallRow[]> {
    // A larger number would name another row, or none that the server knows.
    const exact = numbers.filter((number) => Number.isSafeInteger(number))
    if (exact.length === 0) return []
    return this.#rows(false, 'WHERE c.tw_row = ANY ($1::text::bigint[]) ORDER BY c.tw_row', [`{${exact.join(',')}}`])
  }

  async owners(): Promise<JournalOwner[]> {
    const rows = await this.#session.ask(
      `SELECT o.id, o.host, o.pid, o.label, o.expires_at >= clock_timestamp() AS is_alive,
         extract(epoch FROM o.opened_at) * 1000 AS opened
       FROM ${this.#statements.prefix}_toolwright_owners o ORDER BY o.id`,
    )
    return rows.map((row) => ({
      id: Number(row['id']),
      host: String(row['host']),
      pid: Number(row['pid']),
      label: row['label'] === null ? null : String(row['label']),
      openedAtMs: Math.round(Number(row['opened'])),
      isAlive: isTrue(row['is_alive']),
    }))
  }

  async countOwners(): Promise<{ alive: number; silent: number }> {
    const owners = await this.owners()
    const alive = owners.filter(({ isAlive }) => isAlive).length
    return { alive, silent: owners.length - alive }
  }

  async lastRow(): Promise<number> {
    const [row] = await this.#session.ask(
      `SELECT coalesce(max(tw_row), 0) AS number FROM ${this.#statements.calls} WHERE tw_row <= ${LAST_NUMBER}`,
    )
    return Number(row?.['number'])
  }

  /**
   * Rows in the order of the transactions that wrote them. Only those are read that began before every one that still runs,
   * so that none appears behind a reader. A cursor is `TRANSACTION.ROW`.
   */
  async since(cursor: string | undefined, limit: number): Promise<ReadRows> {
    const [xid, number] = await this.#position(cursor)
    if (cursor === 'end') return { rows: [], cursor: `${xid}.${number}` }
    const rows = await this.#session.ask(
      `${this.#statements.select.replace('SELECT ', 'SELECT c.tw_xid::text AS xid, ')}
       WHERE c.tw_xid < pg_snapshot_xmin(pg_current_snapshot()) AND (c.tw_xid, c.tw_row) > ($1::text::xid8, $2::text::bigint)
       ORDER BY c.tw_xid, c.tw_row LIMIT $3::text::bigint`,
      [xid, number, limit],
    )
    const last = rows.at(-1)
    return { rows: rows.map(callRow), cursor: last === undefined ? `${xid}.${number}` : `${String(last['xid'])}.${String(last['tw_row'])}` }
  }

  async #position(cursor: string | undefined): Promise<[string, string]> {
    if (cursor === undefined) return ['0', '0']
    if (cursor === 'end') {
      const [row] = await this.#session.ask('SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS xid')
      return [String(row?.['xid']), '0']
    }
    const parts = /^(\d{1,19})(?:\.(-?\d{1,19}))?$/u.exec(cursor)
    if (parts === null) throw invalid('The cursor must be one that readSince gave.')
    const [, first = '', second] = parts
    if (second !== undefined) return [first, second]
    if (first === '0') return ['0', '0']
    const [row] = await this.#session.ask(
      `SELECT c.tw_xid::text AS xid, c.tw_row AS number FROM ${this.#statements.calls} c
       WHERE c.tw_row <= $1::text::bigint ORDER BY c.tw_row DESC LIMIT 1`,
      [first],
    )
    return row === undefined ? ['0', '0'] : [String(row['xid']), String(row['number'])]
  }

  async lastAttempt({ runId, nodeId, iteration }: TaskId): Promise<{ attempt: number; seq: number } | undefined> {
    const [row] = await this.#session.ask(
      `SELECT c.attempt, c.seq FROM ${this.#statements.calls} c ${this.#ofTask} ORDER BY c.attempt DESC, c.seq DESC LIMIT 1`,
      [runId, nodeId, iteration],
    )
    return row && { attempt: Number(row['attempt']), seq: Number(row['seq']) }
  }

  priorEffects({ runId, nodeId, iteration }: TaskId, attempt: number): Promise<ToolCallRow[]> {
    const clause = `${this.#ofTask} AND c.attempt < $4::text::bigint AND ${UNSAFE_TO_REPEAT} ORDER BY c.attempt, c.seq`
    return this.#rows(true, clause, [runId, nodeId, iteration, attempt])
  }

  /** The rows of some programs have neither hash nor number: they are compared by their arguments, and counted in their order. */
  async recorded({ runId, nodeId, iteration }: TaskId, tool: string, argsHash: string, ordinal: number): Promise<ToolCallRow | undefined> {
    const clause = `${this.#ofTask} AND c.tool_name = $4::text AND (c.tw_args_hash = $5::text OR c.tw_args_hash IS NULL)
      AND coalesce(c.tw_acted, 1) <> 0 ORDER BY c.attempt, c.seq`
    const counts = new Map<number, number>()
    let last: number | undefined
    for (const row of await this.#rows(true, clause, [runId, nodeId, iteration, tool, argsHash])) {
      if (row.argsHash === null) {
        const inputJson = row.inputJson ?? (await this.numbered([row.row]))[0]?.inputJson
        if (typeof inputJson !== 'string' || this.#argsHash(inputJson) !== argsHash) continue
      }
      const count = (counts.get(row.attempt) ?? 0) + 1
      counts.set(row.attempt, count)
      if ((row.ordinal ?? count) === ordinal && row.status === 'success' && row.revertStatus === null) last = row.row
    }
    return last === undefined ? undefined : (await this.numbered([last]))[0]
  }

  async find(
    { runId, nodeId, iteration }: TaskId,
    attempt: number,
    seq: number,
  ): Promise<{ row: number; start: number; owner: number | null } | undefined> {
    const [row] = await this.#session.ask(
      `SELECT c.tw_row, c.started_at_ms, c.tw_owner FROM ${this.#statements.calls} c ${this.#ofTask}
         AND c.attempt = $4::text::bigint AND c.seq = $5::text::bigint`,
      [runId, nodeId, iteration, attempt, seq],
    )
    if (row === undefined) return undefined
    const owner = row['tw_owner']
    return { row: Number(row['tw_row']), start: Number(row['started_at_ms']), owner: owner === null ? null : Number(owner) }
  }

  async #rows(outline: boolean, clause: string, values: readonly Parameter[]): Promise<ToolCallRow[]> {
    const { outline: outlines, select } = this.#statements
    return (await this.#session.ask(`${outline ? outlines : select} ${clause}`, values)).map(callRow)
  }
}
