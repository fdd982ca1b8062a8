// `toolwright calls` on files that somebody made to harm who looks at them: an error, soon.
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { startCli } from '../support/run-cli.ts'
import { makeSandbox } from '../support/sandbox.ts'

/** Ten times what it takes, and on a machine with much else to do. */
const SOON_MS = 30_000

async function answer(path: string, ...options: string[]) {
  const { child, ended } = startCli(['calls', path, ...options])
  const timer = setTimeout(() => child.kill('SIGKILL'), SOON_MS)
  const answered = await ended
  clearTimeout(timer)
  return answered
}

const columns =
  'run_id, node_id, iteration, attempt, seq, tool_name, input_json, output_json, started_at_ms, finished_at_ms, status, error_json'

test.each([
  ['a named pipe', (path: string) => execFileSync('mkfifo', [path]), 'JOURNAL_OPEN_FAILED'],
  ['a directory', (path: string) => mkdirSync(path), 'JOURNAL_OPEN_FAILED'],
  [
    'a pipe in the place of its log',
    (path: string) => {
      writeFileSync(path, '')
      execFileSync('mkfifo', [`${path}-wal`])
    },
    'JOURNAL_OPEN_FAILED',
  ],
  [
    'an endless view',
    (path: string) => {
      const database = new DatabaseSync(path)
      database.exec(`CREATE VIEW _smithers_tool_calls (${columns}) AS
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
      SELECT 'r', 'n', 0, 1, i, 't', '', '', i, i, 'success', NULL FROM n`)
      database.close()
    },
    'JOURNAL_SCHEMA_MISMATCH',
  ],
  ['no database', (path: string) => writeFileSync(path, 'x'.repeat(5000)), 'JOURNAL_NOT_A_DATABASE'],
] as const)('%s', { timeout: 2 * SOON_MS }, async (_, make, code) => {
  const path = join(makeSandbox().root, 'runs.db')
  make(path)
  const answers = await answer(path)
  expect(answers.stderr).toContain(code)
  expect(answers.code).toBe(1)
})

test('a value of 110 MB is never read: its call is listed without it', { timeout: 2 * SOON_MS }, async () => {
  const path = join(makeSandbox().root, 'runs.db')
  const database = new DatabaseSync(path)
  database.exec(`CREATE TABLE _smithers_tool_calls (${columns});
      INSERT INTO _smithers_tool_calls VALUES ('r', 'n', 0, 1, 1, 't', zeroblob(110000000), '', 1, 1, 'success', NULL)`)
  database.close()
  const listed = await answer(path)
  expect(listed.stdout).toContain(' 1 t    success')
  expect(listed.code).toBe(0)
  const whole = await answer(path, '--json')
  expect(whole.stderr).toContain('JOURNAL_')
  expect(whole.code).toBe(1)
})

test('a device', { timeout: 2 * SOON_MS }, async () => {
  const { code, stderr } = await answer('/dev/zero')
  expect(stderr).toContain('a device')
  expect(code).toBe(1)
})
