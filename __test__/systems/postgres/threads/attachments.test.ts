import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { postgresThreads, type PostgresThreadsOptions } from 'toolwright/postgres'
import { createThread, openThreadStore, type ThreadStore } from 'toolwright/standard-agents'
import { expect, onTestFinished, test } from 'vitest'
import { startScript } from '../../../support/child-script.ts'
import { fileURLToPath } from 'node:url'
import { useServer } from '../servers.ts'

const own = useServer()
const MIB = 1 << 20

async function openStore(options: PostgresThreadsOptions = {}): Promise<{ store: ThreadStore; schema: string }> {
  const { schema = own.schema() } = options
  const store = postgresThreads(own.pool, { schema, ...options })
  onTestFinished(() => store.close().catch(() => undefined))
  await store.openThread({ threadId: 't', flowId: 'f' })
  return { store, schema }
}

async function put(store: ThreadStore, data: string | Uint8Array | AsyncIterable<Uint8Array>, mimeType = 'image/png'): Promise<string> {
  const { path } = await store.stageAttachment('t', { name: 'a', mimeType, data })
  await store.commit('t', { attachments: [path] })
  return path
}

function makeFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'toolwright-export-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const rowsOf = async (schema: string): Promise<{ files: number; chunks: number }> => {
  const name = (table: string): string => `(SELECT count(*)::int FROM "${schema}"._toolwright_${table})`
  return (await own.pool.query(`SELECT ${name('thread_files')} AS files, ${name('thread_file_chunks')} AS chunks`)).rows[0]
}
const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => (error as { code?: unknown }).code ?? String(error),
  )

test('50 MB as bytes, as base64 and as a stream: whole, in ranges and as a file', { timeout: 120_000 }, async () => {
  const { store } = await openStore()
  const bytes = randomBytes(50 * MIB + 11)
  const stream = async function* () {
    // Parts that fit no chunk.
    for (let at = 0; at < bytes.length; at += 700_001) yield bytes.subarray(at, at + 700_001)
  }
  for (const data of [bytes, bytes.toString('base64'), stream()]) {
    const path = await put(store, data)
    expect(await store.getAttachment('t', path)).toMatchObject({ size: bytes.length })
    expect(Buffer.from(await store.readAttachment('t', path)).equals(bytes)).toBe(true)
    const [start, end] = [20 * MIB - 5, 24 * MIB + 5]
    expect(Buffer.from(await store.readAttachment('t', path, { start, end })).equals(bytes.subarray(start, end))).toBe(true)
    const folder = makeFolder()
    expect(readFileSync(await store.exportAttachment('t', path, folder)).equals(bytes)).toBe(true)
    expect(readdirSync(folder)).toEqual([path.slice('/attachments/'.length)])
  }
})

test('a stream of 200 MB takes the memory of a few chunks', { timeout: 180_000 }, async () => {
  const { store, schema } = await openStore()
  const program = fileURLToPath(new URL('upload-process.ts', import.meta.url))
  const { code, stdout, stderr } = await startScript(program, [own.server.socket.host, schema, '200']).ended
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const { path, moreMiB } = JSON.parse(stdout) as { path: string; moreMiB: number }
  console.log(`200 MB: ${Math.round(moreMiB)} MiB more at the height of its process`)
  expect(moreMiB).toBeLessThan(100)
  expect(await store.getAttachment('t', path)).toMatchObject({ size: 200 * MIB })
  expect(await store.deleteAttachment('t', path)).toBe(true)
  expect(await rowsOf(schema)).toEqual({ files: 1, chunks: 5 })
})

test.each([
  ['an abort in the middle', (at: number, controller: AbortController) => at === 3 && controller.abort(new Error('enough'))],
  [
    'a stream that fails in the middle',
    (at: number) => {
      if (at === 3) throw new Error('enough')
    },
  ],
])('%s leaves no row, and ends at once', async (_, act) => {
  const { store, schema } = await openStore()
  const controller = new AbortController()
  const endless = async function* () {
    for (let at = 0; ; at += 1) {
      act(at, controller)
      yield Buffer.alloc(MIB)
    }
  }
  const began = performance.now()
  const staging = store.stageAttachment('t', { name: 'a', mimeType: 'image/png', data: endless() }, { signal: controller.signal })
  await expect(staging).rejects.toThrow('enough')
  expect(performance.now() - began).toBeLessThan(5_000)
  expect(await rowsOf(schema)).toEqual({ files: 0, chunks: 0 })
})

test('an abort ends the wait for a source that never answers', async () => {
  const { store, schema } = await openStore()
  const silent = async function* () {
    yield Buffer.alloc(2 * MIB)
    await new Promise(() => undefined)
  }
  const data = silent()
  const signal = AbortSignal.timeout(200)
  await expect(store.stageAttachment('t', { name: 'a', mimeType: 'image/png', data }, { signal })).rejects.toMatchObject({
    name: 'TimeoutError',
  })
  expect(await rowsOf(schema)).toEqual({ files: 0, chunks: 0 })
})

test('limits, and base64 that ends in the middle', async () => {
  const { store, schema } = await openStore({ maxAttachmentBytes: MIB, maxTextBytes: 100 })
  const stage = (data: string | Uint8Array) => store.stageAttachment('t', { name: 'a', mimeType: 'image/png', data })
  await expect(stage(Buffer.alloc(MIB + 1))).rejects.toMatchObject({ code: 'THREAD_TOO_LARGE', details: { limitBytes: MIB } })
  expect((await stage(Buffer.alloc(MIB))).size).toBe(MIB)
  const tooLong = [
    store.writeValues('t', [['k', 'x'.repeat(101)]]),
    store.commit('t', { messages: [{ role: 'user', bodyJson: 'x'.repeat(101) }] }),
    store.commit('t', { enqueue: [{ name: 'tool', argumentsJson: 'x'.repeat(101) }] }),
  ]
  expect(await Promise.all(tooLong.map(codeOf))).toEqual(['THREAD_TOO_LARGE', 'THREAD_TOO_LARGE', 'THREAD_TOO_LARGE'])
  expect(await store.listMessages('t')).toEqual([])
  const { store: larger } = await openStore({ schema })
  // The first part of the text ends with a padding, and another one follows.
  const padded = `${'A'.repeat(2_446_674)}==AAAA`
  expect(await codeOf(larger.stageAttachment('t', { name: 'a', mimeType: 'image/png', data: padded }))).toBe('THREAD_ENCODING_INVALID')
})

test('a file is exported as from a store in memory: the same codes, and nothing beside it', async () => {
  const memory = await openThreadStore('memory:')
  onTestFinished(() => memory.close())
  await memory.openThread({ threadId: 't', flowId: 'f' })
  const { store: server } = await openStore()
  const outcomes = await Promise.all(
    [memory, server].map(async (store) => {
      const [folder, outside] = [makeFolder(), makeFolder()]
      const path = await put(store, Buffer.from('bytes'))
      const name = path.slice('/attachments/'.length)
      const codes: unknown[] = []
      codes.push(await codeOf(store.exportAttachment('t', '/attachments/1-none.bin', folder)))
      codes.push(await codeOf(store.exportAttachment('t', '/attachments/../x', folder)))
      codes.push(await codeOf(store.exportAttachment('t', path, join(folder, 'none'))))
      writeFileSync(join(folder, 'file'), '')
      codes.push(await codeOf(store.exportAttachment('t', path, join(folder, 'file'))))
      symlinkSync(join(outside, 'target'), join(folder, name))
      codes.push(await codeOf(store.exportAttachment('t', path, folder)))
      rmSync(join(folder, name))
      mkdirSync(join(folder, name))
      codes.push(await codeOf(store.exportAttachment('t', path, folder)))
      rmSync(join(folder, name), { recursive: true })
      writeFileSync(join(folder, name), 'what was there before')
      expect(await store.exportAttachment('t', path, folder)).toBe(join(folder, name))
      expect(readFileSync(join(folder, name), 'utf8')).toBe('bytes')
      return {
        codes,
        inside: readdirSync(folder)
          .map((one) => (one === name ? 'NAME' : one))
          .sort(),
        outside: readdirSync(outside),
      }
    }),
  )
  expect(outcomes[1]).toEqual(outcomes[0])
  expect(outcomes[0]).toMatchObject({ inside: ['NAME', 'file'], outside: [] })
})

test('an attachment that is deleted while it is read', async () => {
  const { store } = await openStore()
  const path = await put(store, Buffer.alloc(6 * MIB))
  const thread = await createThread({ tools: {}, store, threadId: 't' })
  const parts: number[] = []
  const reading = (async () => {
    for await (const part of await thread.attachments.stream(path)) {
      parts.push(part.length)
      if (parts.length === 1) await store.deleteAttachment('t', path)
    }
  })()
  expect(await codeOf(reading)).toBe('THREAD_ATTACHMENT_NOT_FOUND')
  expect(parts).toHaveLength(1)
  await thread.close()
})

test('a chunk that somebody else has removed is told as damage', async () => {
  const { store, schema } = await openStore()
  const path = await put(store, Buffer.alloc(4 * MIB))
  await own.pool.query(`DELETE FROM "${schema}"._toolwright_thread_file_chunks WHERE chunk_index = 1`)
  expect(await codeOf(store.readAttachment('t', path))).toBe('THREAD_CORRUPT')
  expect((await store.readAttachment('t', path, { end: MIB })).length).toBe(MIB)
})

test('what a dead process has staged goes when another one opens the store; what a living one has staged stays', async () => {
  const { store, schema } = await openStore()
  const { path } = await store.stageAttachment('t', { name: 'living', mimeType: 'image/png', data: Buffer.alloc(10) })
  await store.commit('t', { enqueue: [{ id: 'c0', name: 'tool', argumentsJson: '0' }] })
  const program = fileURLToPath(new URL('work-process.ts', import.meta.url))
  const { child, ended, printed } = startScript(program, [own.server.socket.host, schema, '300', 'staged'])
  await printed('staged')
  expect((await rowsOf(schema)).files).toBe(2)
  child.kill('SIGKILL')
  await ended
  await expect
    .poll(async () => {
      const { store: opened } = await openStore({ schema })
      await opened.close()
      return rowsOf(schema)
    })
    .toEqual({ files: 1, chunks: 1 })
  await store.commit('t', { attachments: [path] })
  expect(await store.listAttachments('t')).toMatchObject([{ name: 'living' }])
})

test('long lists, in pages', { timeout: 60_000 }, async () => {
  const { store } = await openStore()
  const all = Array.from({ length: 2_000 }, (_, index) => `m${index}`)
  for (let at = 0; at < all.length; at += 500) {
    const ids = all.slice(at, at + 500)
    await store.commit('t', {
      messages: ids.map((id) => ({ id, role: 'user', bodyJson: '1' })),
      enqueue: ids.map((id, index) => ({ id, name: 'tool', argumentsJson: '{}', queue: index % 2 === 0 ? 'root' : 'side' })),
    })
    await store.writeValues(
      't',
      ids.map((id) => [`key ${id.slice(1).padStart(5, '0')}`, '1'] as const),
    )
  }
  const pages = async <T extends { id: string; seq: number }>(list: (after: number | undefined) => Promise<T[]>): Promise<string[]> => {
    const found: string[] = []
    for (let after: number | undefined; ;) {
      const page = await list(after)
      expect(page.length).toBeLessThanOrEqual(300)
      found.push(...page.map(({ id }) => id))
      if (page.length === 0) return found
      after = page.at(-1)?.seq
    }
  }
  expect(await pages((after) => store.listMessages('t', { after, limit: 300 }))).toEqual(all)
  expect(await pages((after) => store.listMessages('t', { after, limit: 300, reverse: true }))).toEqual(all.toReversed())
  expect(await pages((after) => store.listCalls('t', { after, limit: 300, queue: 'side', status: 'queued' }))).toEqual(
    all.filter((_, index) => index % 2 === 1),
  )
  const keys: string[] = []
  for (let startAfter: string | undefined; ;) {
    const page = await store.listValues('t', { prefix: 'key ', startAfter, limit: 300 })
    keys.push(...page.map(([key]) => key))
    if (page.length === 0) break
    startAfter = page.at(-1)?.[0]
  }
  expect(keys).toHaveLength(2_000)
  expect(keys).toEqual(keys.toSorted())
})

test('texts that PostgreSQL does not keep come back as they were', async () => {
  const { store } = await openStore()
  const hostile = ['a\0b', 'a\u0001b', '\u0001\0\u0001\u0001', '\u0001\u0002', "'; DROP TABLE x; --", '\\x00', '😀\uffff']
  await store.writeValues(
    't',
    hostile.map((text) => [`k${text}`, JSON.stringify(text) + text] as const),
  )
  expect(
    await store.readValues(
      't',
      hostile.map((text) => `k${text}`),
    ),
  ).toHaveLength(hostile.length)
  for (const text of hostile) expect(await store.readValues('t', [`k${text}`])).toEqual([[`k${text}`, JSON.stringify(text) + text]])
  expect((await store.listValues('t', { prefix: 'ka' })).map(([key]) => key)).toEqual(['ka\0b', 'ka\u0001b'])
  for (const bodyJson of hostile) await store.commit('t', { messages: [{ role: 'user', bodyJson }] })
  expect((await store.listMessages('t')).map(({ bodyJson }) => bodyJson)).toEqual(hostile)
})
