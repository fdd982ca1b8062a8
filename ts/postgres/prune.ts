/** Removing old runs. */
import type { Session } from './session.js'
import type { Statements } from './statements.js'

/** Which runs are removed. */
export interface PruneOptions {
  /** Runs whose last call began and ended before this time, in milliseconds since 1970. */
  beforeMs: number
  /** The most rows of one transaction. @default 5000 */
  batchRows?: number | undefined
}

/** Removes whole runs, a few rows at a time. Runs with a call that has no outcome stay. @returns the number of rows. */
export async function pruneRuns(session: Session, { calls }: Statements, { beforeMs, batchRows = 5_000 }: PruneOptions): Promise<number> {
  let removed = 0
  for (;;) {
    const rows = await session.ask(
      `WITH old AS MATERIALIZED (
         SELECT run_id FROM ${calls} GROUP BY run_id
         HAVING max(greatest(started_at_ms, coalesce(finished_at_ms, 0))) < $1::text::float8
           AND NOT bool_or(status IN ('started', 'intended') OR coalesce(revert_status, '') = 'reverting')
         LIMIT 1000
       ), few AS MATERIALIZED (SELECT c.tw_row FROM ${calls} c JOIN old USING (run_id) LIMIT $2::text::bigint),
       gone AS (DELETE FROM ${calls} c USING few WHERE c.tw_row = few.tw_row RETURNING c.tw_row)
       SELECT count(*) AS removed FROM gone`,
      [beforeMs, batchRows],
    )
    const count = Number(rows[0]?.['removed'])
    removed += count
    if (count === 0) return removed
  }
}
