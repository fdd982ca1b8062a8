/** The functions that write to the tables of threads. Each is one statement, and so one transaction. */
import { threadTables } from './thread-tables.js'

/** The states of SQL by which a function says why it has changed nothing. */
export const THREAD_STATES = {
  TW101: 'THREAD_NOT_FOUND',
  TW102: 'THREAD_CALL_NOT_FOUND',
  TW103: 'THREAD_CALL_STATE',
  TW104: 'THREAD_ATTACHMENT_NOT_FOUND',
  TW105: 'THREAD_DUPLICATE_ID',
  TW106: 'THREAD_LOCKED',
} as const

/**
 * Every statement that makes or completes the tables and their functions, in their order. Each may run again.
 *
 * @param name the name of a table or a function in SQL.
 */
export function threadStatements(name: (table: string) => string): string[] {
  return [...threadTables(name), ...threadFunctions(name)]
}

/**
 * Locks are taken in one order: the owner, the thread, its rows. The row of the thread puts commits one after the other, and
 * leaves alone who writes values.
 */
function threadFunctions(name: (table: string) => string): string[] {
  const raise = (state: string, what: string): string => `RAISE EXCEPTION '%', ${what} USING ERRCODE = '${state}'`
  const find = `SELECT th.id INTO v_thread FROM ${name('threads')} th WHERE th.thread_id = a_thread FOR NO KEY UPDATE;
  IF v_thread IS NULL THEN ${raise('TW101', 'a_thread')}; END IF;`
  // A lease that is over is not locked any more: writers without a pause would keep the takeover, which deletes it, waiting.
  const alive = `PERFORM 1 FROM ${name('owners')} o WHERE o.id = a_owner AND o.expires_at >= clock_timestamp() FOR KEY SHARE OF o;
  IF NOT FOUND THEN ${raise('TW106', 'a_thread')}; END IF;`
  const held = `PERFORM 1 FROM ${name('thread_locks')} l WHERE l.thread = v_thread AND l.owner = a_owner AND l.token = a_token;
  IF NOT FOUND THEN ${raise('TW106', 'a_thread')}; END IF;`
  const now = `(extract(epoch FROM clock_timestamp()) * 1000)::bigint`
  const wrong = (
    call: string,
  ): string => `SELECT c.status INTO v_status FROM ${name('thread_calls')} c WHERE c.thread = v_thread AND c.id = ${call};
    IF v_status IS NULL THEN ${raise('TW102', call)}; END IF;
    ${raise('TW103', `${call} || ' is ' || v_status`)};`
  const taken = `EXISTS (SELECT 1 FROM ${name('thread_locks')} l JOIN ${name('owners')} o ON o.id = l.owner WHERE l.thread = v_thread`
  return [
    // What the dead have staged.
    `CREATE OR REPLACE FUNCTION ${name('thread_sweep')}(a_failure text) RETURNS void LANGUAGE plpgsql AS $fn$
BEGIN
  PERFORM ${name('take_over')}();
  DELETE FROM ${name('thread_files')} f WHERE f.staged_by IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ${name('owners')} o WHERE o.id = f.staged_by);
END $fn$`,
    // The condition of whatever else a worker writes. Without a token it is no worker who writes.
    `CREATE OR REPLACE FUNCTION ${name('thread_fence')}(v_thread bigint, a_owner bigint, a_token bigint) RETURNS boolean LANGUAGE plpgsql AS $fn$
DECLARE a_thread text := v_thread::text;
BEGIN
  IF a_token IS NOT NULL THEN ${alive} ${held} END IF;
  RETURN true;
END $fn$`,
    // Each commit takes the numbers after those of the one before.
    `CREATE OR REPLACE FUNCTION ${name('thread_commit')}(a_thread text, a_owner bigint, a_token bigint, a_id text, a_again boolean, a_changes json)
RETURNS bigint LANGUAGE plpgsql AS $fn$
DECLARE v_thread bigint; v_status text; v_seq bigint; v_end json := a_changes->'finish'; r record;
BEGIN
  IF a_token IS NOT NULL THEN ${alive} END IF;
  ${find}
  IF a_again AND (EXISTS (SELECT 1 FROM ${name('thread_messages')} m WHERE m.thread = v_thread AND m.written_by = a_id)
    OR EXISTS (SELECT 1 FROM ${name('thread_calls')} c WHERE c.thread = v_thread AND (c.written_by = a_id OR c.changed_by = a_id))
    OR EXISTS (SELECT 1 FROM ${name('thread_files')} f WHERE f.thread = v_thread AND f.written_by = a_id)) THEN
    RETURN v_thread;
  END IF;
  IF a_token IS NOT NULL THEN
    ${held}
  ELSIF v_end IS NOT NULL AND ${taken} AND l.owner IS DISTINCT FROM a_owner) THEN
    -- A call that another worker may have begun again.
    ${raise('TW106', 'a_thread')};
  END IF;
  IF v_end IS NOT NULL THEN
    UPDATE ${name('thread_calls')} c SET status = v_end->>'status', result = v_end->>'resultJson', finished_at_ms = ${now}, changed_by = a_id
      WHERE c.thread = v_thread AND c.id = v_end->>'callId' AND c.status = 'running';
    IF NOT FOUND THEN ${wrong("(v_end->>'callId')")} END IF;
  END IF;
  FOR r IN SELECT p.path FROM json_array_elements_text(a_changes->'attachments') AS p(path) LOOP
    UPDATE ${name('thread_files')} f SET staged_by = NULL, written_by = a_id,
        seq = (SELECT coalesce(max(g.seq), 0) + 1 FROM ${name('thread_files')} g WHERE g.thread = v_thread)
      WHERE f.thread = v_thread AND f.path = r.path AND f.staged_by IS NOT NULL AND f.size >= 0;
    IF NOT FOUND THEN ${raise('TW104', 'r.path')}; END IF;
  END LOOP;
  SELECT coalesce(max(m.seq), 0) INTO v_seq FROM ${name('thread_messages')} m WHERE m.thread = v_thread;
  FOR r IN SELECT * FROM json_to_recordset(a_changes->'messages') AS x("id" text, "role" text, "bodyJson" text, "callId" text) LOOP
    v_seq := v_seq + 1;
    INSERT INTO ${name('thread_messages')} (thread, seq, id, role, body, call_id, created_at_ms, written_by)
      VALUES (v_thread, v_seq, r."id", r."role", r."bodyJson", r."callId", ${now}, a_id) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN ${raise('TW105', `'message ' || r."id"`)}; END IF;
  END LOOP;
  SELECT coalesce(max(c.seq), 0) INTO v_seq FROM ${name('thread_calls')} c WHERE c.thread = v_thread;
  FOR r IN SELECT * FROM json_to_recordset(a_changes->'enqueue') AS x("id" text, "name" text, "argumentsJson" text, "queue" text,
    "forceAllow" boolean, "parentCallId" text, "infoJson" text) LOOP
    v_seq := v_seq + 1;
    INSERT INTO ${name('thread_calls')} (thread, seq, id, name, arguments, queue, force_allow, parent_call_id, info, status, attempts, queued_at_us, written_by)
      VALUES (v_thread, v_seq, r."id", r."name", r."argumentsJson", r."queue", r."forceAllow", r."parentCallId", r."infoJson", 'queued', 0,
        (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, a_id) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN ${raise('TW105', `'call ' || r."id"`)}; END IF;
  END LOOP;
  RETURN v_thread;
END $fn$`,
    // Locks of a_own are those that the same owner has given back, or has asked for by this very question.
    `CREATE OR REPLACE FUNCTION ${name('thread_lock')}(a_thread text, a_owner bigint, a_id text, a_own json, a_failure text)
RETURNS TABLE (thread bigint, token bigint) LANGUAGE plpgsql AS $fn$
#variable_conflict use_column
DECLARE v_thread bigint; v_token bigint;
BEGIN
  PERFORM ${name('take_over')}();
  PERFORM 1 FROM ${name('owners')} o WHERE o.id = a_owner FOR KEY SHARE OF o;
  -- The asker itself was taken over. It asks again with a new lease.
  IF NOT FOUND THEN RETURN; END IF;
  ${find}
  IF ${taken} AND NOT (l.owner = a_owner AND l.asked_by IN (SELECT json_array_elements_text(a_own)))) THEN
    ${raise('TW106', 'a_thread')};
  END IF;
  DELETE FROM ${name('thread_files')} f WHERE f.thread = v_thread AND f.staged_by IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM ${name('owners')} o WHERE o.id = f.staged_by);
  INSERT INTO ${name('thread_locks')} AS l (thread, owner, token, asked_by)
    VALUES (v_thread, a_owner, nextval('${name('fence').replaceAll("'", "''")}'), a_id)
    ON CONFLICT (thread) DO UPDATE SET owner = excluded.owner, token = excluded.token, asked_by = excluded.asked_by
    RETURNING l.token INTO v_token;
  RETURN QUERY SELECT v_thread, v_token;
END $fn$`,
    // The next call of a queue (a_call is null), one call, or one that goes back: to 'running' or 'queued'.
    `CREATE OR REPLACE FUNCTION ${name('thread_claim')}(
  a_thread text, a_owner bigint, a_token bigint, a_id text, a_again boolean, a_queue text, a_call text, a_to text)
RETURNS TABLE (thread bigint, seq bigint) LANGUAGE plpgsql AS $fn$
#variable_conflict use_column
DECLARE v_thread bigint; v_status text;
BEGIN
  ${alive}
  ${find}
  ${held}
  IF a_again THEN
    RETURN QUERY SELECT c.thread, c.seq FROM ${name('thread_calls')} c WHERE c.thread = v_thread AND c.changed_by = a_id;
    IF FOUND THEN RETURN; END IF;
  END IF;
  RETURN QUERY UPDATE ${name('thread_calls')} c SET status = a_to, changed_by = a_id,
      attempts = c.attempts + CASE a_to WHEN 'running' THEN 1 ELSE 0 END,
      started_at_ms = CASE a_to WHEN 'running' THEN ${now} ELSE c.started_at_ms END
    WHERE c.thread = v_thread AND c.status = CASE a_to WHEN 'running' THEN 'queued' ELSE 'running' END
      AND c.seq = CASE WHEN a_call IS NULL THEN (
        SELECT min(q.seq) FROM ${name('thread_calls')} q WHERE q.thread = v_thread AND q.queue = a_queue AND q.status = 'queued')
        ELSE (SELECT q.seq FROM ${name('thread_calls')} q WHERE q.thread = v_thread AND q.id = a_call) END
    RETURNING c.thread, c.seq;
  IF NOT FOUND AND a_call IS NOT NULL THEN ${wrong('a_call')} END IF;
END $fn$`,
  ]
}
