/** The tables and functions of a journal in PostgreSQL, and how they come to be. */

import { checked, text } from '../core/options.js'
import { threadStatements } from './threads/thread-schema.js'

/** The version of the schema that this package writes. */
export const SCHEMA_VERSION = 3

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
export function schemaStatements(schema: string): string[] {
  const s = quoted(schema).replaceAll("'", "''")
  const t = quoted(schema)
  const calls = `${t}._smithers_tool_calls`
  return [
    `CREATE SCHEMA IF NOT EXISTS ${t}`,
    `CREATE TABLE IF NOT EXISTS ${t}._toolwright_schema (version INT NOT NULL)`,
    `CREATE SEQUENCE IF NOT EXISTS ${t}._toolwright_rows`,
    `CREATE SEQUENCE IF NOT EXISTS ${t}._toolwright_fence`,
    `CREATE TABLE IF NOT EXISTS ${calls} (
  ${ENGINE_COLUMNS.join(',\n  ')},
  PRIMARY KEY (run_id, node_id, iteration, attempt, seq)
) WITH (fillfactor = 70)`,
    ...addedColumns(s).map((column) => `ALTER TABLE ${calls} ADD COLUMN IF NOT EXISTS ${column}`),
    // smithers-orchestrator's name of its index.
    `CREATE UNIQUE INDEX IF NOT EXISTS _smithers_tool_calls_call_token_uidx ON ${calls} (call_token) WHERE call_token IS NOT NULL`,
    `CREATE UNIQUE INDEX IF NOT EXISTS _toolwright_row_uidx ON ${calls} (tw_row)`,
    `CREATE UNIQUE INDEX IF NOT EXISTS _toolwright_call_id_uidx ON ${calls} (run_id, node_id, iteration, tw_call_id) WHERE tw_call_id IS NOT NULL`,
    `CREATE INDEX IF NOT EXISTS _toolwright_xid_idx ON ${calls} (tw_xid, tw_row)`,
    // Pages of runs: the rows by time, and the first row of each run.
    `CREATE INDEX IF NOT EXISTS _toolwright_started_idx ON ${calls} (started_at_ms)`,
    `CREATE INDEX IF NOT EXISTS _toolwright_run_started_idx ON ${calls} (run_id, started_at_ms, tw_row)`,
    `CREATE TABLE IF NOT EXISTS ${t}._toolwright_owners (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  host TEXT, pid BIGINT, label TEXT,
  opened_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
  expires_at TIMESTAMPTZ NOT NULL,
  -- All rows without an outcome come after this one; claims of older rows lower it, and are counted.
  rows_after BIGINT NOT NULL,
  claims BIGINT NOT NULL DEFAULT 0
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01)`,
    `CREATE TABLE IF NOT EXISTS ${t}._toolwright_task_locks (
  run_id TEXT, node_id TEXT, iteration BIGINT,
  owner BIGINT NOT NULL, attempt BIGINT, token BIGINT NOT NULL,
  PRIMARY KEY (run_id, node_id, iteration)
) WITH (autovacuum_vacuum_scale_factor = 0.01)`,
    ...functionStatements(t, s),
    ...threadStatements((name) => `${t}._toolwright_${name}`),
    `DELETE FROM ${t}._toolwright_schema`,
    `INSERT INTO ${t}._toolwright_schema VALUES (${SCHEMA_VERSION})`,
    // Rows of a dump that was read into a younger server: their transactions lie in its future.
    `UPDATE ${calls} SET tw_xid = '0' WHERE tw_xid > pg_current_xact_id()`,
  ]
}

/** The columns of a call that begins, with the types in which they come as JSON. */
export const BEGUN_COLUMNS = [
  ['run_id', 'text'],
  ['node_id', 'text'],
  ['iteration', 'bigint'],
  ['attempt', 'bigint'],
  ['seq', 'bigint'],
  ['call_token', 'text'],
  ['tool_name', 'text'],
  ['input_json', 'text'],
  ['output_json', 'text'],
  ['started_at_ms', 'bigint'],
  ['finished_at_ms', 'bigint'],
  ['status', 'text'],
  ['error_json', 'text'],
  ['side_effect', 'bigint'],
  ['idempotent', 'bigint'],
  ['accepts_idempotency_key', 'bigint'],
  ['has_revert', 'bigint'],
  ['idempotency_key', 'text'],
  ['tw_args_hash', 'text'],
  ['tw_ordinal', 'bigint'],
  ['tw_output_bytes', 'bigint'],
  ['tw_acted', 'bigint'],
] as const

/** The columns of an outcome, and what finds its row. */
export const ENDED_COLUMNS = [
  ['number', 'bigint'],
  ['owner', 'bigint'],
  ['start', 'bigint'],
  ['status', 'text'],
  ['output_json', 'text'],
  ['error_json', 'text'],
  ['finished_at_ms', 'bigint'],
  ['tw_output_bytes', 'bigint'],
  ['tw_acted', 'bigint'],
] as const

/** The changes of an outcome, from a row `e`. A known outcome is never replaced, and an unknown one by its writer alone. */
export const endedChanges = (e: (column: string) => string): string => `status = ${e('status')}, output_json = ${e('output_json')},
    error_json = ${e('error_json')}, finished_at_ms = ${e('finished_at_ms')}, tw_output_bytes = ${e('tw_output_bytes')},
    tw_acted = ${e('tw_acted')}, revert_status = CASE WHEN c.revert_status IN ('reverting', 'reverted') THEN 'revert-stale'
      ELSE c.revert_status END
  WHERE c.tw_row = ${e('number')} AND c.tw_owner = ${e('owner')} AND c.started_at_ms = ${e('start')}
    AND c.status IN ('started', 'intended', 'unknown')`

/** The longest arguments and errors of an outline. */
const MAX_OUTLINE_BYTES = 64 << 10

/** The columns that a row of a journal is read from, of the table `c`. */
export function selectList(outline: boolean): string {
  const short = (column: string, otherwise: string): string =>
    outline ? `CASE WHEN octet_length(c.${column}) <= ${MAX_OUTLINE_BYTES} THEN c.${column} ${otherwise} END AS ${column}` : `c.${column}`
  return [
    'c.tw_row, c.run_id, c.node_id, c.iteration, c.attempt, c.seq, c.call_token, c.tool_name',
    short('input_json', ''),
    outline ? 'NULL::text AS output_json' : 'c.output_json',
    'c.started_at_ms, c.finished_at_ms, c.status',
    short('error_json', `WHEN c.error_json IS NOT NULL THEN json_build_object('message', left(c.error_json, 1000))::text`),
    'c.kind, c.side_effect, c.idempotent, c.accepts_idempotency_key, c.has_revert, c.idempotency_key, c.revert_status',
    'c.reverted_at_ms, c.revert_error_json, c.forced_past_json, c.tw_args_hash, c.tw_ordinal',
    'coalesce(c.tw_output_bytes, octet_length(c.output_json)) AS tw_output_bytes, c.tw_acted',
    'coalesce(c.tw_output_bytes > coalesce(octet_length(c.output_json), 0), false)::int AS is_cut',
  ].join(', ')
}

/** A side effect that must not be repeated blindly, of the table `c`. */
export const UNSAFE_TO_REPEAT = `(c.side_effect IS NULL OR (c.side_effect <> 0 AND coalesce(c.idempotent, 0) = 0))
    AND coalesce(c.tw_acted, 1) <> 0 AND c.revert_status IS DISTINCT FROM 'reverted'`

const record = (columns: readonly (readonly [string, string])[]): string => columns.map(([name, type]) => `${name} ${type}`).join(', ')
const names = (columns: readonly (readonly [string, string])[], prefix = ''): string => columns.map(([name]) => prefix + name).join(', ')

function functionStatements(t: string, s: string): string[] {
  const calls = `${t}._smithers_tool_calls`
  const owners = `${t}._toolwright_owners`
  const locks = `${t}._toolwright_task_locks`
  const fence = `PERFORM 1 FROM ${owners} o WHERE o.id = a_writer FOR KEY SHARE OF o;
  IF NOT FOUND THEN RAISE EXCEPTION 'toolwright: another process has taken over' USING ERRCODE = 'TW001'; END IF;`
  return [
    // The page of runs before a run: rows by time from its end, of which those are taken that are the first of their run. Its settings keep
    // a table without statistics from being sorted.
    `CREATE OR REPLACE FUNCTION ${t}._toolwright_runs(a_limit bigint, a_before_ms float8, a_started bigint, a_run text)
RETURNS TABLE (run_id text, first bigint) LANGUAGE sql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $fn$
  SELECT c.run_id, c.started_at_ms FROM ${calls} c CROSS JOIN LATERAL (
    SELECT x.tw_row FROM ${calls} x WHERE x.run_id = c.run_id ORDER BY x.started_at_ms, x.tw_row LIMIT 1) f
  WHERE f.tw_row = c.tw_row AND c.started_at_ms <= coalesce(a_started, 9223372036854775807)
    AND c.started_at_ms < coalesce(a_before_ms, 'infinity')
    AND (a_started IS NULL OR (c.started_at_ms, c.run_id COLLATE "C") < (a_started, a_run))
  ORDER BY c.started_at_ms DESC, c.run_id COLLATE "C" DESC LIMIT a_limit
$fn$`,
    // Takes over the rows of owners whose lease has ended. The DELETE waits for the intents of its owner that are on their way;
    // the UPDATE after it, with a newer snapshot, sees them.
    `CREATE OR REPLACE FUNCTION ${t}._toolwright_recover(a_failure text)
RETURNS TABLE (what text, number bigint) LANGUAGE plpgsql SET enable_seqscan = off AS $fn$
DECLARE v_gone bigint; v_after bigint;
BEGIN
  FOR v_gone IN SELECT o.id FROM ${owners} o WHERE o.expires_at < clock_timestamp() ORDER BY o.id LOOP
    DELETE FROM ${owners} o WHERE o.id = v_gone AND o.expires_at < clock_timestamp() RETURNING o.rows_after INTO v_after;
    IF NOT FOUND THEN CONTINUE; END IF;
    RETURN QUERY UPDATE ${calls} c SET status = 'unknown', error_json = a_failure
      WHERE c.tw_row > v_after AND c.tw_owner = v_gone AND c.status = 'started' RETURNING 'call'::text, c.tw_row;
    RETURN QUERY UPDATE ${calls} c SET revert_status = 'revert-failed', revert_error_json = a_failure
      WHERE c.tw_row > v_after AND c.tw_revert_owner = v_gone AND c.revert_status = 'reverting' RETURNING 'revert'::text, c.tw_row;
    DELETE FROM ${locks} l WHERE l.owner = v_gone;
  END LOOP;
END $fn$`,
    `CREATE OR REPLACE FUNCTION ${t}._toolwright_begin(a_writer bigint, a_calls json)
RETURNS TABLE (place int, number bigint) LANGUAGE plpgsql STRICT AS $fn$
BEGIN
  ${fence}
  RETURN QUERY WITH given AS MATERIALIZED (
    SELECT nextval('${s}._toolwright_rows') AS row_number, b.*
    FROM json_to_recordset(a_calls) AS b(place int, ${record(BEGUN_COLUMNS)})
  ), written AS (
    INSERT INTO ${calls} AS c (tw_row, tw_owner, kind, ${names(BEGUN_COLUMNS)})
    SELECT g.row_number, a_writer, 'tool', ${names(BEGUN_COLUMNS, 'g.')} FROM given g
    ON CONFLICT DO NOTHING RETURNING c.tw_row
  ) SELECT g.place, g.row_number FROM given g JOIN written w ON w.tw_row = g.row_number;
END $fn$`,
    `CREATE OR REPLACE FUNCTION ${t}._toolwright_finish(a_ends json)
RETURNS TABLE (place int, number bigint) LANGUAGE plpgsql STRICT
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $fn$
BEGIN
  RETURN QUERY UPDATE ${calls} c SET ${endedChanges((column) => `e.${column}`).replace(
    '\n  WHERE',
    `\n  FROM json_to_recordset(a_ends) AS e(place int, ${record(ENDED_COLUMNS)})\n  WHERE`,
  )}
  RETURNING e.place, c.tw_row;
END $fn$`,
    `CREATE OR REPLACE FUNCTION ${t}._toolwright_lock(
  a_writer bigint, a_run text, a_node text, a_iteration bigint, a_attempt bigint, a_again boolean, a_failure text)
RETURNS TABLE (token bigint, holder text) LANGUAGE plpgsql AS $fn$
DECLARE v_token bigint;
BEGIN
  PERFORM ${t}._toolwright_recover(a_failure);
  ${fence}
  INSERT INTO ${locks} AS l (run_id, node_id, iteration, owner, attempt, token)
  VALUES (a_run, a_node, a_iteration, a_writer, a_attempt, nextval('${s}._toolwright_fence'))
  ON CONFLICT (run_id, node_id, iteration) DO UPDATE
    SET owner = excluded.owner, attempt = excluded.attempt, token = excluded.token
    WHERE NOT EXISTS (SELECT 1 FROM ${owners} o WHERE o.id = l.owner) OR (a_again AND l.owner = a_writer)
  RETURNING l.token INTO v_token;
  IF v_token IS NOT NULL THEN
    RETURN QUERY SELECT v_token, NULL::text;
  ELSE
    RETURN QUERY SELECT NULL::bigint, coalesce((
      SELECT 'process ' || o.pid || ' on ' || o.host FROM ${locks} l JOIN ${owners} o ON o.id = l.owner
      WHERE l.run_id = a_run AND l.node_id = a_node AND l.iteration = a_iteration), 'another process');
  END IF;
END $fn$`,
    // One round trip for all that an attempt has to know, as JSON.
    `CREATE OR REPLACE FUNCTION ${t}._toolwright_begin_task(
  a_writer bigint, a_run text, a_node text, a_iteration bigint, a_wanted bigint, a_again boolean, a_failure text)
RETURNS text LANGUAGE plpgsql AS $fn$
DECLARE v_token bigint; v_holder text; v_last bigint; v_seq bigint; v_attempt bigint; v_before bigint;
BEGIN
  SELECT l.token, l.holder INTO v_token, v_holder
  FROM ${t}._toolwright_lock(a_writer, a_run, a_node, a_iteration, a_wanted, a_again, a_failure) l;
  IF v_token IS NULL THEN RETURN json_build_object('holder', v_holder)::text; END IF;
  SELECT c.attempt, c.seq INTO v_last, v_seq FROM ${calls} c
  WHERE c.run_id = a_run AND c.node_id = a_node AND c.iteration = a_iteration ORDER BY c.attempt DESC, c.seq DESC LIMIT 1;
  v_attempt := coalesce(a_wanted, coalesce(v_last, 0) + 1);
  v_before := CASE WHEN v_attempt <= v_last THEN v_attempt + 1 ELSE v_attempt END;
  RETURN json_build_object('token', v_token, 'attempt', v_attempt, 'last', v_last, 'seq', v_seq,
    'effects', CASE WHEN v_last IS NULL THEN '[]'::json ELSE (SELECT coalesce(json_agg(q ORDER BY q.attempt, q.seq), '[]'::json) FROM (
      SELECT ${selectList(true)} FROM ${calls} c
      WHERE c.run_id = a_run AND c.node_id = a_node AND c.iteration = a_iteration AND c.attempt < v_before
        AND ${UNSAFE_TO_REPEAT}) q) END,
    'made', CASE WHEN v_attempt <= v_last THEN (SELECT coalesce(json_agg(q ORDER BY q.seq), '[]'::json) FROM (
      SELECT ${selectList(true)} FROM ${calls} c
      WHERE c.run_id = a_run AND c.node_id = a_node AND c.iteration = a_iteration AND c.attempt = v_attempt) q)
      ELSE '[]'::json END)::text;
END $fn$`,
    `CREATE OR REPLACE FUNCTION ${t}._toolwright_claim(
  a_writer bigint, a_call json, a_call_id text, a_repeat boolean, a_again boolean, a_failure text)
RETURNS TABLE (what text, number bigint, attempt bigint, seq bigint, start bigint) LANGUAGE plpgsql AS $fn$
DECLARE v_new record; v_old record; v_seq bigint; v_start bigint; v_tries int := 0;
BEGIN
  PERFORM ${t}._toolwright_recover(a_failure);
  ${fence}
  SELECT * INTO v_new FROM json_to_record(a_call) AS b(${record(BEGUN_COLUMNS)});
  LOOP
    SELECT c.* INTO v_old FROM ${calls} c WHERE c.run_id = v_new.run_id AND c.node_id = v_new.node_id
      AND c.iteration = v_new.iteration AND c.tw_call_id = a_call_id FOR UPDATE;
    EXIT WHEN FOUND;
    SELECT coalesce(max(c.seq), 0) + 1 INTO v_seq FROM ${calls} c WHERE c.run_id = v_new.run_id
      AND c.node_id = v_new.node_id AND c.iteration = v_new.iteration AND c.attempt = v_new.attempt;
    v_tries := v_tries + 1;
    RETURN QUERY INSERT INTO ${calls} AS c (tw_owner, kind, tw_call_id, ${names(BEGUN_COLUMNS)})
      SELECT a_writer, 'tool', a_call_id, ${BEGUN_COLUMNS.map(([name]) =>
        name === 'seq'
          ? 'v_seq'
          : name === 'call_token'
            ? `CASE WHEN EXISTS (SELECT 1 FROM ${calls} x WHERE x.call_token = v_new.call_token) OR v_tries > 5 THEN NULL ELSE v_new.call_token END`
            : `v_new.${name}`,
      ).join(', ')}
      ON CONFLICT DO NOTHING RETURNING 'claimed'::text, c.tw_row, c.attempt, c.seq, c.started_at_ms;
    IF FOUND THEN RETURN; END IF;
    -- Another call took the number, or the id, meanwhile.
    IF v_tries > 1000 THEN RAISE EXCEPTION 'toolwright: the call cannot be numbered' USING ERRCODE = '40001'; END IF;
  END LOOP;
  IF v_old.tool_name <> v_new.tool_name OR v_old.tw_args_hash <> v_new.tw_args_hash THEN
    RETURN QUERY SELECT 'differs'::text, v_old.tw_row, v_old.attempt, v_old.seq, v_old.started_at_ms; RETURN;
  END IF;
  IF v_old.status IN ('success', 'succeeded') OR (v_old.status = 'error' AND coalesce(v_old.tw_acted, 1) <> 0) THEN
    RETURN QUERY SELECT 'recorded'::text, v_old.tw_row, v_old.attempt, v_old.seq, v_old.started_at_ms; RETURN;
  END IF;
  IF v_old.status IN ('started', 'intended') AND EXISTS (SELECT 1 FROM ${owners} o WHERE o.id = v_old.tw_owner) THEN
    -- The answer to this very claim may have been lost on its way.
    RETURN QUERY SELECT CASE WHEN a_again AND v_old.tw_owner = a_writer AND v_old.started_at_ms = v_new.started_at_ms
      THEN 'claimed' ELSE 'running' END::text, v_old.tw_row, v_old.attempt, v_old.seq, v_old.started_at_ms; RETURN;
  END IF;
  IF v_old.status <> 'error' AND NOT a_repeat THEN
    UPDATE ${calls} c SET status = 'unknown', error_json = coalesce(c.error_json, a_failure)
      WHERE c.tw_row = v_old.tw_row AND c.status <> 'unknown';
    RETURN QUERY SELECT 'unknown'::text, v_old.tw_row, v_old.attempt, v_old.seq, v_old.started_at_ms; RETURN;
  END IF;
  v_start := greatest(v_new.started_at_ms, v_old.started_at_ms + 1);
  UPDATE ${calls} c SET status = 'started', started_at_ms = v_start, finished_at_ms = NULL, output_json = NULL, error_json = NULL,
    tw_output_bytes = NULL, tw_acted = NULL, tw_owner = a_writer WHERE c.tw_row = v_old.tw_row;
  UPDATE ${owners} o SET rows_after = least(o.rows_after, v_old.tw_row - 1), claims = o.claims + 1 WHERE o.id = a_writer;
  RETURN QUERY SELECT 'reclaimed'::text, v_old.tw_row, v_old.attempt, v_old.seq, v_start;
END $fn$`,
  ]
}

/** The lock under which one process at a time changes the schema. */
const MIGRATION_LOCK = 7_390_116_902_481

/** One statement, and so one transaction with any client, that brings the schema up to date. */
export function migrationBlock(schema: string): string {
  return `DO $migrate$ BEGIN\nPERFORM pg_advisory_xact_lock(${MIGRATION_LOCK});\n${schemaStatements(schema).join(';\n')};\nEND $migrate$`
}

/**
 * The statements that make the tables of a journal, or bring them up to date, as a script for `psql`.
 *
 * @param schema the schema of the tables. @default 'public'
 * @throws {ToolError} INVALID_INPUT
 */
export function migrationScript(schema = 'public'): string {
  checked('migrationScript', () => text(schema, 'schema'))
  return `BEGIN;\nSELECT pg_advisory_xact_lock(${MIGRATION_LOCK});\n${schemaStatements(schema).join(';\n\n')};\nCOMMIT;\n`
}
