/** The tables and functions of a journal in PostgreSQL, and how they come to be. */

import { checked, type Checks, oneOf, optional, parseOptions, text } from '../core/options.js'
import { conversionStatement, DAYS_AHEAD, dayFunctions, dayStatements, type Layout } from './days.js'
import { functionStatements } from './functions.js'
import { goneTable } from './recovery-statements.js'
import { threadStatements } from './threads/thread-schema.js'

/** The version of the schema that this package writes. */
export const SCHEMA_VERSION = 6

/** A name as it stands in SQL. */
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** The columns of `_smithers_tool_calls` in the order in which smithers-orchestrator has them. */
const ENGINE_COLUMNS = [
  'run_id TEXT NOT NULL',
  'node_id TEXT NOT NULL',
  'iteration BIGINT NOT NULL DEFAULT 0',
  'attempt BIGINT NOT NULL',
  'seq BIGINT NOT NULL',
  'call_token TEXT',
  'tool_name TEXT NOT NULL',
  'input_json TEXT',
  'output_json TEXT',
  'started_at_ms BIGINT NOT NULL',
  'finished_at_ms BIGINT',
  'status TEXT NOT NULL',
  'error_json TEXT',
]

/** Columns that an older table lacks, the engine's and ours. */
const addedColumns = (s: string): string[] => [
  'kind TEXT',
  'side_effect BIGINT',
  'idempotent BIGINT',
  'accepts_idempotency_key BIGINT',
  'has_revert BIGINT',
  'idempotency_key TEXT',
  'revert_status TEXT',
  'reverted_at_ms BIGINT',
  'revert_error_json TEXT',
  'forced_past_json TEXT',
  'tw_args_hash TEXT',
  'tw_ordinal BIGINT',
  'tw_output_bytes BIGINT',
  'tw_acted BIGINT',
  'tw_seen TEXT',
  'tw_owner BIGINT',
  'tw_revert_owner BIGINT',
  'tw_call_id TEXT',
  // The order in which transactions began: readers stay behind the oldest one that runs.
  'tw_xid xid8 DEFAULT pg_current_xact_id()',
  // Never used again, and so the one column by which a row is updated.
  `tw_row BIGINT NOT NULL DEFAULT nextval('${s}._toolwright_rows')`,
]

/**
 * Every statement that makes or completes the schema, in their order. Each may run again.
 *
 * The functions run with the rights of their caller. Their settings keep plans that were made for an empty table from
 * scanning a full one.
 */
export function schemaStatements(schema: string, layout: Layout): string[] {
  const s = quoted(schema).replaceAll("'", "''")
  const t = quoted(schema)
  const calls = `${t}._smithers_tool_calls`
  const [isByDay, columns] = [layout === 'days', addedColumns(s)]
  const dayColumn = isByDay ? ', tw_day' : ''
  return [
    `CREATE SCHEMA IF NOT EXISTS ${t}`,
    `CREATE TABLE IF NOT EXISTS ${t}._toolwright_schema (version INT NOT NULL)`,
    `CREATE SEQUENCE IF NOT EXISTS ${t}._toolwright_rows`,
    `CREATE SEQUENCE IF NOT EXISTS ${t}._toolwright_fence`,
    ...(isByDay ? [conversionStatement(t, s, columns)] : []),
    `CREATE TABLE IF NOT EXISTS ${calls} (
  ${[...ENGINE_COLUMNS, ...(isByDay ? ['tw_day DATE NOT NULL'] : [])].join(',\n  ')},
  PRIMARY KEY (run_id, node_id, iteration, attempt, seq${dayColumn})
) ${isByDay ? 'PARTITION BY RANGE (tw_day)' : 'WITH (fillfactor = 70)'}`,
    ...columns.map((column) => `ALTER TABLE ${calls} ADD COLUMN IF NOT EXISTS ${column}`),
    ...(isByDay ? dayStatements(t, s) : []),
    // smithers-orchestrator's name of its index.
    `CREATE UNIQUE INDEX IF NOT EXISTS _smithers_tool_calls_call_token_uidx ON ${calls} (call_token${dayColumn}) WHERE call_token IS NOT NULL`,
    `CREATE UNIQUE INDEX IF NOT EXISTS _toolwright_row_uidx ON ${calls} (tw_row${dayColumn})`,
    `CREATE UNIQUE INDEX IF NOT EXISTS _toolwright_call_id_uidx ON ${calls} (run_id, node_id, iteration, tw_call_id${dayColumn}) WHERE tw_call_id IS NOT NULL`,
    `CREATE INDEX IF NOT EXISTS _toolwright_xid_idx ON ${calls} (tw_xid, tw_row)`,
    // Pages of runs: the rows by time, and the first row of each run.
    `CREATE INDEX IF NOT EXISTS _toolwright_started_idx ON ${calls} (started_at_ms)`,
    `CREATE INDEX IF NOT EXISTS _toolwright_run_started_idx ON ${calls} (run_id, started_at_ms, tw_row)`,
    `CREATE TABLE IF NOT EXISTS ${t}._toolwright_owners (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  host TEXT, pid BIGINT, label TEXT,
  opened_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
  expires_at TIMESTAMPTZ NOT NULL,
  -- All rows without an outcome come after this one, or are named. Claims of older rows name them, and are counted.
  rows_after BIGINT NOT NULL,
  claims BIGINT NOT NULL DEFAULT 0
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01)`,
    `ALTER TABLE ${t}._toolwright_owners ADD COLUMN IF NOT EXISTS open_rows BIGINT[] NOT NULL DEFAULT '{}'`,
    ...goneTable(t),
    `CREATE TABLE IF NOT EXISTS ${t}._toolwright_task_locks (
  run_id TEXT, node_id TEXT, iteration BIGINT,
  owner BIGINT NOT NULL, attempt BIGINT, token BIGINT NOT NULL,
  PRIMARY KEY (run_id, node_id, iteration)
) WITH (autovacuum_vacuum_scale_factor = 0.01)`,
    ...functionStatements(t, s, layout),
    ...(isByDay
      ? [...dayFunctions(t, MIGRATION_LOCK), `DO $days$ BEGIN PERFORM ${t}._toolwright_make_days(${DAYS_AHEAD}); END $days$`]
      : []),
    ...threadStatements((name) => `${t}._toolwright_${name}`),
    `DELETE FROM ${t}._toolwright_schema`,
    `INSERT INTO ${t}._toolwright_schema VALUES (${SCHEMA_VERSION})`,
    // Rows of a dump that was read into a younger server: their transactions lie in its future.
    `UPDATE ${calls} SET tw_xid = '0' WHERE tw_xid > pg_current_xact_id()`,
  ]
}

/** The lock under which one process at a time changes the schema. */
const MIGRATION_LOCK = 7_390_116_902_481

/** One statement, and so one transaction with any client, that brings the schema up to date. */
export function migrationBlock(schema: string, layout: Layout): string {
  return `DO $migrate$ BEGIN\nPERFORM pg_advisory_xact_lock(${MIGRATION_LOCK});\n${schemaStatements(schema, layout).join(';\n')};\nEND $migrate$`
}

/** Options of {@link migrationScript}. */
export interface MigrationOptions {
  /** Whether the calls have a partition for each day. A table without becomes the first partition. @default in one table */
  partition?: 'day' | undefined
}

/**
 * The statements that make the tables of a journal, or bring them up to date, as a script for `psql`.
 *
 * @param schema the schema of the tables. @default 'public'
 * @throws {ToolError} INVALID_INPUT
 */
export function migrationScript(schema = 'public', options: MigrationOptions = {}): string {
  checked('migrationScript', () => text(schema, 'schema'))
  const { partition } = parseOptions('migrationScript', options, migrationChecks)
  const statements = schemaStatements(schema, partition === 'day' ? 'days' : 'table')
  return `BEGIN;\nSELECT pg_advisory_xact_lock(${MIGRATION_LOCK});\n${statements.join(';\n\n')};\nCOMMIT;\n`
}

export const migrationChecks = { partition: optional(oneOf('day')) } satisfies Checks<MigrationOptions>
