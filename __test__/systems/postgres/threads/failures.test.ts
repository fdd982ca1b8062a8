import { createThread, defineTool, openThreadStore, type ThreadStore } from 'toolwright/standard-agents'
import { migrationScript, postgresThreads, type PostgresThreadsOptions } from 'toolwright/postgres'
import { Pool } from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { runs } from '../../../support/randomised.ts'
import { useServer } from '../servers.ts'
import { cuttingProxy } from '../cutting-proxy.ts'

const own = useServer()
const codeOf = async (work: Promise<unknown>): Promise<unknown> => {
  try {
    await work
    return undefined
  } catch (error) {
    const { name, code, hint } = error as { name?: unknown; code?: unknown; hint?: unknown }
    expect({ name, hint: String(hint) }).toEqual({ name: 'ToolError', hint: expect.stringMatching(/\S/u) })
    return code
  }
}
const poolOf = (config: object): Pool => {
  const pool = new Pool({ ...own.server.socket, max: 4, ...config })
  pool.on('error', () => undefined)
  onTestFinished(() => pool.end())
  return pool
}
const openStore = (pool: Pool, options: PostgresThreadsOptions): ThreadStore => {
  const store = postgresThreads(pool, options)
  onTestFinished(() => store.close().catch(() => undefined))
  return store
}
/** A schema with a thread that has a message, a call and an attachment. */
async function filled(): Promise<{ schema: string; path: string }> {
  const schema = own.schema()
  const store = postgresThreads(own.pool, { schema })
  await store.openThread({ threadId: 't', flowId: 'f' })
  const { path } = await store.stageAttachment('t', { name: 'a', mimeType: 'image/png', data: Buffer.from('bytes') })
  const call = { id: 'c0', name: 'tool', argumentsJson: '{}' }
  await store.commit('t', { attachments: [path], messages: [{ role: 'user', bodyJson: '1' }], enqueue: [call] })
  await store.close()
  return { schema, path }
}
const file = { name: 'a', mimeType: 'image/png', data: Buffer.from('new') }
const writes = (store: ThreadStore, path: string): (() => Promise<unknown>)[] => [
  () => store.openThread({ threadId: 'new', flowId: 'f' }),
  () => store.writeValues('t', [['k', '2']]),
  () => store.commit('t', { messages: [{ role: 'user', bodyJson: '2' }] }),
  () => store.cancelQueued('t'),
  () => store.lockThread('t'),
  () => store.deleteThread('t'),
  () => store.deleteAttachment('t', path),
  () => store.stageAttachment('t', file),
]
const isUnchanged = async (schema: string): Promise<void> => {
  const store = openStore(own.pool, { schema })
  expect(await store.listThreads()).toHaveLength(1)
  expect(await store.listMessages('t')).toHaveLength(1)
  expect(await store.listCalls('t')).toMatchObject([{ status: 'queued' }])
  expect(await store.listAttachments('t')).toHaveLength(1)
  expect(await store.listValues('t', {})).toEqual([])
}

describe('a server that cannot be used', () => {
  test.each([
    ['no server listens', { host: '127.0.0.1', port: 1 }, 'THREAD_IO_FAILED'],
    ['no host has the name', { host: 'nowhere.invalid' }, 'THREAD_IO_FAILED'],
    ['there is no such user', { user: 'nobody' }, 'THREAD_OPEN_FAILED'],
    ['there is no such database', { database: 'nothing' }, 'THREAD_OPEN_FAILED'],
  ])('%s: told at once, without the password', async (_, config, code) => {
    const began = performance.now()
    const store = openStore(poolOf({ ...config, password: 'secret' }), { location: 'postgres://db' })
    const error: unknown = await store.listThreads().catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code, details: { path: 'postgres://db' } })
    expect(JSON.stringify([String(error), error])).not.toContain('secret')
    expect(performance.now() - began).toBeLessThan(5_000)
    expect(await codeOf(createThread({ tools: {}, store }))).toBe(code)
  })

  test.each([
    [{ schema: '' }, 'INVALID_INPUT'],
    [{ leaseMs: 0 }, 'INVALID_INPUT'],
    [{ maxTextBytes: '5' }, 'INVALID_INPUT'],
  ])('options that are none: %j', (options, code) => {
    expect(() => postgresThreads(own.pool, options as PostgresThreadsOptions)).toThrow(expect.objectContaining({ code }))
    expect(() => postgresThreads({} as Pool)).toThrow(expect.objectContaining({ code }))
  })

  test('a client that never answers: an error after the patience, and no hang', async () => {
    let isSilent = false
    const schema = own.schema()
    const sql = {
      query: async (text: string, values: readonly (string | null)[]) =>
        isSilent ? new Promise<never>(() => undefined) : (await own.pool.query(text, [...values])).rows,
    }
    const silent = postgresThreads(sql, { schema, patienceMs: 300 })
    await silent.openThread({ threadId: 't', flowId: 'f' })
    isSilent = true
    const began = performance.now()
    expect(await codeOf(silent.commit('t', { messages: [{ role: 'user', bodyJson: '1' }] }))).toBe('THREAD_IO_FAILED')
    expect(await codeOf(silent.listMessages('t'))).toBe('THREAD_IO_FAILED')
    expect(performance.now() - began).toBeLessThan(3_000)
    isSilent = false
    expect(await silent.listMessages('t')).toEqual([])
    await silent.close()
  })
})

test('arguments that are none are refused as by a store in memory', { timeout: 60_000 }, async () => {
  const memory = await openThreadStore('memory:')
  const stores = [memory, openStore(own.pool, { schema: own.schema() })] as const
  for (const store of stores) await store.openThread({ threadId: 't', flowId: 'f' })
  const none = [undefined, null, 1, {}, [], '', '\ud800', 'a\0b', [1], [[1]], { limit: -1 }, { after: 'x' }, { start: -1 }, { messages: 1 }]
  const methods: Record<string, (store: ThreadStore, value: never) => Promise<unknown>> = {
    openThread: (store, value) => store.openThread(value),
    'openThread.threadId': (store, value) => store.openThread({ threadId: value, flowId: 'f' }),
    getThread: (store, value) => store.getThread(value),
    readValues: (store, value) => store.readValues('t', value),
    writeValues: (store, value) => store.writeValues('t', value),
    deleteValues: (store, value) => store.deleteValues('t', value),
    deleteAllValues: (store, value) => store.deleteAllValues(value),
    listValues: (store, value) => store.listValues('t', value),
    commit: (store, value) => store.commit('t', value),
    'commit.threadId': (store, value) => store.commit(value, {}),
    'commit.messages': (store, value) => store.commit('t', { messages: value }),
    'commit.attachments': (store, value) => store.commit('t', { attachments: value }),
    listMessages: (store, value) => store.listMessages('t', value),
    listCalls: (store, value) => store.listCalls('t', value),
    getCall: (store, value) => store.getCall('t', value),
    lockThread: (store, value) => store.lockThread(value, { waitMs: 0 }),
    stageAttachment: (store, value) => store.stageAttachment('t', value),
    'stageAttachment.data': (store, value) => store.stageAttachment('t', { name: 'a', mimeType: 'image/png', data: value }),
    getAttachment: (store, value) => store.getAttachment('t', value),
    readAttachment: (store, value) => store.readAttachment('t', value),
    deleteAttachment: (store, value) => store.deleteAttachment('t', value),
    exportAttachment: (store, value) => store.exportAttachment('t', value, '/tmp'),
  }
  const outcome = async (work: () => Promise<unknown>): Promise<unknown> => {
    try {
      await work()
      return 'done'
    } catch (error) {
      return (error as { code?: unknown }).code ?? String(error)
    }
  }
  const different: unknown[] = []
  for (const [name, method] of Object.entries(methods)) {
    for (const value of none) {
      const [expected, actual] = [
        await outcome(() => method(stores[0], value as never)),
        await outcome(() => method(stores[1], value as never)),
      ]
      if (expected !== actual) different.push({ name, value, expected, actual })
    }
  }
  expect(different).toEqual([])
  await memory.close()
})

describe('rights and schemas', () => {
  test('who may not make tables is told so; who may use them needs no more than is documented', async () => {
    const schema = own.schema()
    await own.pool.query(`CREATE ROLE threads LOGIN; CREATE SCHEMA "${schema}"`)
    const pool = poolOf({ user: 'threads' })
    expect(await codeOf(openStore(pool, { schema }).listThreads())).toBe('THREAD_READ_ONLY')
    await own.pool.query(`GRANT USAGE ON SCHEMA "${schema}" TO threads`)
    expect(await codeOf(openStore(pool, { schema }).listThreads())).toBe('THREAD_READ_ONLY')
    expect(await codeOf(openStore(pool, { schema, migrate: false }).listThreads())).toBe('THREAD_STORE_NOT_FOUND')
    await own.pool.query(migrationScript(schema))
    expect(await codeOf(openStore(pool, { schema }).listThreads())).toBe('THREAD_READ_ONLY')
    const { grants } = await import('./grants.ts')
    await own.pool.query(grants(schema, 'threads'))
    const store = openStore(pool, { schema, migrate: false })
    const tools = { greet: defineTool({ description: 'Greets', execute: async () => ({ status: 'success', result: 'hello' }) }) }
    const thread = await createThread({ tools, store, threadId: 't' })
    await thread.storage.put('k', 1)
    expect(await thread.call('greet')).toMatchObject({ result: 'hello' })
    const ref = await thread.attachments.put(file)
    expect(Buffer.from(await thread.attachments.read(ref.path)).toString()).toBe('new')
    await thread.attachments.delete(ref.path)
    await thread.storage.deleteAll()
    await thread.close()
    expect(await store.deleteThread('t')).toBe(true)
  })

  test('an older schema is completed, or told of; a newer one is left alone', async () => {
    const { schema } = await filled()
    await own.pool.query(`UPDATE "${schema}"._toolwright_schema SET version = 1; DROP FUNCTION "${schema}"._toolwright_thread_fence`)
    const old = openStore(own.pool, { schema, migrate: false })
    const error: unknown = await old.listMessages('t').catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'THREAD_SCHEMA_MISMATCH', hint: expect.stringContaining('migrate') })
    await openStore(own.pool, { schema }).writeValues('t', [['k', '1']])
    expect(await openStore(own.pool, { schema }).deleteValues('t', ['k'])).toBe(1)
    await isUnchanged(schema)
    await own.pool.query(`UPDATE "${schema}"._toolwright_schema SET version = 999`)
    const newer = openStore(own.pool, { schema })
    await expect(newer.listMessages('t')).rejects.toMatchObject({ code: 'THREAD_SCHEMA_MISMATCH', details: { version: 999 } })
    expect(await codeOf(newer.commit('t', {}))).toBe('THREAD_SCHEMA_MISMATCH')
    await own.pool.query(`UPDATE "${schema}"._toolwright_schema SET version = 2`)
    await isUnchanged(schema)
  })

  test('tables of a journal alone, as an earlier version made them, are completed', async () => {
    const schema = own.schema()
    const journal = own.open({ schema })
    await journal.insertToolCall({ runId: 'run', nodeId: 'n', attempt: 1, seq: 1, toolName: 'pay', sideEffect: true, status: 'success' })
    await journal.close()
    const tables = ['threads', 'thread_values', 'thread_messages', 'thread_calls', 'thread_files', 'thread_file_chunks', 'thread_locks']
    await own.pool.query(`DROP TABLE ${tables.map((name) => `"${schema}"._toolwright_${name}`).join(', ')};
      UPDATE "${schema}"._toolwright_schema SET version = 1`)
    expect(await codeOf(openStore(own.pool, { schema, readOnly: true }).listThreads())).toBe('THREAD_SCHEMA_MISMATCH')
    // All at once, as processes that are rolled out.
    const stores = Array.from({ length: 6 }, () => openStore(own.pool, { schema }))
    await Promise.all(stores.map((store) => store.openThread({ threadId: 't', flowId: 'f' })))
    expect(await stores[0]?.listThreads()).toHaveLength(1)
    expect(await own.open({ schema }).lastRow()).toBe(1)
  })

  test('tables that were lost while the store is open', async () => {
    const { schema } = await filled()
    const store = openStore(own.pool, { schema })
    expect(await store.listThreads()).toHaveLength(1)
    await own.pool.query(`DROP SCHEMA "${schema}" CASCADE`)
    expect(await codeOf(store.listMessages('t'))).toBe('THREAD_SCHEMA_MISMATCH')
    expect(await codeOf(store.commit('t', {}))).toBe('THREAD_SCHEMA_MISMATCH')
  })
})

describe('a store that cannot be written', () => {
  test('by readOnly: it reads, and refuses to write before it asks the server', async () => {
    const { schema, path } = await filled()
    const store = openStore(own.pool, { schema, readOnly: true })
    expect(Buffer.from(await store.readAttachment('t', path)).toString()).toBe('bytes')
    for (const write of writes(store, path)) expect(await codeOf(write())).toBe('THREAD_READ_ONLY')
    await isUnchanged(schema)
  })

  test('by the server, as on a replica: the same', async () => {
    const { schema, path } = await filled()
    const store = openStore(poolOf({ options: '-c default_transaction_read_only=on' }), { schema })
    expect(await store.listMessages('t')).toHaveLength(1)
    expect(Buffer.from(await store.readAttachment('t', path)).toString()).toBe('bytes')
    for (const write of writes(store, path)) expect(await codeOf(write())).toBe('THREAD_READ_ONLY')
    await isUnchanged(schema)
  })
})

test(
  'a server that goes away: an error after the patience, nothing half written, and it goes on when it is back',
  { timeout: 60_000 },
  async () => {
    const { schema } = await filled()
    const store = openStore(own.pool, { schema, patienceMs: 500, leaseMs: 60_000 })
    const worker = await store.lockThread('t')
    await own.server.crash()
    const began = performance.now()
    expect(await codeOf(store.commit('t', { messages: [{ id: 'm', role: 'user', bodyJson: '2' }] }))).toBe('THREAD_IO_FAILED')
    expect(await codeOf(worker.claim())).toBe('THREAD_IO_FAILED')
    expect(performance.now() - began).toBeLessThan(3_000)
    // A lock that cannot be given back now is given back later.
    worker.release()
    await own.server.start()
    const other = openStore(own.pool, { schema })
    const next = await other.lockThread('t', { waitMs: 10_000 })
    expect(next.interrupted).toEqual([])
    next.release()
    await store.commit('t', { messages: [{ id: 'm', role: 'user', bodyJson: '2' }] })
    expect((await store.listMessages('t')).map(({ seq }) => seq)).toEqual([1, 2])
  },
)

test('behind a proxy that cuts connections, nothing is lost and nothing is written twice', { timeout: 180_000 }, async () => {
  const proxy = await cuttingProxy(own.server.socket.host)
  onTestFinished(() => proxy.close())
  const schema = own.schema()
  const pool = poolOf({ host: '127.0.0.1', port: proxy.port, max: 6 })
  const store = openStore(pool, { schema, leaseMs: 60_000, patienceMs: 20_000 })
  const lanes = Array.from({ length: 8 }, (_, lane) => `t${lane}`)
  for (const threadId of lanes) await store.openThread({ threadId, flowId: 'f' })
  const rounds = runs(40)
  const stop = proxy.cut(20, 0.15)
  await Promise.all(
    lanes.map(async (threadId) => {
      for (let n = 0; n < rounds; n += 1) {
        const id = `c${n}`
        const { calls } = await store.commit(threadId, { enqueue: [{ id, name: 'tool', argumentsJson: '{}' }] })
        expect(calls).toMatchObject([{ id, seq: 2 * n + 1, status: 'queued' }])
        const worker = await store.lockThread(threadId)
        expect(worker.interrupted).toEqual([])
        expect(await worker.claim()).toMatchObject({ id, attempts: 1 })
        expect(await worker.claim()).toBeUndefined()
        await store.writeValues(threadId, [['k', String(n)]])
        const data = Buffer.alloc(n % 8 === 0 ? 2_000_000 : 100, n)
        const { path } = await store.stageAttachment(threadId, { name: id, mimeType: 'image/png', data })
        const { messages } = await store.commit(threadId, {
          finish: { callId: id, status: 'success', resultJson: '1' },
          attachments: [path],
          messages: [{ role: 'tool', bodyJson: JSON.stringify(path) }],
        })
        expect(messages).toMatchObject([{ seq: n + 1 }])
        expect(Buffer.from(await store.readAttachment(threadId, path)).equals(data)).toBe(true)
        if (n % 4 === 0) expect(await store.deleteAttachment(threadId, path)).toBe(true)
        await store.commit(threadId, { enqueue: [{ id: `x${n}`, name: 'tool', argumentsJson: '{}', queue: 'side' }] })
        expect(await store.cancelQueued(threadId, 'side')).toMatchObject([{ id: `x${n}`, status: 'cancelled' }])
        worker.release()
      }
    }),
  )
  stop()
  for (const threadId of lanes) {
    expect(await store.listMessages(threadId)).toHaveLength(rounds)
    expect(await store.listCalls(threadId)).toHaveLength(2 * rounds)
    expect(await store.listAttachments(threadId)).toHaveLength(rounds - Math.ceil(rounds / 4))
  }
  const staged = `SELECT count(*)::int AS n FROM "${schema}"._toolwright_thread_files WHERE staged_by IS NOT NULL`
  expect((await own.pool.query(staged)).rows).toEqual([{ n: 0 }])
  console.log(`proxy: ${proxy.cuts} connections cut`)
  expect(proxy.cuts).toBeGreaterThan(10)
})
