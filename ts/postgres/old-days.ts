/**
 * Days whose runs are all over. A day's partition is detached first, and looked at once more when nobody can change it: then it is
 * written to an archive, if one is kept, and dropped. Each step can be taken up by whoever comes after a crash.
 */
import { allOver } from './columns.js'
import { DAYS_AHEAD, partitionOf } from './days.js'
import { isCode, type Session } from './session.js'
import { isTrue } from './rows.js'
import type { Statements } from './statements.js'

/** Makes the partitions of the days to come. A role that may not leaves it to one that may. */
export async function makeDays(session: Session, { prefix }: Statements): Promise<void> {
  try {
    await session.ask(`SELECT ${prefix}_toolwright_make_days($1::text::int) AS made`, [DAYS_AHEAD])
  } catch (error) {
    if (!isCode(error, 'JOURNAL_READ_ONLY')) throw error
  }
}

/**
 * The days that may be removed, `YYYY-MM-DD`: those before the day of the time, and those whose removal was begun. For a role that does not
 * own the table there are none: its runs are removed row by row.
 */
export async function oldDays(session: Session, { calls, prefix }: Statements, beforeMs: number): Promise<string[]> {
  const [own] = await session.ask(`SELECT pg_has_role(c.relowner, 'USAGE') AS is_own FROM pg_class c WHERE c.oid = to_regclass($1::text)`, [
    calls,
  ])
  if (!isTrue(own?.['is_own'])) return []
  const rows = await session.ask(
    `SELECT d.day::text AS day FROM ${prefix}_toolwright_days d
     WHERE d.is_closing OR (extract(epoch FROM d.day) * 1000 < $1::text::float8 AND d.day <> (
       SELECT coalesce(max(t.day) FILTER (WHERE t.day <= (clock_timestamp() AT TIME ZONE 'UTC')::date), min(t.day)) FROM ${prefix}_toolwright_days t))
     ORDER BY d.day`,
    [beforeMs],
  )
  return rows.map((row) => String(row['day']))
}

/**
 * Removes a day, if all its runs were over before a time.
 *
 * @param keep writes its rows elsewhere, before they are dropped
 * @returns the number of its rows; undefined, if it stays
 */
export async function removeDay(
  session: Session,
  statements: Statements,
  day: string,
  beforeMs: number,
  keep?: (table: string) => Promise<void>,
): Promise<number | undefined> {
  const { calls, prefix } = statements
  const table = `${prefix}${partitionOf(day)}`
  const set = (isClosing: boolean) =>
    session.ask(`UPDATE ${prefix}_toolwright_days SET is_closing = $2::text::boolean WHERE day = $1::text::date`, [day, isClosing])
  const { state, isForgotten } = await stateOf(session, prefix, day, table)
  if (state === 'attached' && (await countOver(session, table, beforeMs)) === undefined) return undefined
  // From now on a call of one of its runs waits, until it is clear whether the day stays.
  await set(true)
  if (state === 'attached') {
    await session.ask(`ALTER TABLE ${calls} DETACH PARTITION ${table} CONCURRENTLY`).catch(async (error: unknown) => {
      if ((await stateOf(session, prefix, day, table)).state === 'attached') await set(false)
      throw error
    })
  }
  if (state === 'pending') await session.ask(`ALTER TABLE ${calls} DETACH PARTITION ${table} FINALIZE`)
  const count = state === 'gone' ? 0 : await countOver(session, table, state === 'detached' && isForgotten ? Infinity : beforeMs)
  if (count === undefined) {
    await session.ask(`ALTER TABLE ${calls} ATTACH PARTITION ${table} FOR VALUES FROM ('${day}') TO (DATE '${day}' + 1)`)
    await set(false)
    return undefined
  }
  // Its runs begin anew, should somebody go on with one.
  await session.ask(`DELETE FROM ${prefix}_toolwright_run_days WHERE tw_day = $1::text::date`, [day])
  if (state !== 'gone') {
    await keep?.(table)
    await session.ask(`DROP TABLE IF EXISTS ${table}`)
  }
  await session.ask(`DELETE FROM ${prefix}_toolwright_days WHERE day = $1::text::date`, [day])
  return count
}

/** The number of rows of a table whose calls were all over before a time; undefined otherwise. */
async function countOver(session: Session, table: string, beforeMs: number): Promise<number | undefined> {
  const [row] = await session.ask(`SELECT count(*) AS count, ${allOver('$1::text::float8')} AS is_over FROM ${table} c`, [beforeMs])
  return isTrue(row?.['is_over']) ? Number(row?.['count']) : undefined
}

/** How far the removal of a day is. A day whose runs are forgotten cannot come back. */
async function stateOf(
  session: Session,
  prefix: string,
  day: string,
  table: string,
): Promise<{ state: 'attached' | 'pending' | 'detached' | 'gone'; isForgotten: boolean }> {
  const [row] = await session.ask(
    `SELECT to_regclass($1::text) IS NOT NULL AS is_there,
       NOT EXISTS (SELECT 1 FROM ${prefix}_toolwright_run_days r WHERE r.tw_day = $2::text::date) AS is_forgotten,
       (SELECT i.inhdetachpending FROM pg_inherits i WHERE i.inhrelid = to_regclass($1::text)) AS is_pending`,
    [table, day],
  )
  const pending = row?.['is_pending']
  const state = pending === null ? 'detached' : isTrue(pending) ? 'pending' : 'attached'
  return { state: isTrue(row?.['is_there']) ? state : 'gone', isForgotten: isTrue(row?.['is_forgotten']) }
}
