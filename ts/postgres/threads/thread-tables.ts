/** The tables of threads in PostgreSQL. Keys are ordered by their bytes, whatever the collation of the database. */

/** Every statement that makes the tables, in their order. Each may run again. */
export function threadTables(name: (table: string) => string): string[] {
  return [
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
  thread BIGINT PRIMARY KEY REFERENCES ${name('threads')} ON DELETE CASCADE, owner BIGINT NOT NULL, token BIGINT NOT NULL, asked_by TEXT NOT NULL)`,
  ]
}
