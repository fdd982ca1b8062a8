/** Calls of days that are over. */
import { openJournal } from 'toolwright'
import type { Pool } from 'pg'
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

/** Runs of five calls each that ended some days ago, made by the server itself: some 1.1 KB a row. */
export async function manyOld(
  pool: Pick<Pool, 'query'>,
  schema: string,
  rows: number,
  days: number,
  day = dayOf(ago(days)),
): Promise<void> {
  const t = `"${schema}".`
  const { rows: found } = await pool.query(`SELECT to_regclass('${t}_toolwright_days') IS NOT NULL AS is_by_day`)
  const isByDay = found[0].is_by_day === true
  if (isByDay) {
    const { rows: there } = await pool.query(`SELECT 1 FROM ${t}_toolwright_days WHERE day = $1`, [day])
    if (there.length === 0) await makeDay({ pool } as TestServer, schema, day)
    await pool.query(
      `INSERT INTO ${t}_toolwright_run_days SELECT 'old ${days} ' || i, $2::date FROM generate_series(1, $1::int) i ON CONFLICT DO NOTHING`,
      [Math.ceil(rows / 5), day],
    )
  }
  await pool.query(
    `INSERT INTO ${t}_smithers_tool_calls (run_id, node_id, iteration, attempt, seq, call_token, tool_name, input_json, output_json, started_at_ms, finished_at_ms,
       status, kind, side_effect, idempotent, idempotency_key, tw_args_hash, tw_ordinal, tw_output_bytes, tw_owner${isByDay ? ', tw_day' : ''})
     SELECT 'old ${days} ' || (1 + i / 5), 'n', 0, 1, 1 + i % 5, 'token ${days} ' || i, 'pay', json_build_object('n', i, 'text', repeat('ä', 150))::text,
       json_build_object('n', i, 'text', repeat(md5(i::text), 12))::text, $2::bigint + i, $2::bigint + i + 20, 'success', 'tool', 1, 0, md5(i::text), md5(i::text), 1, 400, 0
       ${isByDay ? `, '${day}'` : ''} FROM generate_series(0, $1::int - 1) i`,
    [rows, Math.floor(ago(days) / DAY_MS) * DAY_MS + 1_000],
  )
  await pool.query(`ANALYZE ${t}_smithers_tool_calls`)
}
