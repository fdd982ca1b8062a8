/** The statements of a store, each made once. */
import { hash } from 'node:crypto'
import { BEGUN_COLUMNS, ENDED_COLUMNS, endedChanges, selectList } from './columns.js'
import type { Layout } from './days.js'
import { quoted } from './schema.js'

/** A text, and the name under which it may stay prepared. */
export interface Prepared {
  text: string
  name: string
}

export const prepared = (text: string): Prepared => ({ text, name: `tw_${hash('sha256', text).slice(0, 24)}` })

/** A parameter, whose text the server converts: clients differ in what they make of numbers. */
const parameter = (index: number, type: string): string => `$${index}::text${type === 'text' ? '' : `::${type}`}`

export interface Statements {
  /** The table of calls. */
  calls: string
  /** The schema with its dot. */
  prefix: string
  select: string
  /** Whether calls are written by functions alone, which know the partitions. */
  isByDay: boolean
  /** The condition of the calls of a run, which leads to its partition. */
  ofRun(run: string): string
  outline: string
  begin: Prepared
  finish: Prepared
  beginMany: Prepared
  finishMany: Prepared
  both: Prepared
  claim: Prepared
  beginTask: Prepared
  lock: Prepared
  unlock: Prepared
}

export function statementsFor(schema: string, layout: Layout): Statements {
  const prefix = `${quoted(schema)}.`
  const calls = `${prefix}_smithers_tool_calls`
  const isByDay = layout === 'days'
  const columns = BEGUN_COLUMNS.map(([name]) => name).join(', ')
  const values = BEGUN_COLUMNS.map(([, type], index) => parameter(index + 2, type)).join(', ')
  const ended = new Map(ENDED_COLUMNS.map(([name, type], index) => [name as string, parameter(index + 1, type)]))
  const batch = (call: string): string => `SELECT b.place, b.number FROM ${prefix}${call} b`
  const begins = '_toolwright_begin($1::text::bigint, $2::text::json)'
  return {
    calls,
    prefix,
    isByDay,
    ofRun: (run) =>
      `c.run_id = ${run}${isByDay ? ` AND c.tw_day = (SELECT d.tw_day FROM ${prefix}_toolwright_run_days d WHERE d.run_id = ${run})` : ''}`,
    select: `SELECT ${selectList(false)} FROM ${calls} c`,
    outline: `SELECT ${selectList(true)} FROM ${calls} c`,
    begin: prepared(
      `INSERT INTO ${calls} AS c (tw_owner, kind, ${columns})
       SELECT o.id, 'tool', ${values} FROM ${prefix}_toolwright_owners o WHERE o.id = $1::text::bigint FOR KEY SHARE OF o
       ON CONFLICT DO NOTHING RETURNING c.tw_row AS number`,
    ),
    finish: prepared(`UPDATE ${calls} c SET ${endedChanges((column) => ended.get(column) ?? 'NULL')} RETURNING c.tw_row AS number`),
    beginMany: prepared(batch(begins)),
    finishMany: prepared(batch('_toolwright_finish($1::text::json)')),
    both: prepared(`${batch(begins)} UNION ALL ${batch('_toolwright_finish($3::text::json)')}`),
    claim: prepared(
      `SELECT what, number, attempt, seq, start FROM ${prefix}_toolwright_claim($1::text::bigint, $2::text::json, $3::text,
         $4::text::boolean, $5::text::boolean, $6::text)`,
    ),
    beginTask: prepared(
      `SELECT ${prefix}_toolwright_begin_task($1::text::bigint, $2::text, $3::text, $4::text::bigint, $5::text::bigint,
         $6::text::boolean, $7::text) AS task`,
    ),
    lock: prepared(
      `SELECT token, holder FROM ${prefix}_toolwright_lock($1::text::bigint, $2::text, $3::text, $4::text::bigint,
         $5::text::bigint, $6::text::boolean, $7::text)`,
    ),
    unlock: prepared(
      `DELETE FROM ${prefix}_toolwright_task_locks WHERE run_id = $1::text AND node_id = $2::text
         AND iteration = $3::text::bigint AND token = $4::text::bigint`,
    ),
  }
}
