/** What a store must do with attachments. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assertEqual, assertMatches } from '../../journal/testing/runner.js'
import type { AttachmentRef, NewAttachment, ThreadStore } from '../store/thread-store.js'
import { bytes, file, refuses, type WithStore } from './subject.js'

const NO_BASE64 = [
  'a',
  'aGVsbG8',
  'aGVs bG8=',
  'aGVsbG8=\n',
  'aG-_',
  'data:text/plain;base64,aGVs',
  'aGVsbG9=',
  'é',
  '\ud83d\ude00\ud83d\ude00',
]
const HOSTILE_NAMES = ['../../../etc/passwd', 'x./../../y', '/abs', 'a\\b', 'a.p/g', 'x.%2e%2e']
const NO_NAMES = ['', 'a\0b', 'a\nb', '\u001b[2J', 'a\u202egnp.exe', '\ud800', 'x'.repeat(256)]
const NO_TYPES = ['', 'png', 'image/', 'image/p ng', 'image/png\n']
const NO_PATHS = ['/attachments/../x', '/attachments/', '/attachments/a/b', '/etc/passwd', '', '/attachments/..']

const CHUNK_BYTES = 1_835_008

async function attach(store: ThreadStore, more?: Partial<NewAttachment>): Promise<AttachmentRef> {
  const ref = await store.stageAttachment('t', file(more))
  await store.commit('t', { attachments: [ref.path] })
  return ref
}

const read = async (store: ThreadStore, path: string, range?: { start?: number; end?: number }): Promise<Buffer> =>
  Buffer.from(await store.readAttachment('t', path, range))

export function attachmentCases(test: WithStore): void {
  test('an attachment has a reference, and its bytes', async (store) => {
    const ref = await attach(store, { name: 'Report.PDF', width: 3, height: 4 })
    const { id, path } = ref
    assert.match(id, /^[0-9a-f-]{36}$/u)
    assert.match(path, /^\/attachments\/\d{13}-[0-9a-f]{8}\.pdf$/u)
    const described = { name: 'Report.PDF', mimeType: 'application/octet-stream', size: bytes.length, width: 3, height: 4 }
    assertEqual(ref, { id, type: 'file', path, ...described })
    assert.equal(path.split('-')[1], `${id.slice(0, 8)}.pdf`)
    assertEqual(await store.getAttachment('t', path), ref)
    assert.deepEqual(await read(store, path), bytes)
    assert.equal((await read(store, path, { start: 6, end: 8 })).toString(), 'of')
    assert.equal((await read(store, path, { start: 99 })).length, 0)
    assert.equal((await read(store, path, { start: 5, end: 2 })).length, 0)
    const stream = async function* () {
      yield bytes.subarray(0, 5)
      yield bytes.subarray(5)
    }
    for (const data of [bytes, stream()]) {
      const { path: other, size } = await attach(store, { data })
      assert.equal(size, bytes.length)
      assert.deepEqual(await read(store, other), bytes)
    }
    assert.equal((await store.listAttachments('t')).length, 3)
    assert.equal(await store.deleteAttachment('t', path), true)
    assert.equal(await store.deleteAttachment('t', path), false)
    await refuses('THREAD_ATTACHMENT_NOT_FOUND', () => store.readAttachment('t', path))
  })

  test('what is staged cannot be read, and can be discarded', async (store) => {
    const [a, b] = [await store.stageAttachment('t', file()), await store.stageAttachment('t', file())]
    assert.equal(await store.getAttachment('t', a.path), undefined)
    await refuses('THREAD_ATTACHMENT_NOT_FOUND', () => store.readAttachment('t', a.path))
    await store.commit('t', { attachments: [b.path] })
    await store.discardStaged('t', [a.path, b.path])
    await refuses('THREAD_ATTACHMENT_NOT_FOUND', () => store.commit('t', { attachments: [a.path] }))
    assertEqual(await store.listAttachments('t'), [b])
  })

  test('the bytes of two chunks and more, and ranges across their borders', async (store) => {
    const large = Buffer.alloc(2 * CHUNK_BYTES + 17, 'a text that is longer than a byte')
    for (const mimeType of ['application/octet-stream', 'text/plain']) {
      const { path, size } = await attach(store, { data: large, mimeType })
      assert.equal(size, large.length)
      assert.ok((await read(store, path)).equals(large))
      for (const [start, end] of [
        [CHUNK_BYTES - 3, CHUNK_BYTES + 3],
        [2 * CHUNK_BYTES, large.length + 99],
        [1, 2 * CHUNK_BYTES + 1],
      ] as const)
        assert.ok((await read(store, path, { start, end })).equals(large.subarray(start, end)))
    }
  })

  test('attachments in the order in which they were committed', async (store) => {
    const refs = [await store.stageAttachment('t', file()), await store.stageAttachment('t', file())]
    for (const { path } of refs.toReversed()) await store.commit('t', { attachments: [path] })
    assertEqual(await store.listAttachments('t'), refs.toReversed())
  })

  test('a stream that fails or is aborted leaves nothing', async (store) => {
    const broken = async function* () {
      yield Buffer.alloc(CHUNK_BYTES + 1)
      throw new Error('broken')
    }
    await assert.rejects(store.stageAttachment('t', file({ data: broken() })), /broken/u)
    await assert.rejects(store.stageAttachment('t', file(), { signal: AbortSignal.abort(new Error('enough')) }), /enough/u)
    assertEqual(await store.listAttachments('t'), [])
  })

  test('width and height are read from an image', async (store) => {
    const gif = Buffer.from('R0lGODlhAwAEAIAAAAAAAP///yH5BAEAAAAALAAAAAADAAQAAAIDhI8FADs=', 'base64')
    assertMatches(await attach(store, { name: 'a', mimeType: 'image/gif', data: gif }), { width: 3, height: 4 })
  })

  for (const data of NO_BASE64) {
    test(`base64 is strict: ${JSON.stringify(data)}`, async (store) => {
      await refuses('THREAD_ENCODING_INVALID', () => store.stageAttachment('t', file({ data })))
    })
  }

  for (const name of HOSTILE_NAMES) {
    test(`a hostile name stays inside: ${JSON.stringify(name)}`, async (store) => {
      const ref = await attach(store, { name })
      assert.equal(ref.name, name)
      assert.match(ref.path, /^\/attachments\/\d+-[0-9a-f]{8}\.[a-z0-9]{1,10}$/u)
      const directory = await realpath(await mkdtemp(join(tmpdir(), 'thread-suite-')))
      try {
        const exported = await store.exportAttachment('t', ref.path, directory)
        assert.equal(exported, ref.path.replace('/attachments', directory))
        assert.deepEqual(await readFile(exported), bytes)
      } finally {
        await rm(directory, { recursive: true, force: true })
      }
    })
  }

  for (const name of NO_NAMES) {
    test(`a name that is none is refused: ${JSON.stringify(name)}`, async (store) => {
      await refuses('THREAD_NAME_REFUSED', () => store.stageAttachment('t', file({ name })))
    })
  }

  for (const mimeType of NO_TYPES) {
    test(`a MIME type that is none is refused: ${JSON.stringify(mimeType)}`, async (store) => {
      await refuses('THREAD_NAME_REFUSED', () => store.stageAttachment('t', file({ mimeType })))
    })
  }

  for (const path of NO_PATHS) {
    test(`a path that leads elsewhere is refused: ${JSON.stringify(path)}`, async (store) => {
      await refuses('THREAD_NAME_REFUSED', () => store.getAttachment('t', path))
      await refuses('THREAD_NAME_REFUSED', () => store.readAttachment('t', path))
    })
  }
}
