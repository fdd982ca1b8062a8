/** What a store must do that is open twice, as in two processes. */
import assert from 'node:assert/strict'
import { assertEqual, assertMatches, type TestRunner } from '../../journal/testing/runner.js'
import type { ThreadStore } from '../store/thread-store.js'
import { call, file, ids, message, refuses } from './subject.js'

export function sharedThreadCases({ test }: TestRunner, openTwo: () => Promise<readonly [ThreadStore, ThreadStore]>): void {
  const withTwo = (name: string, run: (one: ThreadStore, other: ThreadStore) => Promise<void>): void =>
    void test(name, async () => {
      const [one, other] = await openTwo()
      try {
        await one.openThread({ threadId: 't', flowId: 'f' })
        await run(one, other)
      } finally {
        await Promise.all([one.close(), other.close()])
      }
    })

  withTwo('what one has written, the other reads', async (one, other) => {
    await one.writeValues('t', [['k', '1']])
    const { path } = await one.stageAttachment('t', file())
    await one.commit('t', { messages: [message('m')], enqueue: [call('a')], attachments: [path] })
    assertMatches(await other.openThread({ threadId: 't', flowId: 'other' }), { flowId: 'f' })
    assertEqual(await other.readValues('t', ['k']), [['k', '1']])
    assertEqual(ids(await other.listMessages('t')), ['m'])
    assertMatches(await other.getCall('t', 'a'), { status: 'queued' })
    assert.deepEqual(await other.readAttachment('t', path), await one.readAttachment('t', path))
  })

  withTwo('a thread that both open at the same time is one', async (one, other) => {
    const threads = await Promise.all(
      [one, other, one, other].map((store, index) => store.openThread({ threadId: 'u', flowId: `flow ${index}` })),
    )
    for (const thread of threads) assertEqual(thread, threads[0])
    assert.equal((await one.listThreads()).length, 2)
  })

  withTwo('one worker over both, and what it left running goes to the other one', async (one, other) => {
    await one.commit('t', { enqueue: [call('a'), call('b')] })
    const worker = await one.lockThread('t')
    assertMatches(await worker.claim(), { id: 'a' })
    await refuses('THREAD_LOCKED', () => other.lockThread('t', { waitMs: 0 }))
    await refuses('THREAD_LOCKED', () => other.deleteThread('t'))
    const next = other.lockThread('t')
    worker.release()
    const second = await next
    assertEqual(ids(second.interrupted), ['a'])
    assertMatches(await second.claim(), { id: 'b' })
    second.release()
  })

  withTwo('threads are locked apart from each other', async (one, other) => {
    await one.openThread({ threadId: 'u', flowId: 'f' })
    const workers = [await one.lockThread('t', { waitMs: 0 }), await other.lockThread('u', { waitMs: 0 })]
    for (const worker of workers) worker.release()
  })

  withTwo('a worker ends with its store, and so does what it has staged', async (one, other) => {
    await one.commit('t', { enqueue: [call('a')] })
    await (await one.lockThread('t')).claim()
    const { path } = await one.stageAttachment('t', file())
    await one.close()
    const worker = await other.lockThread('t')
    assertEqual(ids(worker.interrupted), ['a'])
    await refuses('THREAD_ATTACHMENT_NOT_FOUND', () => other.commit('t', { attachments: [path] }))
    worker.release()
  })

  withTwo('commits of both at the same time have numbers of their own', async (one, other) => {
    const names = Array.from({ length: 40 }, (_, index) => `m${index}`)
    await Promise.all(
      names.map((id, index) => (index % 2 === 0 ? one : other).commit('t', { messages: [message(id)], enqueue: [call(id)] })),
    )
    const expected = names.map((_, index) => index + 1)
    assertEqual(
      (await one.listMessages('t')).map(({ seq }) => seq),
      expected,
    )
    assertEqual(
      (await other.listCalls('t')).map(({ seq }) => seq),
      expected,
    )
  })

  withTwo('of many commits of one id, one is made', async (one, other) => {
    const asks = [one, other, one, other].map((store) => store.commit('t', { messages: [message('m')], enqueue: [call('a')] }))
    const settled = await Promise.allSettled(asks)
    assert.equal(settled.filter(({ status }) => status === 'fulfilled').length, 1)
    for (const result of settled) {
      if (result.status === 'rejected') assert.equal((result.reason as { code?: unknown }).code, 'THREAD_DUPLICATE_ID')
    }
    assert.equal((await one.listMessages('t')).length, 1)
  })
}
