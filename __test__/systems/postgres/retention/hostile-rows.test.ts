// Rows that a role with INSERT has written, with numbers that no call has: the rest is pruned, archived and shown.
import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { runCli } from '../../../support/run-cli.ts'
import { useServer } from '../servers.ts'
import { ago, recordOld } from './old-calls.ts'

const own = useServer()
const folders: string[] = []
const folder = (): string => folders[folders.push(mkdtempSync(join(tmpdir(), 'toolwright-archive-'))) - 1] as string
afterEach(() => {
  for (const path of folders.splice(0)) rmSync(path, { recursive: true, force: true })
})

const LARGEST = '9223372036854775807'
const SMALLEST = '-9223372036854775808'
const NUMBERS = [
  LARGEST,
  SMALLEST,
  '8640000000000001',
  '-8640000000000001',
  '-62167219200001',
  '253402300800000',
  '9007199254740993',
  '9007199254740995',
  '-1',
]
const COLUMNS = [
  'iteration',
  'attempt',
  'seq',
  'started_at_ms',
  'finished_at_ms',
  'side_effect',
  'idempotent',
  'has_revert',
  'reverted_at_ms',
  'tw_ordinal',
  'tw_output_bytes',
  'tw_acted',
  'tw_row',
]
const NAMES = [
  '',
  '{NULL}',
  'NULL',
  '"',
  '\\',
  '\u001b]0;x\u0007',
  '\u202e\u009b2J',
  "'; DROP TABLE x; --",
  '__proto__',
  '%',
  'x'.repeat(900),
]

describe.each(['table', 'day'] as const)('%s', (layout) => {
  async function hostile(): Promise<{ schema: string; inserted: number; url: string }> {
    const schema = own.schema()
    await recordOld(own, { schema, ...(layout === 'day' && { partition: 'day' as const }) }, [
      { runId: 'old', days: 40, calls: 3 },
      { runId: 'young', days: 3, calls: 5 },
    ])
    const table = `"${schema}"._smithers_tool_calls`
    let inserted = 0
    const insert = async (runId: string, values: Record<string, string>): Promise<void> => {
      const row: Record<string, string> = {
        node_id: `'n'`,
        attempt: '1',
        seq: `${inserted + 1}`,
        tool_name: `'bash'`,
        started_at_ms: '1000',
        finished_at_ms: '2000',
        status: `'success'`,
        ...values,
      }
      if (layout === 'day') {
        await own.pool.query(
          `INSERT INTO "${schema}"._toolwright_run_days SELECT $1, max(tw_day) FROM "${schema}"._toolwright_run_days ON CONFLICT DO NOTHING`,
          [runId],
        )
        row['tw_day'] = `(SELECT tw_day FROM "${schema}"._toolwright_run_days WHERE run_id = $1)`
      }
      await own.pool.query(`INSERT INTO ${table} (run_id, ${Object.keys(row).join(', ')}) VALUES ($1, ${Object.values(row).join(', ')})`, [
        runId,
      ])
      inserted += 1
    }
    for (const column of COLUMNS)
      for (const [index, number] of NUMBERS.entries()) {
        await insert(`${column} ${index}`, { [column]: number }).catch((error: Error) => {
          if (!/duplicate key/u.test(error.message)) throw error
        })
      }
    for (const name of NAMES) await insert(name, { started_at_ms: '5000' })
    await insert('deep', {
      input_json: `repeat('[', 100000)`,
      output_json: `repeat('{"a":', 100000) || '1' || repeat('}', 100000)`,
      error_json: `repeat('[', 100000)`,
    })
    return { schema, inserted, url: `${own.server.url}${own.server.url.includes('?') ? '&' : '?'}schema=${schema}` }
  }
  const runsOf = async (schema: string): Promise<string[]> =>
    (await own.pool.query(`SELECT DISTINCT run_id FROM "${schema}"._smithers_tool_calls ORDER BY 1`)).rows.map(({ run_id: run }) =>
      String(run),
    )

  test('prune removes what is over, and ends', { timeout: 60_000 }, async () => {
    const { schema, url } = await hostile()
    const { code, stderr } = await runCli(['journal', 'prune', url, '--before', '30d'])
    expect([code, stderr]).toEqual([0, ''])
    const left = await runsOf(schema)
    expect(left).toContain('young')
    expect(left).not.toContain('old')
    // What says that it began or ended in the future is not over.
    for (const run of left.filter((name) => name !== 'young')) expect(run).toMatch(/^(?:started|finished|reverted)_at_ms [024567]$/u)
  })

  test('archive writes the rest, and names what it leaves', { timeout: 60_000 }, async () => {
    const { schema, url, inserted } = await hostile()
    const directory = folder()
    const { code, stdout, stderr } = await runCli(['journal', 'archive', url, '--before', '30d', '--to', directory])
    expect(stderr).not.toMatch(/^\s+at |unexpected failure/mu)
    const named = stderr.split('\n').filter((line) => line !== '')
    for (const line of named) expect(line).toMatch(/^toolwright: journal archive: left in the journal: run "started_at_ms \d": /u)
    expect(code).toBe(named.length === 0 ? 0 : 1)
    if (layout === 'table') expect(named).toHaveLength(3)
    const rows = Number(/^(\d+) rows written, and removed\.$/mu.exec(stdout)?.[1])
    const left = (await own.pool.query(`SELECT count(*)::int AS n FROM "${schema}"._smithers_tool_calls`)).rows[0].n as number
    // Each row is in a file, or in the journal.
    expect(rows + left).toBe(inserted + 8)
    expect(globSync('**/*.parquet', { cwd: directory }).length).toBeGreaterThan(0)
    for (const line of [stdout, stderr]) expect(line.replaceAll('\n', '')).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u)
  })

  test('calls and report show them', { timeout: 60_000 }, async () => {
    const { url } = await hostile()
    for (const command of [
      ['calls', url],
      ['calls', url, '--json'],
      ['report', url, '-o', join(folder(), 'page.html')],
    ]) {
      const { stdout, stderr } = await runCli(command)
      expect([command, /^\s+at |unexpected failure/mu.test(stderr), stderr.slice(0, 500)]).toEqual([command, false, expect.any(String)])
      expect(`${stdout}${stderr}`.replaceAll('\n', '')).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u)
      if (command[0] === 'calls') for (const run of ['old', 'young', 'deep']) expect(stdout).toContain(run)
    }
  })
})

test('a row that no client can read stays, and the others are archived', { timeout: 120_000 }, async () => {
  const schema = own.schema()
  await recordOld(own, { schema }, [
    { runId: 'old', days: 40, calls: 3 },
    { runId: 'large', days: 40, calls: 2 },
  ])
  await own.pool.query(
    `UPDATE "${schema}"._smithers_tool_calls SET output_json = repeat('x', 300 << 20) WHERE run_id = 'large' AND seq = 1`,
  )
  const store = own.open({ schema })
  const archived = await store.archive({ beforeMs: ago(30), directory: folder() })
  await store.close()
  expect(archived).toMatchObject({ rows: 3, left: [expect.stringMatching(/^run "large" has a call of more than /u)] })
})
