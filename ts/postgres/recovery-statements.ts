/**
 * What owners have left that are gone. Whoever needs their tasks and calls takes over at once, which reads no call: an owner is gone when its
 * row is. Its open calls are marked afterwards, outside of everybody's statements and a few thousand rows at a time.
 */

/** The most numbers of rows that an owner names; the others lie above its floor. */
export const MAX_NAMED = 1_000
/** The most rows that a statement of the recovery reads. */
export const PART_ROWS = 5_000

/** How an open call is marked, and which are open. */
export const MARKED_CALL = ["status = 'unknown', error_json = a_failure", "c.status = 'started'"] as const
export const MARKED_REVERT = ["revert_status = 'revert-failed', revert_error_json = a_failure", "c.revert_status = 'reverting'"] as const

/** The change of an owner `o` that has claimed a row which is older than its floor. */
export const claimsOlder = (row: string): string => `claims = o.claims + 1,
    open_rows = CASE WHEN cardinality(o.open_rows) < ${2 * MAX_NAMED} THEN o.open_rows || ${row} ELSE o.open_rows END,
    rows_after = CASE WHEN cardinality(o.open_rows) < ${2 * MAX_NAMED} THEN o.rows_after ELSE least(o.rows_after, ${row} - 1) END`

/** The owners that are gone, and what of their rows has not been looked at. */
export const goneTable = (t: string): string[] => [
  `CREATE TABLE IF NOT EXISTS ${t}._toolwright_gone (
  id BIGINT PRIMARY KEY,
  -- Its open rows are named, or lie between these numbers.
  open_rows BIGINT[] NOT NULL, rows_after BIGINT NOT NULL, rows_to BIGINT NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01)`,
  // Whoever may write owners takes over, too.
  `DO $grants$ DECLARE v_right record; BEGIN
FOR v_right IN SELECT a.grantee::regrole AS role, a.privilege_type AS privilege FROM pg_class c, aclexplode(c.relacl) a
  WHERE c.oid = '${t.replaceAll("'", "''")}._toolwright_owners'::regclass AND a.grantee NOT IN (0, c.relowner)
    AND a.privilege_type IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE') LOOP
  EXECUTE format('GRANT USAGE ON SEQUENCE ${t.replaceAll("'", "''").replaceAll('%', '%%')}._toolwright_rows TO %s', v_right.role);
  EXECUTE format('GRANT %s ON ${t.replaceAll("'", "''").replaceAll('%', '%%')}._toolwright_gone TO %s', v_right.privilege, v_right.role);
END LOOP;
END $grants$`,
]

/**
 * @param s the quoted schema within a string of SQL
 * @param ofDay what leads to the partition of a day, if there are any
 */
export function recoveryStatements(t: string, s: string, ofDay: (table: string, day: string) => string): string[] {
  const isByDay = ofDay('c', 'a_day') !== ''
  const [calls, owners, gone] = [`${t}._smithers_tool_calls`, `${t}._toolwright_owners`, `${t}._toolwright_gone`]
  const marked = (what: string, owner: string, [change, state]: readonly [string, string], rows: string): string =>
    `RETURN QUERY UPDATE ${calls} c SET ${change} WHERE ${rows} AND c.${owner} = v_gone AND ${state} RETURNING '${what}'::text, c.tw_row`
  const both = (rows: string): string =>
    `${marked('call', 'tw_owner', MARKED_CALL, rows)};\n    ${marked('revert', 'tw_revert_owner', MARKED_REVERT, rows)}`
  const ofTask = (owner: string, [change, state]: readonly [string, string]): string => `UPDATE ${calls} c SET ${change}
    WHERE c.run_id = a_run${ofDay('c', 'a_day')} AND c.node_id = a_node AND c.iteration = a_iteration AND ${state}
      AND EXISTS (SELECT 1 FROM ${gone} g WHERE g.id = c.${owner})`
  return [
    // Ends owners whose lease is over. The DELETE waits for the intents of its owner that are on their way; their numbers are lower than the
    // one that is taken after it.
    `CREATE OR REPLACE FUNCTION ${t}._toolwright_take_over()
RETURNS void LANGUAGE plpgsql SET jit = off AS $fn$
DECLARE v_gone bigint; v_after bigint; v_open bigint[];
BEGIN
  FOR v_gone IN SELECT o.id FROM ${owners} o WHERE o.expires_at < clock_timestamp() ORDER BY o.id LOOP
    DELETE FROM ${owners} o WHERE o.id = v_gone AND o.expires_at < clock_timestamp() RETURNING o.rows_after, o.open_rows INTO v_after, v_open;
    IF NOT FOUND THEN CONTINUE; END IF;
    INSERT INTO ${gone} VALUES (v_gone, v_open, v_after, nextval('${s}._toolwright_rows'));
    DELETE FROM ${t}._toolwright_task_locks l WHERE l.owner = v_gone;
  END LOOP;
END $fn$`,
    // The same for the calls of one task, which an attempt that begins has to know.
    `CREATE OR REPLACE FUNCTION ${t}._toolwright_mark_task(a_run text, a_node text, a_iteration bigint, a_failure text${isByDay ? ', a_day date' : ''})
RETURNS void LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $fn$
BEGIN
  ${ofTask('tw_owner', MARKED_CALL)};
  ${ofTask('tw_revert_owner', MARKED_REVERT)};
END $fn$`,
    `DROP FUNCTION IF EXISTS ${t}._toolwright_recover(text)`,
    // Takes over, and marks the next part of what is left.
    `CREATE OR REPLACE FUNCTION ${t}._toolwright_recover(a_failure text, a_rows bigint DEFAULT ${PART_ROWS})
RETURNS TABLE (what text, number bigint) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_custom_plan AS $fn$
DECLARE v_gone bigint; v_open bigint[]; v_after bigint; v_to bigint; v_rows bigint := a_rows;
BEGIN
  PERFORM ${t}._toolwright_take_over();
  FOR v_gone IN SELECT g.id FROM ${gone} g ORDER BY g.id LOOP
    EXIT WHEN v_rows <= 0;
    SELECT g.open_rows, g.rows_after, g.rows_to INTO v_open, v_after, v_to FROM ${gone} g WHERE g.id = v_gone FOR UPDATE;
    IF NOT FOUND THEN CONTINUE; END IF;
    ${both('c.tw_row = ANY (v_open)')};
    v_to := least(v_to, v_after + v_rows);
    ${both('c.tw_row > v_after AND c.tw_row <= v_to')};
    v_rows := v_rows - (v_to - v_after);
    DELETE FROM ${gone} g WHERE g.id = v_gone AND g.rows_to = v_to;
    IF NOT FOUND THEN UPDATE ${gone} g SET open_rows = '{}', rows_after = v_to WHERE g.id = v_gone; END IF;
  END LOOP;
  RETURN QUERY SELECT 'left'::text, count(*) FROM ${gone};
END $fn$`,
  ]
}
