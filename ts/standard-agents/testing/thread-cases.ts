/** What a store must do with threads, their values and messages, and commits. */
import assert from 'node:assert/strict'
import { any, assertEqual, assertMatches } from '../../journal/testing/runner.js'
import { call, file, ids, message, refuses, type WithStore } from './subject.js'

const NO_IDS = ['', 'a\0b', 'a\nb', '\ud800', 'x'.repeat(513)]

export function threadCases(test: WithStore): void {
  test('threads are created once, listed and deleted', async (store) => {
    const thread = await store.openThread({ threadId: 'ünï/cödé', flowId: 'g' })
    assertEqual(thread, { threadId: 'ünï/cödé', flowId: 'g', createdAtMs: any('number') })
    assertEqual(await store.openThread({ threadId: 'ünï/cödé', flowId: 'other' }), thread)
    assertEqual(await store.getThread('ünï/cödé'), thread)
    assertEqual(
      (await store.listThreads()).map(({ threadId }) => threadId),
      ['t', 'ünï/cödé'],
    )
    await store.writeValues('ünï/cödé', [['k', '1']])
    assert.equal(await store.deleteThread('ünï/cödé'), true)
    assert.equal(await store.deleteThread('ünï/cödé'), false)
    assert.equal(await store.getThread('ünï/cödé'), undefined)
    await store.openThread({ threadId: 'ünï/cödé', flowId: 'g' })
    assertEqual(await store.readValues('ünï/cödé', ['k']), [])
  })

  for (const threadId of NO_IDS) {
    test(`an id that is none is refused: ${JSON.stringify(threadId)}`, async (store) => {
      await refuses('THREAD_NAME_REFUSED', () => store.openThread({ threadId, flowId: 'f' }))
    })
  }

  test('every method refuses a thread that does not exist', async (store) => {
    const asks = [
      () => store.readValues('x', ['k']),
      () => store.writeValues('x', [['k', '1']]),
      () => store.commit('x', { messages: [message('m')] }),
      () => store.lockThread('x', { waitMs: 0 }),
      () => store.stageAttachment('x', file()),
    ]
    for (const ask of asks) await refuses('THREAD_NOT_FOUND', ask)
  })

  test('values by key, apart for each thread', async (store) => {
    await store.openThread({ threadId: 'u', flowId: 'f' })
    await store.writeValues('u', [['a', 'foreign']])
    await store.writeValues('t', [
      ['b', '1'],
      ['a', '2'],
      ['b', '3'],
      ['', 'empty'],
    ])
    assertEqual(await store.readValues('t', ['b', 'a', 'none', 'a']), [
      ['a', '2'],
      ['b', '3'],
    ])
    assert.equal(await store.deleteValues('t', ['a', 'a', 'none']), 1)
    assertEqual(await store.listValues('t', {}), [
      ['', 'empty'],
      ['b', '3'],
    ])
    await store.deleteAllValues('t')
    assertEqual(await store.listValues('t', {}), [])
    assertEqual(await store.listValues('u', {}), [['a', 'foreign']])
  })

  test('values of a range, in the order of UTF-8', async (store) => {
    // UTF-16 has the last two the other way round, and a collation of people the first ones.
    const keys = ['B', 'a', 'a1', 'ab', 'b', 'é', '\uffee', '😀']
    await store.writeValues(
      't',
      keys.toReversed().map((key) => [key, `"${key}"`] as const),
    )
    const listed = async (range: Parameters<typeof store.listValues>[1]) => (await store.listValues('t', range)).map(([key]) => key)
    assertEqual(await listed({}), keys)
    assertEqual(await listed({ reverse: true, limit: 3 }), ['😀', '\uffee', 'é'])
    assertEqual(await listed({ prefix: 'a' }), ['a', 'a1', 'ab'])
    assertEqual(await listed({ prefix: 'a', startAfter: 'a', limit: 1 }), ['a1'])
    assertEqual(await listed({ start: 'a1', end: 'b' }), ['a1', 'ab'])
    assertEqual(await listed({ prefix: '\u{10ffff}' }), [])
  })

  test('messages by number, in parts', async (store) => {
    const { messages } = await store.commit('t', {
      messages: [message('a'), { ...message('b'), callId: 'c' }, { role: 'user', bodyJson: '1' }],
    })
    assertMatches(messages, [
      { id: 'a', seq: 1, callId: null },
      { seq: 2, callId: 'c' },
      { seq: 3, role: 'user' },
    ])
    assertEqual(await store.listMessages('t'), messages)
    assertEqual(ids(await store.listMessages('t', { after: 1, limit: 1 })), ['b'])
    assertEqual(ids(await store.listMessages('t', { reverse: true, after: 3 })), ['b', 'a'])
  })

  test('a commit is all or nothing', async (store) => {
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
      await refuses(code, () => store.commit('t', changes))
      assertMatches(await store.getCall('t', 'a'), { status: 'running', resultJson: null })
      assert.equal(await store.getCall('t', 'b'), undefined)
      assertEqual(ids(await store.listMessages('t')), ['first'])
      assertEqual(await store.listAttachments('t'), [])
    }
    await store.commit('t', good)
    assertMatches(await store.getCall('t', 'a'), { status: 'success' })
    assertEqual(ids(await store.listMessages('t')), ['first', 'm'])
    assertMatches(await store.listAttachments('t'), [{ path }])
    await refuses('THREAD_CALL_STATE', () => store.commit('t', { finish }))
    worker.release()
  })

  test('commits at the same time have numbers of their own', async (store) => {
    const names = Array.from({ length: 50 }, (_, index) => `m${index}`)
    const committed = await Promise.all(names.map((id) => store.commit('t', { messages: [message(id)], enqueue: [call(id)] })))
    const numbers = (seqs: number[]): number[] => seqs.sort((a, b) => a - b)
    const expected = names.map((_, index) => index + 1)
    assertEqual(numbers(committed.map(({ messages }) => messages[0]?.seq ?? 0)), expected)
    assertEqual(numbers((await store.listMessages('t')).map(({ seq }) => seq)), expected)
    assertEqual(numbers((await store.listCalls('t')).map(({ seq }) => seq)), expected)
  })

  test('a store that was closed says so, and closes again', async (store) => {
    await store.close()
    await store.close()
    const asks = [
      () => store.openThread({ threadId: 'x', flowId: 'f' }),
      () => store.commit('t', {}),
      () => store.listMessages('t'),
      () => store.lockThread('t'),
    ]
    for (const ask of asks) await refuses('THREAD_CLOSED', ask)
  })
}
