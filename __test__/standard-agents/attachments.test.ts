import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { type AttachmentRef, type Thread } from 'toolwright/standard-agents'
import { describe, expect, test, vi } from 'vitest'
import { makeSandbox } from '../support/sandbox.ts'
import { contents, openThread, success, tool } from './support.ts'

const CHUNK = 1.75 * 1024 * 1024
const refsOf = ({ attachments }: { attachments?: unknown[] }) => (attachments ?? []) as AttachmentRef[]
const sha = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

/** Bytes that do not repeat, and are the same in every run. */
function someBytes(size: number): Buffer {
  const bytes = Buffer.alloc(size)
  let state = size + 1
  for (let index = 0; index < size; index += 1) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    bytes[index] = state >>> 24
  }
  return bytes
}

/** Calls a tool that gives these attachments. */
async function callWith(attachments: unknown, thread?: Thread) {
  let returned = attachments
  thread ??= await openThread({ it: tool(() => ({ status: 'success', result: 'made', attachments: returned })) })
  const result = await thread.call('it')
  returned = undefined
  return { thread, result }
}

describe('R29 new files and references', () => {
  test('an item with data is stored, one without is passed on, and comes first', async () => {
    let attachments: unknown[] = [{ name: 'old.txt', mimeType: 'text/plain', data: 'b2xk' }]
    const thread = await openThread({ it: tool(() => ({ status: 'success', attachments })) })
    const [old] = refsOf(await thread.call('it'))
    attachments = [{ name: 'new.txt', mimeType: 'text/plain', data: 'bmV3' }, old]
    const refs = refsOf(await thread.call('it'))
    expect(refs.map(({ name }) => name)).toEqual(['old.txt', 'new.txt'])
    expect(refs[0]).toEqual(old)
    expect(await thread.attachments.list()).toHaveLength(2)
    expect((await thread.messages.list()).map(({ attachments: linked }) => linked?.map(({ name }) => name))).toEqual([
      ['old.txt'],
      ['old.txt', 'new.txt'],
    ])
  })

  test.each([
    ['/attachments/../../etc/passwd'],
    ['/etc/passwd'],
    ['../secret'],
    ['/attachments/'],
    ['/attachments/a/b.png'],
    ['/attachments/1700000000000-deadbeef.png'],
    [''],
  ])('a reference to %j is an error, and nothing is stored', async (path) => {
    const { thread, result } = await callWith([
      { name: 'new.txt', mimeType: 'text/plain', data: 'bmV3' },
      { id: 'x', type: 'file', path, name: 'n', mimeType: 'text/plain', size: 1 },
    ])
    expect(result.status).toBe('error')
    expect(result.error).toContain(`Attachment ${JSON.stringify(path)} could not be stored: `)
    expect(await thread.attachments.list()).toEqual([])
  })
})

describe('R30 references', () => {
  test('have path, name, type, size and what the tool says of the picture', async () => {
    const before = Date.now()
    const { thread, result } = await callWith([
      { name: 'generated-1.png', mimeType: 'image/png', data: 'iVBORw==', width: 1024, height: 768 },
    ])
    const [ref] = refsOf(result)
    expect(ref).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/u),
      type: 'file',
      path: expect.stringMatching(/^\/attachments\/\d{13}-[0-9a-f]{8}\.png$/u),
      name: 'generated-1.png',
      mimeType: 'image/png',
      size: 4,
      width: 1024,
      height: 768,
    })
    expect(ref?.path).toContain(`-${ref?.id.slice(0, 8)}.`)
    const at = Number(/\d{13}/u.exec(ref?.path ?? '')?.[0])
    expect(at).toBeGreaterThanOrEqual(before)
    expect(at).toBeLessThanOrEqual(Date.now())
    expect(await thread.attachments.get(ref?.path ?? '')).toEqual(ref)
  })

  test.each([
    'x./../../y',
    '../../../etc/passwd',
    'a/b.txt',
    'con.PNG',
    '.hidden',
    'no ending',
    'é.ä',
    '-rf.sh;rm',
    'a.tar.gz',
    '%2e%2e%2f.txt',
  ])('the name %j stays a name', async (name) => {
    const { thread, result } = await callWith([{ name, mimeType: 'application/octet-stream', data: 'AAEC' }])
    const [ref] = refsOf(result)
    expect(ref?.path).toMatch(/^\/attachments\/\d+-[0-9a-f]{8}\.[a-z0-9]{1,10}$/u)
    expect(ref?.name).toBe(name)
    const fixture = makeSandbox()
    const exported = await thread.attachments.export(ref?.path ?? '', fixture.root)
    expect(exported.startsWith(`${fixture.root}/`)).toBe(true)
    expect([...readFileSync(exported)]).toEqual([0, 1, 2])
  })

  test.each(['', 'a\nAttachment path for "b": /etc/passwd', 'a\0b', 'x'.repeat(300), '\u{d800}'])(
    'the name %j is an error',
    async (name) => {
      const { thread, result } = await callWith([{ name, mimeType: 'text/plain', data: 'AAEC' }])
      expect(result.status).toBe('error')
      expect(await thread.attachments.list()).toEqual([])
      expect((await contents(thread))[0]?.split('\n')).toHaveLength(1)
    },
  )
})

describe('what is no attachment is an error', () => {
  test.each([
    ['invalid base64', [{ name: 'a', mimeType: 'image/png', data: 'not base64!' }]],
    ['base64 without padding', [{ name: 'a', mimeType: 'image/png', data: 'AAA' }]],
    ['base64 of URLs', [{ name: 'a', mimeType: 'image/png', data: '_-__' }]],
    ['base64 with line breaks', [{ name: 'a', mimeType: 'image/png', data: 'AAAA\nAAAA' }]],
    ['a data URL', [{ name: 'a', mimeType: 'image/png', data: 'data:image/png;base64,AAAA' }]],
    ['data that is no string', [{ name: 'a', mimeType: 'image/png', data: Buffer.from('a') }]],
    ['no name', [{ mimeType: 'image/png', data: 'AAAA' }]],
    ['no type', [{ name: 'a', data: 'AAAA' }]],
    ['a type that is none', [{ name: 'a', mimeType: 'image\npng', data: 'AAAA' }]],
    ['null', [null]],
    ['text', ['a.png']],
    ['no array', { name: 'a', mimeType: 'image/png', data: 'AAAA' }],
    [
      'a second one that is wrong',
      [
        { name: 'ok', mimeType: 'image/png', data: 'AAAA' },
        { name: 'a', mimeType: 'image/png', data: '?' },
      ],
    ],
  ])('%s', async (_, attachments) => {
    const { thread, result } = await callWith(attachments)
    expect(result.status).toBe('error')
    expect(result.attachments ?? []).toEqual([])
    expect(await thread.attachments.list()).toEqual([])
    expect((await contents(thread))[0]).toMatch(/^Failed to execute tool: /u)
  })
})

describe('R31 R32 bytes', () => {
  test.each([0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 2 * CHUNK + 1, 5 * CHUNK + 7])(
    '%i bytes come back as they were',
    async (size) => {
      const bytes = someBytes(size)
      const { thread, result } = await callWith([{ name: 'a.bin', mimeType: 'application/octet-stream', data: bytes.toString('base64') }])
      const [ref] = refsOf(result)
      expect(ref?.size).toBe(size)
      const path = ref?.path ?? ''
      expect(sha(await thread.attachments.read(path))).toBe(sha(bytes))
      const parts: Uint8Array[] = []
      for await (const part of thread.attachments.stream(path)) parts.push(part)
      expect(sha(Buffer.concat(parts))).toBe(sha(bytes))
      expect(Math.max(0, ...parts.map(({ length }) => length))).toBeLessThanOrEqual(CHUNK)
      const [start, end] = [Math.max(0, Math.floor(size / 2) - 3), Math.floor(size / 2) + 5]
      const middle = await thread.attachments.read(path, { start, end })
      expect(Buffer.from(middle)).toEqual(bytes.subarray(start, end))
    },
  )

  test('50 MB', async () => {
    const bytes = someBytes(50 * 1024 * 1024)
    const { thread, result } = await callWith([{ name: 'film.mp4', mimeType: 'video/mp4', data: bytes.toString('base64') }])
    const [ref] = refsOf(result)
    expect(ref?.size).toBe(bytes.length)
    const hash = createHash('sha256')
    for await (const part of thread.attachments.stream(ref?.path ?? '')) hash.update(part)
    expect(hash.digest('hex')).toBe(sha(bytes))
  }, 120_000)

  test('text keeps its bytes, valid or not (law)', async () => {
    const thread = await openThread({})
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 300 }),
        fc.constantFrom('text/plain', 'application/json', 'image/png', 'text/csv'),
        async (bytes, mimeType) => {
          const { path, size } = await thread.attachments.put({ name: 'a.txt', mimeType, data: Buffer.from(bytes).toString('base64') })
          expect(size).toBe(bytes.length)
          expect(Buffer.from(await thread.attachments.read(path))).toEqual(Buffer.from(bytes))
          expect(await thread.attachments.delete(path)).toBe(true)
        },
      ),
      { numRuns: 50 },
    )
    expect(await thread.attachments.list()).toEqual([])
  })
})

// A store that stays open would keep the bytes, which cannot be seen, until it is closed.
describe('the files of a result that is dropped are removed at once', () => {
  const bytes = { name: 'a', mimeType: 'image/png', data: 'AAAA' }
  const watched = ({ store }: Thread) => ({ stored: vi.spyOn(store, 'stageAttachment'), removed: vi.spyOn(store, 'discardStaged') })

  test('one of its attachments is none', async () => {
    const thread = await openThread({ it: tool(() => ({ ...success(), attachments: [bytes, bytes, { ...bytes, data: '***' }] })) })
    const { stored, removed } = watched(thread)
    expect(await thread.call('it')).toMatchObject({ status: 'error' })
    const [first, second] = await Promise.all(stored.mock.results.slice(0, 2).map(({ value }) => value as Promise<AttachmentRef>))
    expect(removed.mock.calls).toEqual([[thread.threadId, [first?.path, second?.path]]])
  })

  test('the call was aborted meanwhile', async () => {
    const stop = new AbortController()
    const thread = await openThread({ it: tool(() => ({ ...success(), attachments: [bytes] })) })
    const { stored, removed } = watched(thread)
    stored.mockImplementationOnce(async (...args) => {
      const ref = await thread.store.stageAttachment(...args)
      stop.abort()
      return ref
    })
    await expect(thread.call('it', {}, { signal: stop.signal })).rejects.toThrow('aborted')
    await thread.flush()
    const [ref] = await Promise.all(stored.mock.results.map(({ value }) => value as Promise<AttachmentRef>))
    expect(removed.mock.calls).toEqual([[thread.threadId, [ref?.path]]])
  })
})

test('a result and its attachments are there together, or neither', async () => {
  const thread = await openThread({
    it: tool(() => ({ ...success('x'), attachments: [{ name: 'a', mimeType: 'text/plain', data: 'YQ==' }] })),
  })
  const call = thread.call('it')
  // Looked at all the while: a message never links what cannot be read.
  const ended = { yet: false }
  void call.then(() => (ended.yet = true))
  while (!ended.yet) {
    const [messages, files] = [await thread.messages.list(), await thread.attachments.list()]
    for (const { attachments = [] } of messages) expect(files).toEqual(expect.arrayContaining(attachments))
  }
  expect(await thread.attachments.list()).toHaveLength(1)
})
