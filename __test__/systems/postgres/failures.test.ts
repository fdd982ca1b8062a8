import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createTools, defineTool, type Journal, openJournal, runTask } from 'toolwright'
import { callOnce } from 'toolwright/durable'
import { postgresStore } from 'toolwright/postgres'
import { Pool } from 'pg'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { runCli } from '../../support/run-cli.ts'
import { makeSandbox } from '../../support/sandbox.ts'
import { cuttingProxy } from './cutting-proxy.ts'
import { opened, useServer } from './servers.ts'

const own = useServer()
const address = (user: string, database = 'postgres', more = ''): string =>
  `postgres://${user}@/${database}?host=${encodeURIComponent(own.server.socket.host)}${more}`
const codeOf = async (opening: Promise<Journal>): Promise<unknown> => {
  try {
    await (await opening).close()
    return undefined
  } catch (error) {
    return (error as { code?: unknown }).code
  }
}

describe('a journal at an address', () => {
  test('is opened, written, read by the commands, migrated and pruned', async () => {
    const schema = own.schema()
    const where = address('toolwright', 'postgres', `&schema=${schema}`)
    expect(await codeOf(openJournal(where, { readOnly: true }))).toBe('JOURNAL_NOT_FOUND')
    expect(await runCli(['calls', where])).toMatchObject({ code: 1, stderr: expect.stringContaining('JOURNAL_NOT_FOUND') })
    expect(await runCli(['journal', 'migrate', where])).toMatchObject({ code: 0, stdout: 'The tables are up to date.\n' })
    const sandbox = makeSandbox()
    const journal = await openJournal(where)
    expect(journal.location).not.toContain('?')
    const { write } = createTools({ rootDir: sandbox.root })
    await runTask({ journal, runId: 'run', nodeId: 'notes' }, () => write.execute({ path: 'notes.txt', content: 'done' }))
    await journal.close()
    const { stdout } = await runCli(['calls', where, '--json'])
    expect(JSON.parse(stdout)).toMatchObject({ runId: 'run', toolName: 'write', status: 'success' })
    expect(await runCli(['journal', 'prune', where, '--before', '1h', '--json'])).toMatchObject({ stdout: '{"removed":0}\n' })
    expect(await runCli(['journal', 'prune', where, '--before', '2999-01-01'])).toMatchObject({ stdout: '1 rows removed.\n' })
    expect((await runCli(['calls', where])).stdout).toContain('No calls are recorded')
  })

  test('is partitioned by days and archived by the commands', async () => {
    const schema = own.schema()
    const where = address('toolwright', 'postgres', `&schema=${schema}`)
    const directory = join(makeSandbox().root, 'calls')
    const journal = await openJournal(where)
    await journal.insertToolCall({ runId: 'r', nodeId: 'n', attempt: 1, seq: 1, toolName: 'pay', status: 'success', sideEffect: true })
    await journal.close()
    expect(await runCli(['journal', 'migrate', where, '--partition', 'day'])).toMatchObject({
      code: 0,
      stdout: 'The tables are up to date.\n',
    })
    const archive = ['journal', 'archive', where, '--before', '2999-01-01', '--to', directory]
    expect(await runCli([...archive, '--keep'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/day=[\d-]+\/calls-[\w-]+\.parquet\n1 rows written\.\n$/u),
    })
    expect(await runCli([...archive, '--json'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\{"rows":1,"files":\[".*"\],"left":\[\]\}\n$/u),
    })
    expect(await runCli(['calls', where])).toMatchObject({ stdout: expect.stringContaining('No calls are recorded') })
    expect(await runCli(['journal', 'archive', where, '--before', '1h'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--to <folder>'),
    })
    expect(await runCli(['journal', 'prune', where, '--before', '1h', '--keep'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('belongs to archive'),
    })
    expect(await runCli(['journal', 'migrate', where, '--partition', 'hour'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('takes day'),
    })
  })

  test('has its unknown and stuck calls listed and settled by the command', async () => {
    const where = address('toolwright', 'postgres', `&schema=${own.schema()}`)
    const journal = await openJournal(where)
    const call = { runId: 'run', nodeId: 'n', attempt: 1, toolName: 'pay', argsHash: 'x', sideEffect: true }
    const { claimed } = (await journal.claimCall({ ...call, callId: 'c1', callToken: 'c1' })) as { claimed: never }
    await journal.updateToolCall(claimed, { status: 'unknown' })
    await journal.claimCall({ ...call, callId: 'c2', callToken: 'c2' })
    const listed = await runCli(['calls', 'settle', where, '--json'])
    expect(
      listed.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toMatchObject([
      { callId: 'c1', status: 'unknown' },
      { callId: 'c2', status: 'started' },
    ])
    const settle = (id: string, ...as: string[]) =>
      runCli(['calls', 'settle', where, '--run', 'run', '--call', id, '--by', 'ada', '--as', ...as])
    expect(await settle('c1', 'done', '--output', '{"paid":true}')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('settled as done'),
    })
    expect(await settle('c2', 'not-done')).toMatchObject({ code: 0 })
    expect((await settle('c1', 'failed')).code).toBe(1)
    expect((await runCli(['calls', 'settle', where])).stdout).toBe('Every call has a known outcome.\n')
    // Whoever executes them again gets the one, and makes the other.
    expect(await journal.claimCall({ ...call, callId: 'c1' })).toMatchObject({ recorded: { status: 'success' } })
    expect(await journal.claimCall({ ...call, callId: 'c2' })).toHaveProperty('claimed')
    await journal.close()
  })

  test('is refused when it is opened, where the database cannot keep every character', async () => {
    await own.pool.query(`CREATE DATABASE latin1 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`)
    expect(await codeOf(openJournal(address('toolwright', 'latin1')))).toBe('JOURNAL_OPEN_FAILED')
  })

  test.each([
    ['no server listens', () => 'postgres://toolwright@127.0.0.1:1/postgres', 'JOURNAL_UNREACHABLE'],
    ['no host has the name', () => 'postgres://toolwright@nowhere.invalid/postgres', 'JOURNAL_UNREACHABLE'],
    ['there is no such user', () => address('nobody'), 'JOURNAL_OPEN_FAILED'],
    ['there is no such database', () => address('toolwright', 'nothing'), 'JOURNAL_OPEN_FAILED'],
    ['the address is none', () => 'postgres://host:port/database', 'JOURNAL_LOCATION_INVALID'],
  ])('%s', async (_, where, code) => {
    expect(await codeOf(openJournal(where()))).toBe(code)
  })

  test('no password is in a message', async () => {
    const where = 'postgres://user:secret@127.0.0.1:1/db?password=secret'
    const error: unknown = await openJournal(where).catch((reason: unknown) => reason)
    expect(JSON.stringify([String(error), error])).not.toContain('secret')
  })
})

describe('rights and schemas', () => {
  test('who may not make tables is told so; who may use them needs no more than is documented', async () => {
    const schema = own.schema()
    const admin = own.pool
    await admin.query(`CREATE ROLE least LOGIN; CREATE SCHEMA "${schema}"`)
    const pool = new Pool({ ...own.server.socket, user: 'least', max: 4 })
    expect(await codeOf(opened2(pool, schema))).toBe('JOURNAL_READ_ONLY')
    await own.open({ schema }).migrate()
    await admin.query(`GRANT USAGE ON SCHEMA "${schema}" TO least;
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "${schema}" TO least;
      GRANT USAGE ON ALL SEQUENCES IN SCHEMA "${schema}" TO least;
      REVOKE INSERT, UPDATE, DELETE ON "${schema}"._toolwright_schema FROM least`)
    const journal = await openJournal(postgresStore(pool, { schema, migrate: false }))
    await runTask({ journal, runId: 'run', nodeId: 'node' }, async () => {
      const call = { runId: 'run', nodeId: 'node', attempt: 1, seq: 1, toolName: 'pay', sideEffect: true }
      await journal.updateToolCall(await journal.insertToolCall(call), { status: 'success' })
      await journal.claimCall({ ...call, callId: 'call' })
    })
    await journal.recover()
    await journal.close()
    await pool.end()
  })

  const opened2 = async (pool: Pool, schema: string): Promise<Journal> => {
    const journal = await openJournal(postgresStore(pool, { schema }))
    await journal.lastRow()
    return journal
  }

  test('an older schema is completed, or told of; a newer one is left alone', async () => {
    const schema = own.schema()
    await own.open({ schema }).migrate()
    await own.pool.query(`UPDATE "${schema}"._toolwright_schema SET version = 0; DROP FUNCTION "${schema}"._toolwright_finish`)
    const kept = await opened(own.open({ schema, migrate: false }))
    await expect(kept.lastRow()).rejects.toMatchObject({ code: 'JOURNAL_SCHEMA_MISMATCH', hint: expect.stringContaining('migrate') })
    await (await opened(own.open({ schema }))).recover()
    await own.pool.query(`UPDATE "${schema}"._toolwright_schema SET version = 999`)
    const newer = await opened(own.open({ schema }))
    await expect(newer.lastRow()).rejects.toMatchObject({ code: 'JOURNAL_SCHEMA_MISMATCH', details: { version: 999 } })
  })

  test("a table of the engine's own, without our columns, is completed", async () => {
    const schema = own.schema()
    await own.pool
      .query(`CREATE SCHEMA "${schema}"; CREATE TABLE "${schema}"._smithers_tool_calls (run_id TEXT NOT NULL, node_id TEXT NOT NULL,
      iteration BIGINT NOT NULL DEFAULT 0, attempt BIGINT NOT NULL, seq BIGINT NOT NULL, call_token TEXT, tool_name TEXT NOT NULL, input_json TEXT,
      output_json TEXT, started_at_ms BIGINT NOT NULL, finished_at_ms BIGINT, status TEXT NOT NULL, error_json TEXT,
      PRIMARY KEY (run_id, node_id, iteration, attempt, seq));
      INSERT INTO "${schema}"._smithers_tool_calls (run_id, node_id, attempt, seq, tool_name, input_json, started_at_ms, status, output_json)
      VALUES ('run', 'node', 1, 1, 'pay', '{"n":1}', 5, 'succeeded', '1')`)
    const journal = await opened(own.open({ schema }))
    const { nativeArgsHash } = await import('../../../ts/core/native.ts')
    const task = { runId: 'run', nodeId: 'node', iteration: 0 }
    expect(await journal.listRun('run')).toMatchObject([{ status: 'success', statusText: 'succeeded', sideEffect: null, row: 1 }])
    expect(await journal.recordedCall(task, 'pay', await nativeArgsHash('{ "n": 1.0 }'), 1)).toMatchObject({ outputJson: '1' })
    expect(await journal.priorEffects(task, 2)).toHaveLength(1)
    await journal.close()
  })

  test.each([
    ['printed', []],
    ['printed by days', ['--partition', 'day']],
    ['it\'s 100 %s "quoted"', ['--partition', 'day']],
  ])('the printed script makes the same as the command: %s', async (schema, more) => {
    const { stdout } = await runCli(['journal', 'migrate', '--print', '--schema', schema, ...more])
    await own.pool.query(stdout)
    await own.pool.query(stdout)
    const journal = await openJournal(postgresStore(own.pool, { schema, migrate: false }))
    await (await journal.beginTask({ runId: 'run', nodeId: 'node', iteration: 0 })).lock.release()
    await journal.insertToolCall({ runId: 'run', nodeId: 'node', attempt: 1, seq: 1, toolName: 'pay', status: 'success', sideEffect: true })
    expect(await journal.listRun('run')).toHaveLength(1)
    await journal.close()
    const store = postgresStore(own.pool, { schema })
    expect(await store.prune({ beforeMs: Date.now() + 60_000 })).toBe(1)
    await store.close()
  })
})

describe('nothing is done that cannot be recorded', () => {
  const writes = async (journal: Journal): Promise<{ code: unknown; isThere: boolean }> => {
    const sandbox = makeSandbox()
    const { write } = createTools({ rootDir: sandbox.root, journal, runId: 'run' })
    const code = await Promise.resolve(write.execute({ path: 'a.txt', content: 'a' })).then(
      () => undefined,
      (error: unknown) => (error as { code?: unknown }).code,
    )
    return { code, isThere: existsSync(join(sandbox.root, 'a.txt')) }
  }

  test('on a server that is read-only', async () => {
    const schema = own.schema()
    await own.open({ schema }).migrate()
    const pool = new Pool({ ...own.server.socket, max: 2, options: '-c default_transaction_read_only=on' })
    const journal = await openJournal(postgresStore(pool, { schema }))
    expect(await journal.listRuns()).toEqual([])
    expect(await writes(journal)).toEqual({ code: 'JOURNAL_READ_ONLY', isThere: false })
    await journal.close()
    await pool.end()
  })

  test('when the server goes away, after the patience; and it is done when it is back', { timeout: 60_000 }, async () => {
    const journal = await opened(own.open({ patienceMs: 700, leaseMs: 60_000 }))
    await journal.recover()
    await own.server.crash()
    expect(await writes(journal)).toEqual({ code: 'JOURNAL_UNREACHABLE', isThere: false })
    await own.server.start()
    expect(await writes(journal)).toEqual({ code: undefined, isThere: true })
    await journal.close()
  })

  test('when the server cancels the statement', async () => {
    const schema = own.schema()
    await own.open({ schema }).migrate()
    const pool = new Pool({ ...own.server.socket, max: 4, options: '-c statement_timeout=200' })
    const journal = await openJournal(postgresStore(pool, { schema }))
    await journal.recover()
    const pay = defineTool({
      name: 'pay',
      schema: z.object({}),
      sideEffect: true,
      usesIdempotencyKey: false,
      execute: () => effects.push(1),
    })
    const effects: number[] = []
    const call = { runId: 'run', callId: 'call', tool: pay, input: {} }
    const maintenance = await own.pool.connect()
    await maintenance.query(`BEGIN; LOCK TABLE "${schema}"._smithers_tool_calls IN ACCESS EXCLUSIVE MODE`)
    await expect(callOnce(journal, call)).rejects.toMatchObject({ code: 'JOURNAL_BUSY', details: { sqlState: '57014' } })
    expect(await writes(journal)).toEqual({ code: 'JOURNAL_BUSY', isThere: false })
    await maintenance.query('COMMIT')
    maintenance.release()
    expect(effects).toEqual([])
    expect(await callOnce(journal, call)).toBe(1)
    await journal.close()
    await pool.end()
  })

  // The client is made up: no disk here can be filled.
  test('when the disk of the server is full', async () => {
    let isFull = false
    const schema = own.schema()
    const client = {
      query: async (text: string, values: readonly (string | null)[]) => {
        if (isFull && text.startsWith('INSERT')) throw Object.assign(new Error('could not extend file'), { code: '53100' })
        return (await own.pool.query(text, [...values])).rows
      },
    }
    const journal = await openJournal(postgresStore(client, { schema }))
    await journal.recover()
    isFull = true
    expect(await writes(journal)).toEqual({ code: 'JOURNAL_DISK_FULL', isThere: false })
    await journal.close()
  })
})

test('ids that the server cannot keep are refused; names that a model makes up are kept as far as possible', async () => {
  const journal = await opened(own.open())
  const call = { runId: 'run', nodeId: 'node', attempt: 1, seq: 1, toolName: 'pay', sideEffect: true }
  for (const id of ['a\0b', '\ud800']) {
    await expect(Promise.resolve(journal.insertToolCall({ ...call, runId: id }))).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    await expect(journal.beginTask({ runId: 'run', nodeId: id, iteration: 0 })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  }
  await journal.insertToolCall({ ...call, callToken: 'a\0b', toolName: 'x\ud800' })
  expect(await journal.listRun('run')).toMatchObject([{ callToken: 'a\u{FFFD}b', toolName: 'x\u{FFFD}' }])
  await journal.close()
})

test('behind a proxy that cuts connections, nothing is lost and nothing is written twice', { timeout: 120_000 }, async () => {
  const proxy = await cuttingProxy(own.server.socket.host)
  const pool = new Pool({ host: '127.0.0.1', port: proxy.port, user: 'toolwright', database: 'postgres', max: 6 })
  pool.on('error', () => undefined)
  const schema = own.schema()
  const journal = await openJournal(postgresStore(pool, { schema, leaseMs: 60_000, patienceMs: 20_000 }))
  await journal.recover()
  const stop = proxy.cut(20, 0.3)
  await Promise.all(
    Array.from({ length: 32 }, async (_, lane) => {
      for (let seq = 1; seq <= 250; seq += 1) {
        const call = { runId: 'run', nodeId: `lane ${lane}`, attempt: 1, seq, toolName: 'pay', sideEffect: true }
        await journal.updateToolCall(await journal.insertToolCall(call), { status: 'success', outputJson: `${seq}` })
      }
    }),
  )
  stop()
  const rows = await journal.listRun('run')
  console.log(`proxy: ${proxy.cuts} connections cut under ${rows.length} calls`)
  expect(proxy.cuts).toBeGreaterThan(10)
  expect(rows).toHaveLength(32 * 250)
  expect(rows.filter(({ status, outputJson, seq }) => status !== 'success' || outputJson !== `${seq}`)).toEqual([])
  await journal.close()
  await pool.end()
  proxy.close()
})

test('pruning takes whole runs that are over', async () => {
  const journal = own.open()
  const call = { nodeId: 'node', attempt: 1, toolName: 'pay', sideEffect: true }
  for (const [runId, at] of [
    ['old', 1_000],
    ['mixed', 1_000],
    ['mixed', 9_000],
    ['open', 1_000],
  ] as const) {
    const seq = at / 1_000
    const end = runId === 'open' ? {} : ({ status: 'success', finishedAtMs: at + 1 } as const)
    await journal.insertToolCall({ ...call, runId, seq, startedAtMs: at, ...end })
  }
  expect(await journal.prune({ beforeMs: 5_000, batchRows: 1 })).toBe(1)
  expect((await journal.listRuns()).map(({ runId }) => runId).sort()).toEqual(['mixed', 'open'])
  await journal.close()
})
