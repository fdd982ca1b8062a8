/** The functions of a journal in PostgreSQL: what has to be one statement, and so one transaction. */
import { BEGUN_COLUMNS, ENDED_COLUMNS, endedChanges, names, record, selectList, UNSAFE_TO_REPEAT } from './columns.js'
import type { Layout } from './days.js'
import { claimsOlder, recoveryStatements } from './recovery-statements.js'
import { removeStatement } from './remove-statement.js'

/**
 * The functions run with the rights of their caller. Their settings keep plans that were made for an empty table from
 * scanning a full one.
 */
export function functionStatements(t: string, s: string, layout: Layout): string[] {
  const calls = `${t}._smithers_tool_calls`
  const isByDay = layout === 'days'
  /** What leads to the one partition of a run. */
  const ofDay = (table: string, day: string): string => (isByDay ? ` AND ${table}.tw_day = ${day}` : '')
  const dayColumn = isByDay ? 'tw_day, ' : ''
  const owners = `${t}._toolwright_owners`
  const locks = `${t}._toolwright_task_locks`
  // A partition is detached only when nobody holds this lock who has not seen that its day is closing.
  const hold = isByDay ? `LOCK TABLE ${calls} IN ROW EXCLUSIVE MODE;` : ''
  const fence = `PERFORM 1 FROM ${owners} o WHERE o.id = a_writer FOR KEY SHARE OF o;
  IF NOT FOUND THEN RAISE EXCEPTION 'toolwright: another process has taken over' USING ERRCODE = 'TW001'; END IF;`
  // A plan for one day opens one partition, and one for any day all of them. The partition is not read by its day: without statistics few
  // rows are expected of it.
  const byDaySettings = isByDay ? 'SET plan_cache_mode = force_custom_plan SET cpu_index_tuple_cost = 1 ' : ''
  const finish = (condition: string): string =>
    `UPDATE ${calls} c SET ${endedChanges((column) => `e.${column}`).replace(
      '\n  WHERE',
      `\n  FROM json_to_recordset(a_ends) AS e(place int, ${record(ENDED_COLUMNS)})\n  WHERE${condition}`,
    )}
  RETURNING e.place, c.tw_row`
  const finishByDay = `DECLARE v_day date; v_count int; v_found int := 0;
BEGIN
  ${hold}
  FOR v_day IN SELECT DISTINCT r.tw_day FROM json_to_recordset(a_ends) AS e(run_id text) JOIN ${t}._toolwright_run_days r USING (run_id) LOOP
    RETURN QUERY ${finish(' c.tw_day = v_day AND')};
    GET DIAGNOSTICS v_count = ROW_COUNT;
    v_found := v_found + v_count;
  END LOOP;
  -- A row that is not found may be that of a day which is being removed, and then comes back.
  IF v_found < json_array_length(a_ends) THEN
    PERFORM ${t}._toolwright_known_day(e.run_id) FROM json_to_recordset(a_ends) AS e(run_id text);
  END IF;
END`
  /** One read of each partition that has one of the rows. */
  const note = (condition: string): string => `UPDATE ${calls} c SET accepts_idempotency_key = 1
    FROM json_to_recordset(a_notes) AS e(number bigint, owner bigint, start bigint)
    WHERE${condition} c.tw_row = e.number AND c.tw_owner = e.owner AND c.started_at_ms IS NOT DISTINCT FROM e.start
      AND c.status IN ('started', 'intended')`
  const noteByDay = `FOR v_day IN SELECT DISTINCT r.tw_day FROM json_to_recordset(a_notes) AS e(run_id text)
    JOIN ${t}._toolwright_run_days r USING (run_id) LOOP
    ${note(' c.tw_day = v_day AND')};
  END LOOP`
  return [
    // The page of runs before a run: rows by time from its end, of which those are taken that are the first of their run. Its settings keep
    // a table without statistics from being sorted.
    `CREATE OR REPLACE FUNCTION ${t}._toolwright_runs(a_limit bigint, a_before_ms float8, a_started bigint, a_run text)
RETURNS TABLE (run_id text, first bigint) LANGUAGE sql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $fn$
  SELECT c.run_id, c.started_at_ms FROM ${calls} c CROSS JOIN LATERAL (
    SELECT x.tw_row FROM ${calls} x WHERE x.run_id = c.run_id${ofDay('x', 'c.tw_day')} ORDER BY x.started_at_ms, x.tw_row LIMIT 1) f
  WHERE f.tw_row = c.tw_row AND c.started_at_ms <= coalesce(a_started, 9223372036854775807)
    AND c.started_at_ms < coalesce(a_before_ms, 'infinity')
    AND (a_started IS NULL OR (c.started_at_ms, c.run_id COLLATE "C") < (a_started, a_run))
  ORDER BY c.started_at_ms DESC, c.run_id COLLATE "C" DESC LIMIT a_limit
$fn$`,
    ...recoveryStatements(t, s, ofDay),
    `CREATE OR REPLACE FUNCTION ${t}._toolwright_begin(a_writer bigint, a_calls json)
RETURNS TABLE (place int, number bigint) LANGUAGE plpgsql STRICT AS $fn$
BEGIN
  ${hold}
  ${fence}
  RETURN QUERY WITH given AS MATERIALIZED (
    SELECT nextval('${s}._toolwright_rows') AS row_number, b.*
    FROM json_to_recordset(a_calls) AS b(place int, ${record(BEGUN_COLUMNS)})
  ),${
    isByDay
      ? ` days AS MATERIALIZED (SELECT r.run_id, ${t}._toolwright_day(r.run_id) AS tw_day FROM (
    SELECT DISTINCT g.run_id FROM given g ORDER BY g.run_id) r),`
      : ''
  } written AS (
    INSERT INTO ${calls} AS c (tw_row, tw_owner, kind, ${dayColumn}${names(BEGUN_COLUMNS)})
    SELECT g.row_number, a_writer, 'tool', ${dayColumn}${names(BEGUN_COLUMNS, 'g.')} FROM given g${isByDay ? ' JOIN days USING (run_id)' : ''}
    ON CONFLICT DO NOTHING RETURNING c.tw_row
  ) SELECT g.place, g.row_number FROM given g JOIN written w ON w.tw_row = g.row_number;
END $fn$`,
    `CREATE OR REPLACE FUNCTION ${t}._toolwright_finish(a_ends json)
RETURNS TABLE (place int, number bigint) LANGUAGE plpgsql STRICT
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off ${byDaySettings}AS $fn$
${isByDay ? finishByDay : `BEGIN\n  RETURN QUERY ${finish('')};\nEND`} $fn$`,
    // Calls that run and have read their keys.
    `CREATE OR REPLACE FUNCTION ${t}._toolwright_note_keys(a_notes json)
RETURNS void LANGUAGE plpgsql STRICT
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off ${byDaySettings}AS $fn$
${isByDay ? 'DECLARE v_day date;\n' : ''}BEGIN
  ${hold}
  ${isByDay ? noteByDay : note('')};
END $fn$`,
    `CREATE OR REPLACE FUNCTION ${t}._toolwright_lock(
  a_writer bigint, a_run text, a_node text, a_iteration bigint, a_attempt bigint, a_again boolean, a_failure text)
RETURNS TABLE (token bigint, holder text) LANGUAGE plpgsql AS $fn$
DECLARE v_token bigint;
BEGIN
  PERFORM ${t}._toolwright_take_over();
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
    removeStatement(t, isByDay, hold, ofDay),
    // One round trip for all that an attempt has to know, as JSON.
    `CREATE OR REPLACE FUNCTION ${t}._toolwright_begin_task(
  a_writer bigint, a_run text, a_node text, a_iteration bigint, a_wanted bigint, a_again boolean, a_failure text)
RETURNS text LANGUAGE plpgsql AS $fn$
DECLARE v_token bigint; v_holder text; v_last bigint; v_seq bigint; v_attempt bigint; v_before bigint;${isByDay ? ' v_day date;' : ''}
BEGIN
  SELECT l.token, l.holder INTO v_token, v_holder
  FROM ${t}._toolwright_lock(a_writer, a_run, a_node, a_iteration, a_wanted, a_again, a_failure) l;
  IF v_token IS NULL THEN RETURN json_build_object('holder', v_holder)::text; END IF;
  ${hold}${isByDay ? ` v_day := ${t}._toolwright_known_day(a_run);` : ''}
  SELECT c.attempt, c.seq INTO v_last, v_seq FROM ${calls} c
  WHERE c.run_id = a_run${ofDay('c', 'v_day')} AND c.node_id = a_node AND c.iteration = a_iteration ORDER BY c.attempt DESC, c.seq DESC LIMIT 1;
  -- What others have left in this task is unknown from now on, whoever marks the rest.
  IF v_last IS NOT NULL AND EXISTS (SELECT 1 FROM ${t}._toolwright_gone) THEN
    PERFORM ${t}._toolwright_mark_task(a_run, a_node, a_iteration, a_failure${isByDay ? ', v_day' : ''});
  END IF;
  v_attempt := coalesce(a_wanted, coalesce(v_last, 0) + 1);
  v_before := CASE WHEN v_attempt <= v_last THEN v_attempt + 1 ELSE v_attempt END;
  RETURN json_build_object('token', v_token, 'attempt', v_attempt, 'last', v_last, 'seq', v_seq,
    'effects', CASE WHEN v_last IS NULL THEN '[]'::json ELSE (SELECT coalesce(json_agg(q ORDER BY q.attempt, q.seq), '[]'::json) FROM (
      SELECT ${selectList(true)} FROM ${calls} c
      WHERE c.run_id = a_run${ofDay('c', 'v_day')} AND c.node_id = a_node AND c.iteration = a_iteration AND c.attempt < v_before
        AND ${UNSAFE_TO_REPEAT}) q) END,
    'made', CASE WHEN v_attempt <= v_last THEN (SELECT coalesce(json_agg(q ORDER BY q.seq), '[]'::json) FROM (
      SELECT ${selectList(true)} FROM ${calls} c
      WHERE c.run_id = a_run${ofDay('c', 'v_day')} AND c.node_id = a_node AND c.iteration = a_iteration AND c.attempt = v_attempt) q)
      ELSE '[]'::json END)::text;
END $fn$`,
    `CREATE OR REPLACE FUNCTION ${t}._toolwright_claim(
  a_writer bigint, a_call json, a_call_id text, a_repeat boolean, a_again boolean, a_failure text)
RETURNS TABLE (what text, number bigint, attempt bigint, seq bigint, start bigint) LANGUAGE plpgsql AS $fn$
DECLARE v_new record; v_old record; v_seq bigint; v_start bigint; v_tries int := 0;${isByDay ? ' v_day date;' : ''}
BEGIN
  PERFORM ${t}._toolwright_take_over();
  ${hold}
  ${fence}
  SELECT * INTO v_new FROM json_to_record(a_call) AS b(${record(BEGUN_COLUMNS)});${isByDay ? `\n  v_day := ${t}._toolwright_day(v_new.run_id);` : ''}
  LOOP
    SELECT c.* INTO v_old FROM ${calls} c WHERE c.run_id = v_new.run_id${ofDay('c', 'v_day')} AND c.node_id = v_new.node_id
      AND c.iteration = v_new.iteration AND c.tw_call_id = a_call_id FOR UPDATE;
    EXIT WHEN FOUND;
    SELECT coalesce(max(c.seq), 0) + 1 INTO v_seq FROM ${calls} c WHERE c.run_id = v_new.run_id${ofDay('c', 'v_day')}
      AND c.node_id = v_new.node_id AND c.iteration = v_new.iteration AND c.attempt = v_new.attempt;
    v_tries := v_tries + 1;
    RETURN QUERY INSERT INTO ${calls} AS c (tw_owner, kind, tw_call_id, ${dayColumn}${names(BEGUN_COLUMNS)})
      SELECT a_writer, 'tool', a_call_id, ${isByDay ? 'v_day, ' : ''}${BEGUN_COLUMNS.map(([name]) =>
        name === 'seq'
          ? 'v_seq'
          : name === 'call_token'
            ? `CASE WHEN EXISTS (SELECT 1 FROM ${calls} x WHERE x.call_token = v_new.call_token${ofDay('x', 'v_day')}) OR v_tries > 5 THEN NULL ELSE v_new.call_token END`
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
      WHERE c.tw_row = v_old.tw_row${ofDay('c', 'v_day')} AND c.status <> 'unknown';
    RETURN QUERY SELECT 'unknown'::text, v_old.tw_row, v_old.attempt, v_old.seq, v_old.started_at_ms; RETURN;
  END IF;
  v_start := greatest(v_new.started_at_ms, v_old.started_at_ms + 1);
  UPDATE ${calls} c SET status = 'started', started_at_ms = v_start, finished_at_ms = NULL, output_json = NULL, error_json = NULL,
    tw_output_bytes = NULL, tw_acted = NULL, tw_owner = a_writer, accepts_idempotency_key = v_new.accepts_idempotency_key WHERE c.tw_row = v_old.tw_row${ofDay('c', 'v_day')};
  UPDATE ${owners} o SET ${claimsOlder('v_old.tw_row')} WHERE o.id = a_writer;
  RETURN QUERY SELECT 'reclaimed'::text, v_old.tw_row, v_old.attempt, v_old.seq, v_start;
END $fn$`,
  ]
}
