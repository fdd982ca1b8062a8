import { spawnSync } from 'node:child_process'
import { chmodSync, closeSync, mkdirSync, openSync, rmSync, statSync, truncateSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openJournal } from 'toolwright'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startScript } from '../../support/child-script.ts'
import { makeSandbox } from '../../support/sandbox.ts'
import { openThreadStore, threadStorage, ToolError } from './stores.ts'

const codeOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 'done',
    (error: unknown) => (ToolError.isInstance(error) ? error.code : String(error)),
  )

const mounts = spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'none', '/tmp']).status === 0

describe('a full disk', () => {
  const script = fileURLToPath(new URL('full-disk-process.ts', import.meta.url))

  test.skipIf(!mounts)('typed errors, nothing by half, and it goes on when there is room', async () => {
    const fixture = makeSandbox()
    const under = ['unshare', '-rm', 'sh', '-c', 'mount -t tmpfs -o size=900k none "$0" && exec "$@"', fixture.root]
    const { code, stdout, stderr } = await startScript(script, [fixture.root], under).ended
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const full = 'THREAD_DISK_FULL'
    expect(JSON.parse(stdout)).toEqual({
      outcomes: ['done', full, full, full, 'done', 'done', 'done'],
      stored: ['before'],
      rows: [
        ['before', 'after'],
        ['before', 'after'],
      ],
    })
  })
})

test.skipIf(!mounts)('a read-only disk: what is there is read, and for writing it says what it is', async () => {
  const fixture = makeSandbox()
  const store = await openThreadStore(fixture.at('thread.db'))
  await store.openThread({ threadId: 't', flowId: 'f' })
  await store.close()
  const journal = await openJournal(fixture.at('runs.db'))
  await journal.insertToolCall({ runId: 'run', nodeId: 'node', attempt: 1, seq: 1, toolName: 'it' })
  await journal.close()
  const script = fileURLToPath(new URL('read-only-disk-process.ts', import.meta.url))
  const under = ['unshare', '-rm', 'sh', '-c', 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"', fixture.root]
  const { code, stdout, stderr } = await startScript(script, [fixture.root], under).ended
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const [thread, run] = ['THREAD_READ_ONLY', 'JOURNAL_READ_ONLY']
  expect(JSON.parse(stdout)).toEqual({ outcomes: [thread, thread, run, run], rows: [1, 1] })
})

describe('files that cannot be used', () => {
  test.each<[string, (file: string) => void, string, object]>([
    ['no such directory', (file) => rmSync(join(file, '..'), { recursive: true }), 'THREAD_STORE_NOT_FOUND', {}],
    ['a directory', (file) => mkdirSync(file), 'THREAD_OPEN_FAILED', {}],
    [
      'some text',
      (file) => writeFileSync(file, 'this is a text and no database, whatever its name says\n'.repeat(50)),
      'THREAD_NOT_A_DATABASE',
      {},
    ],
    ['nothing to read', () => undefined, 'THREAD_STORE_NOT_FOUND', { readOnly: true }],
  ])('%s', async (_what, prepare, code, options) => {
    const file = join(makeSandbox().root, 'thread.db')
    prepare(file)
    await expect(openThreadStore(`file:${file}`, options)).rejects.toMatchObject({
      name: 'ToolError',
      code,
      details: { path: expect.any(String) },
    })
  })

  test.each<[unknown, object, string]>([
    ['', {}, 'THREAD_LOCATION_INVALID'],
    ['postgres://host/db', {}, 'THREAD_LOCATION_INVALID'],
    [5, {}, 'INVALID_INPUT'],
    [null, {}, 'INVALID_INPUT'],
    ['memory:', { synchronous: 'sometimes' }, 'INVALID_INPUT'],
    ['memory:', { readOnly: 1 }, 'INVALID_INPUT'],
    ['memory:', { busyTimeoutMs: 0 }, 'INVALID_INPUT'],
    ['memory:', { maxAttachmentBytes: Number.NaN }, 'INVALID_INPUT'],
    ['memory:', { maxTextBytes: '5' }, 'INVALID_INPUT'],
  ])('%j %j', async (location, options, code) => {
    await expect(openThreadStore(location as string, options)).rejects.toMatchObject({ code })
  })

  test('a store that is only read: it reads, and refuses to write', async () => {
    const fixture = makeSandbox()
    const file = fixture.at('../thread.db')
    const written = await openThreadStore(file)
    await written.openThread({ threadId: 't', flowId: 'f' })
    await threadStorage(written, 't').put('k', 1)
    const { path } = await written.stageAttachment('t', { name: 'a', mimeType: 'image/png', data: 'aGVsbG8=' })
    await written.commit('t', { attachments: [path] })
    await written.close()
    chmodSync(file, 0o444)
    const store = await openThreadStore(new URL(`file://${file}`), { readOnly: true })
    onTestFinished(() => store.close())
    expect(await threadStorage(store, 't').get('k')).toBe(1)
    expect(Buffer.from(await store.readAttachment('t', path)).toString()).toBe('hello')
    for (const refused of [
      () => store.openThread({ threadId: 't', flowId: 'f' }),
      () => threadStorage(store, 't').put('k', 2),
      () => store.commit('t', {}),
      () => store.lockThread('t'),
      () => store.deleteThread('t'),
      () => store.deleteAttachment('t', path),
      () => store.stageAttachment('t', { name: 'a', mimeType: 'image/png', data: '' }),
    ]) {
      expect(await codeOf(refused())).toBe('THREAD_READ_ONLY')
    }
    await store.close()
    expect(await codeOf(store.listThreads())).toBe('THREAD_CLOSED')
  })

  test('a damaged file is a typed error, when it is opened or when it is read', async () => {
    const fixture = makeSandbox()
    const file = fixture.at('../thread.db')
    const store = await openThreadStore(file)
    await store.openThread({ threadId: 't', flowId: 'f' })
    const messages = Array.from({ length: 300 }, () => ({ role: 'tool', bodyJson: `"${'x'.repeat(500)}"` }))
    await store.commit('t', { messages })
    await store.close()
    const { size } = statSync(file)
    const descriptor = openSync(file, 'r+')
    for (let at = 4_096; at < size; at += 4_096) writeSync(descriptor, Buffer.alloc(2_000, 0xa5), 0, 2_000, at)
    closeSync(descriptor)
    const read = async () => {
      const damaged = await openThreadStore(file)
      try {
        return await damaged.listMessages('t')
      } finally {
        await damaged.close()
      }
    }
    expect(await codeOf(read())).toMatch(/^THREAD_(?:CORRUPT|NOT_A_DATABASE)$/u)
    truncateSync(file, 50)
    expect(await codeOf(read())).toMatch(/^THREAD_(?:CORRUPT|NOT_A_DATABASE)$/u)
  })

  test('a file that a tool removes is noticed by the next write', async () => {
    const fixture = makeSandbox()
    const store = await openThreadStore(fixture.at('thread.db'))
    onTestFinished(() => store.close().catch(() => undefined))
    await store.openThread({ threadId: 't', flowId: 'f' })
    rmSync(fixture.at('thread.db'))
    expect(await codeOf(store.commit('t', {}))).toBe('THREAD_REMOVED')
  })

  test('closing while calls are under way ends them one way or the other', async () => {
    const store = await openThreadStore(join(makeSandbox().root, 'thread.db'))
    await store.openThread({ threadId: 't', flowId: 'f' })
    const worker = await store.lockThread('t')
    const all = Array.from({ length: 30 }, (_, n) => [
      codeOf(store.writeValues('t', [[`k${n}`, '1']])),
      codeOf(store.stageAttachment('t', { name: 'a', mimeType: 'image/png', data: new Uint8Array(4_000_000) })),
      codeOf(worker.claim()),
    ]).flat()
    await store.close()
    for (const outcome of await Promise.all(all)) expect(['done', 'THREAD_CLOSED', 'THREAD_LOCKED']).toContain(outcome)
  })
})
