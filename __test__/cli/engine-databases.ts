import { DatabaseSync } from 'node:sqlite'

/** The table of calls as it began, and what smithers-orchestrator 0.32.0 has made of it. */
const FIRST = `run_id TEXT NOT NULL, node_id TEXT NOT NULL, iteration INTEGER NOT NULL DEFAULT 0,
  attempt INTEGER NOT NULL, seq INTEGER NOT NULL, tool_name TEXT NOT NULL, input_json TEXT, output_json TEXT,
  started_at_ms INTEGER NOT NULL, finished_at_ms INTEGER, status TEXT NOT NULL, error_json TEXT`
const LATER = `call_token TEXT, kind TEXT, side_effect INTEGER, idempotent INTEGER, accepts_idempotency_key INTEGER,
  has_revert INTEGER, idempotency_key TEXT, revert_status TEXT, reverted_at_ms INTEGER, revert_error_json TEXT,
  forced_past_json TEXT`

/** Writes a database with a table of 12 or of 23 columns, and these rows in it. */
export function writeEngineDatabase(path: string, columns: 12 | 23, rows: Record<string, string | number | null>[]): void {
  const database = new DatabaseSync(path)
  try {
    const all = columns === 12 ? FIRST : `${FIRST}, ${LATER}`
    database.exec(`CREATE TABLE _smithers_tool_calls (${all}, PRIMARY KEY (run_id, node_id, iteration, attempt, seq))`)
    for (const row of rows) {
      const names = Object.keys(row)
      const marks = names.map(() => '?').join(', ')
      database.prepare(`INSERT INTO _smithers_tool_calls (${names.join(', ')}) VALUES (${marks})`).run(...Object.values(row))
    }
  } finally {
    database.close()
  }
}
