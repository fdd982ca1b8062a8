// Rows that another program has written into a journal, in every column and of every kind: nothing stops what a person looks at.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { ToolError } from '../../ts/core/errors.ts'
import type { Journal } from '../../ts/journal/journal.ts'
import { readableRows, UnreadCalls } from '../../ts/report/readable-calls.ts'
import { recorded } from './recorded-calls.ts'
import { runCli } from '../support/run-cli.ts'
import { makeSandbox } from '../support/sandbox.ts'
import { writeRun } from '../report/recorded-run.ts'

/** What SQLite keeps in a column whatever its type is. */
const VALUES = {
  text: `'not a number'`,
  nan: `'NaN'`,
  largest: '9223372036854775807',
  smallest: '-9223372036854775808',
  real: '1e300',
  infinite: '9e999',
  bytes: `x'ff00fe'`,
  nul: `'a' || char(0) || 'b'`,
  surrogate: `cast(x'eda080' as text)`,
  noText: `cast(x'ff41' as text)`,
  empty: `''`,
  escapes: `char(27) || ']52;c;aGk=' || char(7) || char(155) || char(8238) || char(8232) || char(917569)`,
  'an array that is too deep': `'${'['.repeat(100_000)}${']'.repeat(100_000)}'`,
  'an object that is too deep': `'${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}'`,
  late: '8640000000000001',
  early: '-8640000000000001',
  names: `'{"__proto__":{"x":1},"command":{"toString":1},"path":[],"data":{"exit_code":"x"},"exit_code":1,"message":{},"code":[]}'`,
}
/** Of the columns and values that exist, some rows of a run each: the key of the table forbids equal ones. */
const COLUMNS = `run_id, node_id, iteration, attempt, seq, call_token, tool_name, input_json, output_json, started_at_ms, finished_at_ms,
  status, error_json, kind, side_effect, idempotent, accepts_idempotency_key, has_revert, idempotency_key, revert_status, reverted_at_ms,
  revert_error_json, forced_past_json, tw_args_hash, tw_ordinal, tw_output_bytes, tw_acted`
  .split(',')
  .map((name) => name.trim())

async function journalWith(rows: readonly (readonly [column: string, value: string])[]): Promise<{ path: string; inserted: number }> {
  const path = join(makeSandbox().root, 'runs.db')
  await writeRun(path, { calls: 3 })
  const database = new DatabaseSync(path)
  let inserted = 0
  for (const [index, [column, value]] of rows.entries()) {
    const own: Record<string, string> = { run_id: `'hostile ${index % 7}'`, call_token: 'NULL', seq: `${index + 10}` }
    const values = COLUMNS.map((name) => (name === column ? value : (own[name] ?? name)))
    try {
      database.exec(
        `INSERT INTO _smithers_tool_calls (${COLUMNS.join(', ')}) SELECT ${values.join(', ')} FROM _smithers_tool_calls WHERE run_id = 'run-1' LIMIT 1`,
      )
      inserted += 1
    } catch {
      // A column that takes no NULL.
    }
  }
  database.close()
  return { path, inserted }
}

const ALL = COLUMNS.flatMap((column) => Object.values(VALUES).map((value) => [column, value] as const))
const hasStack = (text: string): boolean => /^\s+at .*[:(]\d+/mu.test(text) || text.includes('unexpected failure')

test('calls, report, audit and spans show the rest, and name what cannot be read', { timeout: 120_000 }, async () => {
  const { path, inserted } = await journalWith(ALL)
  expect(inserted).toBeGreaterThan(400)
  const received: string[] = []
  const collector = createServer((request, response) => {
    request.setEncoding('utf8').on('data', (text: string) => received.push(text))
    request.on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'))
  })
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void collector.close())
  const { port } = collector.address() as AddressInfo
  const page = `${path}.html`
  const commands = [
    ['calls', path],
    ['calls', path, '--json'],
    ['calls', path, '--otlp', `http://127.0.0.1:${port}`, '--inputs', '--outputs'],
    ['report', path, '-o', page],
    ['audit', join(path, '..'), '--journal', path],
  ]
  for (const command of commands) {
    const { code, stdout, stderr } = await runCli(command)
    expect([command[0], hasStack(stderr), stderr.slice(0, 2_000)]).toEqual([command[0], false, expect.any(String)])
    // The empty name of a run, and those that are no text, are named.
    expect([command, code]).toEqual([command, command[0] === 'audit' ? 0 : 1])
    if (command[0] !== 'audit') expect(stderr).toMatch(/^toolwright: (?:calls|report): run "" cannot be read and is left out: /mu)
    // Every character that a terminal would obey is shown as an escape.
    expect(`${stdout}${stderr}`.replaceAll('\n', '')).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u)
    if (command[0] === 'calls' && command.length === 2) for (const run of ['run-1', 'hostile 3']) expect(stdout).toContain(`run ${run}`)
  }
  expect(received.join('').split('"spanId"').length).toBeGreaterThan(inserted * 0.9)
})

test('rows of a batch that cannot be read are read one by one', async () => {
  const outlines = Array.from({ length: 600 }, (_, index) => recorded({ row: index + 1, outputBytes: 100 }))
  const tooLarge = new Set([3, 251, 600])
  const journal = {
    rows: async (numbers: readonly number[]) => {
      if (numbers.some((number) => tooLarge.has(number))) throw new RangeError('Invalid string length')
      return outlines.filter(({ row }) => numbers.includes(row) && row !== 7)
    },
  } as unknown as Journal
  const unread = new UnreadCalls()
  const read: number[] = []
  for await (const batch of readableRows(journal, outlines, unread)) read.push(...batch.map(({ row }) => row))
  expect(read).toEqual(outlines.map(({ row }) => row).filter((row) => !tooLarge.has(row) && row !== 7))
  expect(unread.lines).toEqual([3, 251, 600].map((row) => `call ${row} of run "r1" cannot be read and is left out: Invalid string length`))
})

test('a journal that is gone is no row that cannot be read', async () => {
  const error = new ToolError({ code: 'JOURNAL_CLOSED', summary: 'closed', hint: '', details: {} })
  const unread = new UnreadCalls()
  const read = async () => {
    for await (const batch of readableRows({ rows: () => Promise.reject(error) } as unknown as Journal, [recorded()], unread)) void batch
  }
  await expect(read()).rejects.toBe(error)
})
