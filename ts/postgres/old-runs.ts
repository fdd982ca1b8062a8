/** Runs that are over since a time, and what becomes of them. */
import type { SqlRow } from './client.js'
import type { Session } from './session.js'
import type { Statements } from './statements.js'

/** Runs that are looked at together. */
const PAGE_RUNS = 500

export interface OldRun {
  runId: string
  startedAtMs: number
}

/** The most recent change of a call `c`. */
const CHANGED = 'greatest(c.started_at_ms, coalesce(c.finished_at_ms, 0), coalesce(c.reverted_at_ms, 0))'

/** Whether all calls `c` of a group were over before the time that a parameter names. Without a call there is nothing to keep. */
export const allOver = (beforeMs: string): string => `coalesce(max(${CHANGED}) < ${beforeMs}::text::float8
  AND NOT bool_or(c.status IN ('started', 'intended') OR coalesce(c.revert_status, '') = 'reverting'), true)`

/** The runs that are over, by pages, youngest first. A page costs what it holds, whatever the table does. */
export async function* oldRuns(session: Session, { calls, prefix, ofRun }: Statements, beforeMs: number): AsyncGenerator<OldRun[]> {
  let last: SqlRow | undefined
  for (;;) {
    const rows = await session.ask(
      `SELECT p.run_id, p.first, n.is_over::int AS is_over FROM ${prefix}_toolwright_runs($1::text::bigint, $2::text::float8, $3::text::bigint, $4::text)
         AS p(run_id, first) CROSS JOIN LATERAL (SELECT ${allOver('$2')} AS is_over FROM ${calls} c WHERE ${ofRun('p.run_id')}) n
       ORDER BY p.first DESC, p.run_id COLLATE "C" DESC`,
      [PAGE_RUNS, beforeMs, last === undefined ? null : Number(last['first']), last === undefined ? null : String(last['run_id'])],
    )
    if (rows.length === 0) return
    last = rows.at(-1)
    const old = rows.filter((row) => Number(row['is_over']) === 1)
    if (old.length > 0) yield old.map((row) => ({ runId: String(row['run_id']), startedAtMs: Number(row['first']) }))
  }
}

/** A list as PostgreSQL reads it. */
export const arrayOf = (values: readonly (string | number)[]): string =>
  `{${values.map((value) => (typeof value === 'number' ? value : JSON.stringify(value))).join(',')}}`

/**
 * Removes the rows of runs that are over, a few at a time. A run that somebody goes on with meanwhile stays.
 *
 * @returns the number of rows
 */
export async function removeRuns(
  session: Session,
  { calls, isByDay }: Statements,
  runs: readonly OldRun[],
  beforeMs: number,
  batchRows: number,
): Promise<number> {
  let removed = 0
  for (;;) {
    const rows = await session.ask(
      `WITH old AS MATERIALIZED (
         SELECT c.run_id FROM ${calls} c WHERE c.run_id = ANY ($1::text::text[]) GROUP BY c.run_id HAVING ${allOver('$2')}
       ), few AS MATERIALIZED (
         SELECT c.tw_row${isByDay ? ', c.tw_day' : ''} FROM ${calls} c JOIN old USING (run_id) LIMIT $3::text::bigint
       ), gone AS (
         DELETE FROM ${calls} c USING few WHERE c.tw_row = few.tw_row${isByDay ? ' AND c.tw_day = few.tw_day' : ''}
           AND ${CHANGED} < $2::text::float8 AND c.status NOT IN ('started', 'intended') RETURNING 1
       ) SELECT count(*) AS removed FROM gone`,
      [arrayOf(runs.map(({ runId }) => runId)), beforeMs, batchRows],
    )
    const count = Number(rows[0]?.['removed'])
    removed += count
    if (count < batchRows) return removed
  }
}
