/** The tables of threads in PostgreSQL, and the functions that write to them. Each is one statement, and so one transaction. */
import { quoted } from '../schema.js'

/** The states of SQL by which a function says why it has changed nothing. */
export const THREAD_STATES = {
  TW101: 'THREAD_NOT_FOUND',
  TW102: 'THREAD_CALL_NOT_FOUND',
  TW103: 'THREAD_CALL_STATE',
  TW104: 'THREAD_ATTACHMENT_NOT_FOUND',
  TW105: 'THREAD_DUPLICATE_ID',
  TW106: 'THREAD_LOCKED',
} as const

/** Every statement that makes or completes the tables, in their order. Each may run again. */
export function threadStatements(schema: string): string[] {
  const t = quoted(schema)
  const name = (table: string): string => `${t}._toolwright_${table}`
  const raise = (state: string, what: string): string => `RAISE EXCEPTION '%', ${what} USING ERRCODE = '${state}'`
  const find = (lock: string): string => `SELECT th.id INTO v_thread FROM ${name('threads')} th WHERE th.thread_id = a_thread ${lock};
  IF v_thread IS NULL THEN ${raise('TW101', 'a_thread')}; END IF;`
  const held = `PERFORM 1 FROM ${name('thread_locks')} l JOIN ${name('owners')} o ON o.id = l.owner
    WHERE l.thread = v_thread AND l.owner = a_owner AND l.token = a_token FOR KEY SHARE OF o;
  IF NOT FOUND THEN ${raise('TW106', 'a_thread')}; END IF;`
  const now = `(extract(epoch FROM clock_timestamp()) * 1000)::bigint`
  const wrong = (
    call: string,
  ): string => `SELECT c.status INTO v_status FROM ${name('thread_calls')} c WHERE c.thread = v_thread AND c.id = ${call};
    IF v_status IS NULL THEN ${raise('TW102', call)}; END IF;
    ${raise('TW103', `${call} || ' is ' || v_status`)};`
  return [
    `CREATE SEQUENCE IF NOT EXISTS ${name('fence')}`,
    `CREATE TABLE IF NOT EXISTS ${name('threads')} (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, thread_id TEXT COLLATE "C" NOT NULL UNIQUE,
  flow_id TEXT NOT NULL, created_at_ms BIGINT NOT NULL)`,
    `CREATE TABLE IF NOT EXISTS ${name('thread_values')} (
  thread BIGINT NOT NULL REFERENCES ${name('threads')} ON DELETE CASCADE, key TEXT COLLATE "C" NOT NULL, value TEXT NOT NULL,
  PRIMARY KEY (thread, key))`,
    `CREATE TABLE IF NOT EXISTS ${name('thread_messages')} (
  thread BIGINT NOT NULL REFERENCES ${name('threads')} ON DELETE CASCADE, seq BIGINT NOT NULL, id TEXT COLLATE "C" NOT NULL,
  role TEXT NOT NULL, body TEXT NOT NULL, call_id TEXT, created_at_ms BIGINT NOT NULL, written_by TEXT,
  PRIMARY KEY (thread, seq), UNIQUE (thread, id))`,
    `CREATE TABLE IF NOT EXISTS ${name('thread_calls')} (
  thread BIGINT NOT NULL REFERENCES ${name('threads')} ON DELETE CASCADE, seq BIGINT NOT NULL, id TEXT COLLATE "C" NOT NULL,
  name TEXT NOT NULL, arguments TEXT NOT NULL, queue TEXT COLLATE "C" NOT NULL, force_allow BOOLEAN NOT NULL, parent_call_id TEXT,
  info TEXT, status TEXT NOT NULL, attempts BIGINT NOT NULL, result TEXT, queued_at_us BIGINT NOT NULL, started_at_ms BIGINT,
  finished_at_ms BIGINT, written_by TEXT, changed_by TEXT,
  PRIMARY KEY (thread, seq), UNIQUE (thread, id)) WITH (fillfactor = 80)`,
    `CREATE INDEX IF NOT EXISTS _toolwright_thread_calls_queued ON ${name('thread_calls')} (thread, queue, seq) WHERE status = 'queued'`,
    `CREATE INDEX IF NOT EXISTS _toolwright_thread_calls_running ON ${name('thread_calls')} (thread, seq) WHERE status = 'running'`,
    `CREATE TABLE IF NOT EXISTS ${name('thread_files')} (
  thread BIGINT NOT NULL REFERENCES ${name('threads')} ON DELETE CASCADE, path TEXT COLLATE "C" NOT NULL, seq BIGINT, id TEXT NOT NULL,
  name TEXT NOT NULL, mime_type TEXT NOT NULL, size BIGINT NOT NULL, width BIGINT, height BIGINT, created_at_ms BIGINT NOT NULL,
  staged_by BIGINT, written_by TEXT, PRIMARY KEY (thread, path))`,
    `CREATE INDEX IF NOT EXISTS _toolwright_thread_files_staged ON ${name('thread_files')} (staged_by) WHERE staged_by IS NOT NULL`,
    `CREATE TABLE IF NOT EXISTS ${name('thread_file_chunks')} (
  thread BIGINT NOT NULL, file_path TEXT COLLATE "C" NOT NULL, chunk_index BIGINT NOT NULL, data BYTEA NOT NULL,
  PRIMARY KEY (thread, file_path, chunk_index),
  FOREIGN KEY (thread, file_path) REFERENCES ${name('thread_files')} ON DELETE CASCADE)`,
    `CREATE TABLE IF NOT EXISTS ${name('thread_locks')} (
  thread BIGINT PRIMARY KEY REFERENCES ${name('threads')} ON DELETE CASCADE, owner BIGINT NOT NULL, token BIGINT NOT NULL)`,
    // The row of the thread orders the commits: each takes the numbers after those of the one before.
    `CREATE OR REPLACE FUNCTION ${name('thread_commit')}(a_thread text, a_owner bigint, a_token bigint, a_id text, a_again boolean, a_changes json)
RETURNS bigint LANGUAGE plpgsql AS $fn$
DECLARE v_thread bigint; v_status text; v_seq bigint; v_end json := a_changes->'finish'; r record;
BEGIN
  ${find('FOR UPDATE')}
  IF a_again AND (EXISTS (SELECT 1 FROM ${name('thread_messages')} m WHERE m.thread = v_thread AND m.written_by = a_id)
    OR EXISTS (SELECT 1 FROM ${name('thread_calls')} c WHERE c.thread = v_thread AND (c.written_by = a_id OR c.changed_by = a_id))
    OR EXISTS (SELECT 1 FROM ${name('thread_files')} f WHERE f.thread = v_thread AND f.written_by = a_id)) THEN
    RETURN v_thread;
  END IF;
  IF v_end IS NOT NULL THEN
    IF a_token IS NOT NULL THEN ${held} END IF;
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
    `CREATE OR REPLACE FUNCTION ${name('thread_lock')}(a_thread text, a_owner bigint, a_again boolean, a_failure text)
RETURNS bigint LANGUAGE plpgsql AS $fn$
DECLARE v_thread bigint; v_token bigint;
BEGIN
  PERFORM ${name('recover')}(a_failure);
  ${find('FOR UPDATE')}
  PERFORM 1 FROM ${name('owners')} o WHERE o.id = a_owner FOR KEY SHARE OF o;
  IF NOT FOUND THEN RAISE EXCEPTION 'toolwright: another process has taken over' USING ERRCODE = 'TW001'; END IF;
  INSERT INTO ${name('thread_locks')} AS l (thread, owner, token) VALUES (v_thread, a_owner, nextval('${name('fence').replaceAll("'", "''")}'))
  ON CONFLICT (thread) DO UPDATE SET owner = excluded.owner, token = excluded.token
    WHERE NOT EXISTS (SELECT 1 FROM ${name('owners')} o WHERE o.id = l.owner)
  RETURNING l.token INTO v_token;
  IF v_token IS NULL THEN ${raise('TW106', 'a_thread')}; END IF;
  RETURN v_token;
END $fn$`,
    // The next call of a queue (a_call is null), one call, or one that goes back: to 'running' or 'queued'.
    `CREATE OR REPLACE FUNCTION ${name('thread_claim')}(
  a_thread text, a_owner bigint, a_token bigint, a_id text, a_again boolean, a_queue text, a_call text, a_to text)
RETURNS TABLE (thread bigint, seq bigint) LANGUAGE plpgsql AS $fn$
#variable_conflict use_column
DECLARE v_thread bigint; v_status text;
BEGIN
  ${find('FOR UPDATE')}
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
