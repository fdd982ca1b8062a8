/** Calls of days that are over. */
import { openJournal } from 'toolwright'
import type { PostgresStoreOptions } from 'toolwright/postgres'
import type { TestServer } from '../servers.ts'

export const DAY_MS = 86_400_000
export const ago = (days: number): number => Date.now() - days * DAY_MS
export const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

/** Makes the partition of a day that is over, as it was made on that day. */
export async function makeDay(own: TestServer, schema: string, day: string): Promise<void> {
  const table = `"${schema}"._smithers_tool_calls_${day.replaceAll('-', '')}`
  await own.pool.query(`CREATE TABLE ${table} (LIKE "${schema}"._smithers_tool_calls INCLUDING DEFAULTS);
    ALTER TABLE "${schema}"._smithers_tool_calls ATTACH PARTITION ${table} FOR VALUES FROM ('${day}') TO (DATE '${day}' + 1);
    INSERT INTO "${schema}"._toolwright_days VALUES ('${day}')`)
}

/** What a run of some calls was, some days ago. */
export interface OldCalls {
  runId: string
  days: number
  calls: number
  /** Its last call has no outcome. */
  isOpen?: boolean
}

/** Records runs, and moves them to the days on which they would have been recorded. */
export async function recordOld(own: TestServer, options: PostgresStoreOptions, runs: readonly OldCalls[]): Promise<void> {
  const journal = await openJournal(own.open(options))
  const schema = String(options.schema)
  for (const { runId, calls, isOpen = false } of runs) {
    for (let seq = 1; seq <= calls; seq += 1) {
      const call = await journal.insertToolCall({
        runId,
        nodeId: 'n',
        attempt: 1,
        seq,
        toolName: 'pay',
        sideEffect: true,
        inputJson: JSON.stringify({ seq, text: 'ä'.repeat(seq) }),
      })
      if (!(isOpen && seq === calls)) await journal.updateToolCall(call, { status: 'success', outputJson: JSON.stringify({ runId, seq }) })
    }
  }
  await journal.close()
  for (const { runId, days } of runs) {
    const shift = days * DAY_MS
    const isByDay = options.partition === 'day'
    const day = dayOf(ago(days))
    if (isByDay) {
      const { rows } = await own.pool.query(`SELECT 1 FROM "${schema}"._toolwright_days WHERE day = $1`, [day])
      if (rows.length === 0) await makeDay(own, schema, day)
      await own.pool.query(`UPDATE "${schema}"._toolwright_run_days SET tw_day = $2 WHERE run_id = $1`, [runId, day])
    }
    await own.pool.query(
      `UPDATE "${schema}"._smithers_tool_calls SET started_at_ms = started_at_ms - $2::bigint, finished_at_ms = finished_at_ms - $2::bigint
       ${isByDay ? `, tw_day = '${day}'` : ''} WHERE run_id = $1`,
      [runId, shift],
    )
  }
}

/** The names of the partitions that are attached. */
export async function partitions(own: TestServer, schema: string): Promise<string[]> {
  const { rows } = await own.pool.query(
    `SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = '"${schema}"._smithers_tool_calls'::regclass`,
  )
  return rows.map(({ relname }) => String(relname)).sort()
}
