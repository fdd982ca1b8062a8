import { describe, expect, onTestFinished, test } from 'vitest'
import { makeSandbox } from '../../support/sandbox.ts'
import type { AttachmentRef, NewQueuedCall, ThreadStore } from './stores.ts'

const call = (id: string, more: Partial<NewQueuedCall> = {}): NewQueuedCall => ({ id, name: 'tool', argumentsJson: '{}', ...more })
const message = (id: string) => ({ id, role: 'tool', bodyJson: `{"id":"${id}"}` })
const bytes = Buffer.from('bytes of a file')
const ids = (rows: { id: string }[]): string[] => rows.map(({ id }) => id)
const file = (more: Partial<Parameters<ThreadStore['stageAttachment']>[1]> = {}) => ({
  name: 'a.txt',
  mimeType: 'application/octet-stream',
  data: bytes.toString('base64'),
  ...more,
})

/** What every store must do. `open` gives an empty one. */
export function threadStoreConformance(name: string, open: () => Promise<ThreadStore>): void {
  const opened = async (): Promise<ThreadStore> => {
    const store = await open()
    onTestFinished(() => store.close())
    await store.openThread({ threadId: 't', flowId: 'f' })
    return store
  }
  const attach = async (store: ThreadStore, more?: Parameters<typeof file>[0]): Promise<AttachmentRef> => {
    const ref = await store.stageAttachment('t', file(more))
    await store.commit('t', { attachments: [ref.path] })
    return ref
  }

  describe(`a thread store: ${name}`, () => {
    test('threads are created once, listed and deleted', async () => {
      const store = await opened()
      const thread = await store.openThread({ threadId: 'ünï/cödé', flowId: 'g' })
      expect(thread).toEqual({ threadId: 'ünï/cödé', flowId: 'g', createdAtMs: expect.any(Number) })
      expect(await store.openThread({ threadId: 'ünï/cödé', flowId: 'other' })).toEqual(thread)
      expect(await store.getThread('ünï/cödé')).toEqual(thread)
      expect((await store.listThreads()).map(({ threadId }) => threadId)).toEqual(['t', 'ünï/cödé'])
      await store.writeValues('ünï/cödé', [['k', '1']])
      expect(await store.deleteThread('ünï/cödé')).toBe(true)
      expect(await store.deleteThread('ünï/cödé')).toBe(false)
      expect(await store.getThread('ünï/cödé')).toBeUndefined()
      await store.openThread({ threadId: 'ünï/cödé', flowId: 'g' })
      expect(await store.readValues('ünï/cödé', ['k'])).toEqual([])
    })

    test.each(['', 'a\0b', 'a\nb', '\ud800', 'x'.repeat(513)])('an id that is none is refused: %j', async (threadId) => {
      const store = await opened()
      await expect(store.openThread({ threadId, flowId: 'f' })).rejects.toMatchObject({ code: 'THREAD_NAME_REFUSED' })
    })

    test('every method refuses a thread that does not exist', async () => {
      const store = await opened()
      const missing = { code: 'THREAD_NOT_FOUND' }
      await expect(store.readValues('x', ['k'])).rejects.toMatchObject(missing)
      await expect(store.writeValues('x', [['k', '1']])).rejects.toMatchObject(missing)
      await expect(store.commit('x', { messages: [message('m')] })).rejects.toMatchObject(missing)
      await expect(store.lockThread('x', { waitMs: 0 })).rejects.toMatchObject(missing)
      await expect(store.stageAttachment('x', file())).rejects.toMatchObject(missing)
    })

    test('values by key, apart for each thread', async () => {
      const store = await opened()
      await store.openThread({ threadId: 'u', flowId: 'f' })
      await store.writeValues('u', [['a', 'foreign']])
      await store.writeValues('t', [
        ['b', '1'],
        ['a', '2'],
        ['b', '3'],
        ['', 'empty'],
      ])
      expect(await store.readValues('t', ['b', 'a', 'none', 'a'])).toEqual([
        ['a', '2'],
        ['b', '3'],
      ])
      expect(await store.deleteValues('t', ['a', 'a', 'none'])).toBe(1)
      expect(await store.listValues('t', {})).toEqual([
        ['', 'empty'],
        ['b', '3'],
      ])
      await store.deleteAllValues('t')
      expect(await store.listValues('t', {})).toEqual([])
      expect(await store.listValues('u', {})).toEqual([['a', 'foreign']])
    })

    test('R33 calls run in the order in which they were queued: a call that queues one gets behind the others', async () => {
      const store = await opened()
      const { calls } = await store.commit('t', { enqueue: [call('a'), call('b')] })
      expect(calls).toMatchObject([
        { id: 'a', status: 'queued', queue: 'root', attempts: 0, forceAllow: false, resultJson: null, startedAtMs: null },
        { id: 'b' },
      ])
      expect(calls[0]?.queuedAtUs).toBeGreaterThan((Date.now() - 60_000) * 1000)
      const worker = await store.lockThread('t')
      expect(await worker.claim()).toMatchObject({ id: 'a', status: 'running', attempts: 1, startedAtMs: expect.any(Number) })
      await store.commit('t', { finish: { callId: 'a', status: 'success', resultJson: '"A"' }, enqueue: [call('c', { forceAllow: true })] })
      const order = [await worker.claim(), await worker.claim(), await worker.claim()]
      expect(order.map((one) => one?.id)).toEqual(['b', 'c', undefined])
      expect(await store.getCall('t', 'a')).toMatchObject({ status: 'success', resultJson: '"A"', finishedAtMs: expect.any(Number) })
      expect(await store.getCall('t', 'none')).toBeUndefined()
      worker.release()
    })

    test('R36 a queue of another name is a queue of its own', async () => {
      const store = await opened()
      const info = { queue: 'side', parentCallId: 'a', infoJson: '{"depth":1}' }
      await store.commit('t', { enqueue: [call('a'), call('b', info)] })
      const worker = await store.lockThread('t')
      expect(await worker.claim('side')).toMatchObject({ id: 'b', ...info })
      expect(await worker.claim('side')).toBeUndefined()
      expect(await worker.claim()).toMatchObject({ id: 'a' })
      worker.release()
    })

    test('one worker at a time; what it left running goes to the next one', async () => {
      const store = await opened()
      await store.commit('t', { enqueue: [call('a'), call('b')] })
      const worker = await store.lockThread('t')
      expect(worker.interrupted).toEqual([])
      await worker.claim()
      await expect(store.lockThread('t', { waitMs: 0 })).rejects.toMatchObject({ code: 'THREAD_LOCKED' })
      await expect(store.deleteThread('t')).rejects.toMatchObject({ code: 'THREAD_LOCKED' })
      const next = store.lockThread('t')
      worker.release()
      worker.release()
      await expect(worker.claim()).rejects.toMatchObject({ code: 'THREAD_LOCKED' })
      const second = await next
      expect(ids([...second.interrupted])).toEqual(['a'])
      expect(await second.requeue('a')).toMatchObject({ id: 'a', status: 'queued', attempts: 1 })
      expect(await second.claim()).toMatchObject({ id: 'a', attempts: 2 })
      await expect(second.requeue('b')).rejects.toMatchObject({ code: 'THREAD_CALL_STATE' })
      expect(await second.claimCall('b')).toMatchObject({ id: 'b', status: 'running' })
      await expect(second.claimCall('b')).rejects.toMatchObject({ code: 'THREAD_CALL_STATE' })
      await expect(second.claimCall('none')).rejects.toMatchObject({ code: 'THREAD_CALL_NOT_FOUND' })
      second.release()
    })

    test('a worker that is locked in the moment of the abort is released', async () => {
      const store = await opened()
      const controller = new AbortController()
      const asked = store.lockThread('t', { signal: controller.signal })
      controller.abort(new Error('enough'))
      // A caller that gets it nevertheless releases it; nothing else has it.
      await asked.then(
        (worker) => worker.release(),
        (error: unknown) => expect(error).toMatchObject({ message: 'enough' }),
      )
      ;(await store.lockThread('t', { waitMs: 0 })).release()
    })

    test('waiting for a worker stops at an abort, with its reason', async () => {
      const store = await opened()
      const worker = await store.lockThread('t')
      const controller = new AbortController()
      const waiting = store.lockThread('t', { signal: controller.signal })
      setTimeout(() => controller.abort(new Error('enough')), 20)
      await expect(waiting).rejects.toThrow('enough')
      worker.release()
      ;(await store.lockThread('t', { waitMs: 0 })).release()
    })

    test('R16 what is queued can be taken back', async () => {
      const store = await opened()
      await store.commit('t', { enqueue: [call('a'), call('b'), call('c', { queue: 'side' })] })
      const worker = await store.lockThread('t')
      await worker.claim()
      expect(await store.cancelQueued('t', 'root')).toMatchObject([{ id: 'b', status: 'cancelled' }])
      expect(ids(await store.cancelQueued('t'))).toEqual(['c'])
      expect(await worker.claim()).toBeUndefined()
      expect(ids(await store.listCalls('t', { status: 'cancelled' }))).toEqual(['b', 'c'])
      expect(ids(await store.listCalls('t', { queue: 'root', reverse: true, limit: 1 }))).toEqual(['b'])
      worker.release()
    })

    test('messages by number, in parts', async () => {
      const store = await opened()
      const { messages } = await store.commit('t', {
        messages: [message('a'), { ...message('b'), callId: 'c' }, { role: 'user', bodyJson: '1' }],
      })
      expect(messages).toMatchObject([
        { id: 'a', seq: 1, callId: null },
        { seq: 2, callId: 'c' },
        { seq: 3, role: 'user' },
      ])
      expect(await store.listMessages('t')).toEqual(messages)
      expect(ids(await store.listMessages('t', { after: 1, limit: 1 }))).toEqual(['b'])
      expect(ids(await store.listMessages('t', { reverse: true, after: 3 }))).toEqual(['b', 'a'])
    })

    test('a commit is all or nothing', async () => {
      const store = await opened()
      await store.commit('t', { enqueue: [call('a')], messages: [message('first')] })
      const worker = await store.lockThread('t')
      await worker.claim()
      const { path } = await store.stageAttachment('t', file())
      const finish = { callId: 'a', status: 'success', resultJson: '1' } as const
      const good = { finish, attachments: [path], messages: [message('m')], enqueue: [call('b')] }
      const bad = [
        [{ ...good, attachments: [path, '/attachments/1-none.bin'] }, 'THREAD_ATTACHMENT_NOT_FOUND'],
        [{ ...good, messages: [message('m'), message('first')] }, 'THREAD_DUPLICATE_ID'],
        [{ ...good, enqueue: [call('b'), call('a')] }, 'THREAD_DUPLICATE_ID'],
        [{ ...good, finish: { ...finish, callId: 'none' } }, 'THREAD_CALL_NOT_FOUND'],
      ] as const
      for (const [changes, code] of bad) {
        await expect(store.commit('t', changes)).rejects.toMatchObject({ code })
        expect(await store.getCall('t', 'a')).toMatchObject({ status: 'running', resultJson: null })
        expect(await store.getCall('t', 'b')).toBeUndefined()
        expect(ids(await store.listMessages('t'))).toEqual(['first'])
        expect(await store.listAttachments('t')).toEqual([])
      }
      await store.commit('t', good)
      expect(await store.getCall('t', 'a')).toMatchObject({ status: 'success' })
      expect(ids(await store.listMessages('t'))).toEqual(['first', 'm'])
      expect(await store.listAttachments('t')).toMatchObject([{ path }])
      await expect(store.commit('t', { finish })).rejects.toMatchObject({ code: 'THREAD_CALL_STATE' })
      worker.release()
    })

    test('R29 R30 an attachment has a reference, and its bytes', async () => {
      const store = await opened()
      const ref = await attach(store, { name: 'Report.PDF', width: 3, height: 4 })
      expect(ref).toEqual({
        id: expect.stringMatching(/^[0-9a-f-]{36}$/u),
        type: 'file',
        path: expect.stringMatching(/^\/attachments\/\d{13}-[0-9a-f]{8}\.pdf$/u),
        name: 'Report.PDF',
        mimeType: 'application/octet-stream',
        size: bytes.length,
        width: 3,
        height: 4,
      })
      expect(ref.path.split('-')[1]).toBe(`${ref.id.slice(0, 8)}.pdf`)
      expect(await store.getAttachment('t', ref.path)).toEqual(ref)
      expect(Buffer.from(await store.readAttachment('t', ref.path))).toEqual(bytes)
      expect(Buffer.from(await store.readAttachment('t', ref.path, { start: 6, end: 8 })).toString()).toBe('of')
      expect(await store.readAttachment('t', ref.path, { start: 99 })).toHaveLength(0)
      expect(await store.readAttachment('t', ref.path, { start: 5, end: 2 })).toHaveLength(0)
      const stream = async function* () {
        yield bytes.subarray(0, 5)
        yield bytes.subarray(5)
      }
      for (const data of [bytes, stream()]) {
        const { path, size } = await attach(store, { data })
        expect(size).toBe(bytes.length)
        expect(Buffer.from(await store.readAttachment('t', path))).toEqual(bytes)
      }
      expect(await store.listAttachments('t')).toHaveLength(3)
      expect(await store.deleteAttachment('t', ref.path)).toBe(true)
      expect(await store.deleteAttachment('t', ref.path)).toBe(false)
      await expect(store.readAttachment('t', ref.path)).rejects.toMatchObject({ code: 'THREAD_ATTACHMENT_NOT_FOUND' })
    })

    test('what is staged cannot be read, and can be discarded', async () => {
      const store = await opened()
      const [a, b] = [await store.stageAttachment('t', file()), await store.stageAttachment('t', file())]
      expect(await store.getAttachment('t', a.path)).toBeUndefined()
      await expect(store.readAttachment('t', a.path)).rejects.toMatchObject({ code: 'THREAD_ATTACHMENT_NOT_FOUND' })
      await store.commit('t', { attachments: [b.path] })
      await store.discardStaged('t', [a.path, b.path])
      await expect(store.commit('t', { attachments: [a.path] })).rejects.toMatchObject({ code: 'THREAD_ATTACHMENT_NOT_FOUND' })
      expect(await store.listAttachments('t')).toEqual([b])
    })

    test.each([
      'a',
      'aGVsbG8',
      'aGVs bG8=',
      'aGVsbG8=\n',
      'aG-_',
      'data:text/plain;base64,aGVs',
      'aGVsbG9=',
      'é',
      '\ud83d\ude00\ud83d\ude00',
    ])('R29 base64 is strict: %j', async (data) => {
      const store = await opened()
      await expect(store.stageAttachment('t', file({ data }))).rejects.toMatchObject({ code: 'THREAD_ENCODING_INVALID' })
    })

    test.each(['../../../etc/passwd', 'x./../../y', '/abs', 'a\\b', 'a.p/g', 'x.%2e%2e'])(
      'R30 a hostile name stays inside: %j',
      async (hostile) => {
        const store = await opened()
        const ref = await attach(store, { name: hostile })
        expect(ref.name).toBe(hostile)
        expect(ref.path).toMatch(/^\/attachments\/\d+-[0-9a-f]{8}\.[a-z0-9]{1,10}$/u)
        const { root } = makeSandbox()
        expect(await store.exportAttachment('t', ref.path, root)).toBe(ref.path.replace('/attachments', root))
      },
    )

    test.each(['', 'a\0b', 'a\nb', '\u001b[2J', 'a\u202egnp.exe', '\ud800', 'x'.repeat(256)])(
      'a name that is none is refused: %j',
      async (hostile) => {
        const store = await opened()
        await expect(store.stageAttachment('t', file({ name: hostile }))).rejects.toMatchObject({ code: 'THREAD_NAME_REFUSED' })
      },
    )

    test.each(['', 'png', 'image/', 'image/p ng', 'image/png\n'])('a MIME type that is none is refused: %j', async (mimeType) => {
      const store = await opened()
      await expect(store.stageAttachment('t', file({ mimeType }))).rejects.toMatchObject({ code: 'THREAD_NAME_REFUSED' })
    })

    test.each(['/attachments/../x', '/attachments/', '/attachments/a/b', '/etc/passwd', '', '/attachments/..'])(
      'a path that leads elsewhere is refused: %j',
      async (path) => {
        const store = await opened()
        await expect(store.getAttachment('t', path)).rejects.toMatchObject({ code: 'THREAD_NAME_REFUSED' })
        await expect(store.readAttachment('t', path)).rejects.toMatchObject({ code: 'THREAD_NAME_REFUSED' })
      },
    )

    test('a store that was closed says so, and closes again', async () => {
      const store = await opened()
      await store.close()
      await store.close()
      const asks = [
        () => store.openThread({ threadId: 'x', flowId: 'f' }),
        () => store.commit('t', {}),
        () => store.listMessages('t'),
        () => store.lockThread('t'),
      ]
      for (const ask of asks) await expect(ask()).rejects.toMatchObject({ code: 'THREAD_CLOSED' })
    })
  })
}
