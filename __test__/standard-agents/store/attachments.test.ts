import { createHash } from 'node:crypto'
import { readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startScript } from '../../support/child-script.ts'
import { queryDatabase } from '../../support/query-database.ts'
import { runs, seed } from '../../support/randomised.ts'
import { makeSandbox } from '../../support/sandbox.ts'
import { attachmentParts } from '../../../ts/standard-agents/store/attachment-bytes.ts'
import { openThreadStore, streamAttachment, type AttachmentRef, type NewAttachment, type ThreadStore } from './stores.ts'

const CHUNK = 1_835_008
const octets = 'application/octet-stream'

/** Bytes of which no two chunks are equal. */
function pattern(length: number): Buffer {
  const bytes = Buffer.alloc(length)
  for (let at = 0; at + 4 <= length; at += 4) bytes.writeUInt32LE(Math.imul(at, 2_654_435_761) >>> 0, at)
  return bytes
}

const sha = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

async function opened(file: string): Promise<ThreadStore> {
  const store = await openThreadStore(file)
  onTestFinished(() => store.close())
  await store.openThread({ threadId: 't', flowId: 'f' })
  return store
}

async function attach(store: ThreadStore, attachment: Partial<NewAttachment> & Pick<NewAttachment, 'data'>): Promise<AttachmentRef> {
  const ref = await store.stageAttachment('t', { name: 'a.bin', mimeType: octets, ...attachment })
  await store.commit('t', { attachments: [ref.path] })
  return ref
}

async function* inParts(bytes: Buffer, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

describe('bytes', () => {
  test.each([
    [0, 0],
    [CHUNK - 1, 0],
    [CHUNK, 0],
    [CHUNK + 1, 2],
    [2 * CHUNK, 2],
    [5_000_000, 3],
  ])('R31 R32 %i bytes are %i chunks, and come back as they were', async (length, chunks) => {
    const file = join(makeSandbox().root, 'thread.db')
    const store = await opened(file)
    const bytes = pattern(length)
    for (const data of [bytes, bytes.toString('base64'), inParts(bytes, 700_001)]) {
      const { path, size } = await attach(store, { data })
      expect(size).toBe(length)
      expect(sha(await store.readAttachment('t', path))).toBe(sha(bytes))
      const lengths = `SELECT json_group_array(length(data) ORDER BY chunk_index) FROM file_chunks WHERE file_path = '${path}'`
      const rows = await queryDatabase(file, `SELECT is_chunked, chunk_count, (${lengths}) AS lengths FROM files WHERE path = '${path}'`)
      const pieces = Array.from({ length: chunks }, (_, n) => Math.min(CHUNK, length - n * CHUNK))
      expect(rows).toEqual([{ is_chunked: chunks > 0 ? 1 : 0, chunk_count: chunks, lengths: JSON.stringify(pieces) }])
    }
  })

  test('R31 text is stored as text in one piece, whatever its size', async () => {
    const file = join(makeSandbox().root, 'thread.db')
    const store = await opened(file)
    const text = Buffer.from('é — line\r\n'.repeat(300_000))
    for (const mimeType of ['text/markdown', 'application/json', 'image/svg+xml']) {
      const { path } = await attach(store, { mimeType, data: inParts(text, 1_000_003) })
      expect(sha(await store.readAttachment('t', path))).toBe(sha(text))
      expect(await queryDatabase(file, `SELECT is_chunked, typeof(data) AS type FROM files WHERE path = '${path}'`)).toEqual([
        { is_chunked: 0, type: 'text' },
      ])
    }
    const broken = Buffer.from([0xff, 0, 0xfe, 0x41])
    const { path } = await attach(store, { mimeType: 'text/plain', data: broken })
    expect(Buffer.from(await store.readAttachment('t', path))).toEqual(broken)
    expect(await queryDatabase(file, 'SELECT count(*) AS n FROM file_chunks')).toEqual([{ n: 0 }])
  })

  test('R32 50 MB go in and out by streams, with flat memory', { timeout: 60_000 }, async () => {
    const file = join(makeSandbox().root, 'thread.db')
    const script = fileURLToPath(new URL('large-attachment-process.ts', import.meta.url))
    const { code, stdout, stderr } = await startScript(script, [file, String(50 * 1024 * 1024)]).ended
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const { written, read, size, grownBytes } = JSON.parse(stdout) as Record<string, number | string>
    expect(read).toBe(written)
    expect(size).toBe(50 * 1024 * 1024)
    expect(Number(grownBytes)).toBeLessThan(40 * 1024 * 1024)
  })

  test('R32 50 MB as base64 are the same bytes', { timeout: 60_000 }, async () => {
    const store = await opened('memory:')
    const bytes = pattern(50 * 1024 * 1024)
    const { path } = await attach(store, { data: bytes.toString('base64') })
    expect(sha(await store.readAttachment('t', path))).toBe(sha(bytes))
  })

  test('ranges begin and end anywhere', async () => {
    const store = await opened('memory:')
    const bytes = pattern(2 * CHUNK + 12_345)
    const { path } = await attach(store, { data: bytes })
    const offset = fc.integer({ min: 0, max: 3 * CHUNK })
    const one = fc.asyncProperty(offset, offset, async (start, end) => {
      const range = await store.readAttachment('t', path, { start, end })
      expect(sha(range)).toBe(sha(bytes.subarray(start, Math.max(start, end))))
    })
    await fc.assert(one, { seed, numRuns: runs(20) })
  })

  test.each([0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 2 * CHUNK + 12_345])('a stream of %i bytes has chunks', async (length) => {
    const store = await opened('memory:')
    const bytes = pattern(length)
    const { path } = await attach(store, { data: bytes })
    const chunks: Uint8Array[] = []
    for await (const chunk of streamAttachment(store, 't', path)) {
      expect(chunk.byteLength).toBeLessThanOrEqual(CHUNK)
      chunks.push(chunk)
    }
    expect(sha(Buffer.concat(chunks))).toBe(sha(bytes))
  })

  test('a stream ends with an error when its attachment is deleted', async () => {
    const store = await opened('memory:')
    const { path } = await attach(store, { data: pattern(CHUNK + 1) })
    const stream = streamAttachment(store, 't', path)
    await stream.next()
    await store.deleteAttachment('t', path)
    await expect(stream.next()).rejects.toMatchObject({ code: 'THREAD_ATTACHMENT_NOT_FOUND' })
  })

  test('base64 that decodes is what Buffer makes of it, and everything else is refused', async () => {
    const store = await opened('memory:')
    const text = fc.oneof(fc.base64String(), fc.stringMatching(/^[A-Za-z0-9+/=_ \n-]{0,12}$/u))
    const one = fc.asyncProperty(text, async (data) => {
      const isStrict = Buffer.from(data, 'base64').toString('base64') === data
      const staged = store.stageAttachment('t', { name: 'a', mimeType: octets, data })
      if (!isStrict) {
        await expect(staged).rejects.toMatchObject({ code: 'THREAD_ENCODING_INVALID', details: { offset: expect.any(Number) } })
        return
      }
      const { path } = await staged
      await store.commit('t', { attachments: [path] })
      expect(Buffer.from(await store.readAttachment('t', path))).toEqual(Buffer.from(data, 'base64'))
    })
    await fc.assert(one, { seed, numRuns: runs(150) })
  })
})

describe('what goes wrong', () => {
  const nothing = async (store: ThreadStore, file: string): Promise<void> => {
    expect(await store.listAttachments('t')).toEqual([])
    expect(await queryDatabase(file, 'SELECT (SELECT count(*) FROM files) + (SELECT count(*) FROM file_chunks) AS n')).toEqual([{ n: 0 }])
  }

  test('a stream that fails, is aborted or hangs leaves nothing', async () => {
    const file = join(makeSandbox().root, 'thread.db')
    const store = await opened(file)
    const fails = async function* () {
      yield pattern(4 * CHUNK)
      throw new RangeError('its own')
    }
    await expect(store.stageAttachment('t', { name: 'a', mimeType: octets, data: fails() })).rejects.toThrow('its own')
    await nothing(store, file)
    const controller = new AbortController()
    const hangs = async function* () {
      yield pattern(4 * CHUNK)
      await new Promise(() => undefined)
    }
    const hanging = store.stageAttachment('t', { name: 'a', mimeType: octets, data: hangs() }, { signal: controller.signal })
    setTimeout(() => controller.abort(new Error('enough')), 100)
    await expect(hanging).rejects.toThrow('enough')
    await nothing(store, file)
    await expect(store.stageAttachment('t', { name: 'a', mimeType: octets, data: 'AA==' }, { signal: controller.signal })).rejects.toThrow(
      'enough',
    )
    const parts = ['text'] as unknown as Uint8Array[]
    const strings = async function* () {
      yield* parts
    }
    for (const data of [strings(), 5, null, new Uint16Array(2), { length: 1 }]) {
      await expect(store.stageAttachment('t', { name: 'a', mimeType: octets, data: data as never })).rejects.toMatchObject({
        code: 'INVALID_INPUT',
      })
    }
    await nothing(store, file)
  })

  test('bytes that are transferred meanwhile leave nothing', async () => {
    const store = await opened('memory:')
    const data = new Uint8Array(pattern(48 * CHUNK))
    const attached = attach(store, { data })
    await new Promise(setImmediate)
    structuredClone(data.buffer, { transfer: [data.buffer] })
    await expect(attached).rejects.toMatchObject({ code: 'INVALID_INPUT', message: expect.stringContaining('transferred') })
    expect(await store.listAttachments('t')).toEqual([])
  })

  test('bytes that are changed while they are being read: what is stored is what was read', async () => {
    for (const buffer of [new ArrayBuffer(CHUNK), new SharedArrayBuffer(CHUNK)]) {
      const data = new Uint8Array(buffer)
      const appended: Uint8Array[] = []
      for await (const part of attachmentParts(data, undefined)) {
        data.fill(1)
        appended.push(part as Uint8Array)
      }
      expect(appended.map(({ buffer: own }) => own)).toEqual([expect.any(ArrayBuffer)])
      expect(sha(appended[0] as Uint8Array)).toBe(sha(new Uint8Array(CHUNK)))
    }
  })

  test('base64 that breaks late leaves nothing', async () => {
    const file = join(makeSandbox().root, 'thread.db')
    const store = await opened(file)
    const data = `${pattern(6_000_000).toString('base64')}!`
    await expect(store.stageAttachment('t', { name: 'a', mimeType: octets, data })).rejects.toMatchObject({
      code: 'THREAD_ENCODING_INVALID',
      details: { offset: 8_000_000 },
    })
    await nothing(store, file)
  })

  test('an attachment over the limit is refused', async () => {
    const store = await openThreadStore('memory:', { maxAttachmentBytes: 1000, maxTextBytes: 100 })
    onTestFinished(() => store.close())
    await store.openThread({ threadId: 't', flowId: 'f' })
    await attach(store, { data: Buffer.alloc(1000) })
    const tooLarge = { code: 'THREAD_TOO_LARGE', details: { limitBytes: 1000 } }
    await expect(attach(store, { data: Buffer.alloc(1001) })).rejects.toMatchObject(tooLarge)
    await expect(attach(store, { data: Buffer.alloc(1001), mimeType: 'text/plain' })).rejects.toMatchObject(tooLarge)
    await expect(store.writeValues('t', [['k', 'x'.repeat(101)]])).rejects.toMatchObject({ code: 'THREAD_TOO_LARGE' })
    await expect(store.commit('t', { messages: [{ role: 'user', bodyJson: 'x'.repeat(101) }] })).rejects.toMatchObject({
      code: 'THREAD_TOO_LARGE',
    })
  })

  test('an export stays below its directory', async () => {
    const store = await opened('memory:')
    const fixture = makeSandbox()
    const { path } = await attach(store, { data: Buffer.from('bytes') })
    const name = path.replace('/attachments/', '')
    const outside = join(fixture.outside, 'target')
    symlinkSync(outside, fixture.at(name))
    await expect(store.exportAttachment('t', path, fixture.root)).rejects.toMatchObject({ code: 'TOOL_PATH_ESCAPE' })
    expect(() => readFileSync(outside)).toThrow('ENOENT')
    await expect(store.exportAttachment('t', path, join(fixture.root, 'none'))).rejects.toMatchObject({ code: 'TOOL_ROOT_INVALID' })
    expect(readFileSync(await store.exportAttachment('t', path, fixture.outside), 'utf8')).toBe('bytes')
  })
})

describe('width and height', () => {
  const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAIAAAA2iEnWAAAADUlEQVR4nGNgoBFgAAAAOQABf/cKEQAAAABJRU5ErkJggg==', 'base64')
  const gif = Buffer.from('R0lGODlhBQAGAAAAACw=', 'base64')
  const jpeg = Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 4, 0, 0, 0xff, 0xc0, 0, 11, 8, 0, 9, 0, 8, 1, 1, 0x11, 0, 0xff, 0xd9])
  const webp = Buffer.concat([
    Buffer.from('RIFF'),
    Buffer.from([22, 0, 0, 0]),
    Buffer.from('WEBPVP8X'),
    Buffer.from([10, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 7, 0, 0]),
  ])

  test.each([
    ['image/png', png, 2, 3, 'png'],
    ['image/gif', gif, 5, 6, 'gif'],
    ['image/jpeg', jpeg, 8, 9, 'jpg'],
    ['image/webp', webp, 7, 8, 'webp'],
  ] as const)('R30 %s', async (mimeType, data, width, height, ending) => {
    const store = await opened('memory:')
    const ref = await attach(store, { name: 'x.exe', mimeType, data })
    expect(ref).toMatchObject({ width, height })
    expect(ref.path.endsWith(`.${ending}`)).toBe(true)
    expect(await store.getAttachment('t', ref.path)).toEqual(ref)
    expect(await attach(store, { mimeType, data, width: 100, height: 50 })).toMatchObject({ width: 100, height: 50 })
  })

  test('of anything else there is none', async () => {
    const store = await opened('memory:')
    for (const data of [Buffer.from('no picture'), png.subarray(0, 12), Buffer.alloc(0)]) {
      const ref = await attach(store, { mimeType: 'image/png', data })
      expect('width' in ref || 'height' in ref).toBe(false)
    }
    for (const width of [0, -1, 1.5, Number.NaN]) {
      await expect(attach(store, { data: png, width })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    }
  })
})
