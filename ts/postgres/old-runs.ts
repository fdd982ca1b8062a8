/** Runs that are over since a time, and what becomes of them. */
import type { SqlRow } from './client.js'
import { allOver } from './columns.js'
import type { Session } from './session.js'
import type { Statements } from './statements.js'

/** Runs that are looked at together. */
export const PAGE_RUNS = 500

export interface OldRun {
  runId: string
  /** Any number of 64 bits: the column takes what another program has written. */
  startedAtMs: bigint
}

/** The runs that are over, by pages, youngest first. A page costs what it holds, whatever the table does. */
export async function* oldRuns(session: Session, { calls, prefix, ofRun }: Statements, beforeMs: number): AsyncGenerator<OldRun[]> {
  let last: SqlRow | undefined
  for (;;) {
    const rows = await session.ask(
      `SELECT p.run_id, p.first::text AS first, n.is_over::int AS is_over FROM ${prefix}_toolwright_runs($1::text::bigint, $2::text::float8, $3::text::bigint, $4::text)
         AS p(run_id, first) CROSS JOIN LATERAL (SELECT ${allOver('$2::text::float8')} AS is_over FROM ${calls} c WHERE ${ofRun('p.run_id')}) n
       ORDER BY p.first DESC, p.run_id COLLATE "C" DESC`,
      [PAGE_RUNS, beforeMs, last === undefined ? null : String(last['first']), last === undefined ? null : String(last['run_id'])],
    )
    if (rows.length === 0) return
    last = rows.at(-1)
    const old = rows.filter((row) => Number(row['is_over']) === 1)
    if (old.length > 0) yield old.map((row) => ({ runId: String(row['run_id']), startedAtMs: BigInt(String(row['first'])) }))
  }
}

/** A list as PostgreSQL reads it: a backslash stands before a character that is meant as it is, and nothing else is escaped. */
export const arrayOf = (values: readonly string[]): string =>
  `{${values.map((value) => `"${value.replaceAll(/["\\]/gu, '\\$&')}"`).join(',')}}`

/**
 * Removes the rows of runs that are over, a few at a time. A run that somebody goes on with meanwhile stays.
 *
 * @returns the number of rows
 */
export async function removeRuns(
  session: Session,
  { prefix }: Statements,
  runs: readonly OldRun[],
  beforeMs: number,
  batchRows: number,
): Promise<number> {
  let [removed, done] = [0, 0]
  while (done < runs.length) {
    const left = arrayOf(runs.slice(done).map(({ runId }) => runId))
    const [row] = await session.ask(
      `SELECT r.removed, r.done FROM ${prefix}_toolwright_remove($1::text::text[], $2::text::float8, $3::text::bigint) r`,
      [left, beforeMs, batchRows],
    )
    removed += Number(row?.['removed'])
    done += Number(row?.['done'])
  }
  return removed
}
