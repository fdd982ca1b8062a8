/** What a store must do with the queue of a thread, and its worker. */
import assert from 'node:assert/strict'
import { any, assertEqual, assertMatches } from '../../journal/testing/runner.js'
import { call, ids, refuses, type WithStore } from './subject.js'

export function callCases(test: WithStore): void {
  test('calls run in the order in which they were queued: a call that queues one gets behind the others', async (store) => {
    const { calls } = await store.commit('t', { enqueue: [call('a'), call('b')] })
    assertMatches(calls, [
      { id: 'a', status: 'queued', queue: 'root', attempts: 0, forceAllow: false, resultJson: null, startedAtMs: null },
      { id: 'b' },
    ])
    assert.ok(Number(calls[0]?.queuedAtUs) > (Date.now() - 60_000) * 1000)
    const worker = await store.lockThread('t')
    assertMatches(await worker.claim(), { id: 'a', status: 'running', attempts: 1, startedAtMs: any('number') })
    await store.commit('t', { finish: { callId: 'a', status: 'success', resultJson: '"A"' }, enqueue: [call('c', { forceAllow: true })] })
    const order = [await worker.claim(), await worker.claim(), await worker.claim()]
    assertEqual(
      order.map((one) => one?.id),
      ['b', 'c', undefined],
    )
    assertMatches(await store.getCall('t', 'a'), { status: 'success', resultJson: '"A"', finishedAtMs: any('number') })
    assertMatches(await store.getCall('t', 'c'), { forceAllow: true })
    assert.equal(await store.getCall('t', 'none'), undefined)
    worker.release()
  })

  test('a queue of another name is a queue of its own', async (store) => {
    const info = { queue: 'side', parentCallId: 'a', infoJson: '{"depth":1}' }
    await store.commit('t', { enqueue: [call('a'), call('b', info)] })
    const worker = await store.lockThread('t')
    assertMatches(await worker.claim('side'), { id: 'b', ...info })
    assert.equal(await worker.claim('side'), undefined)
    assertMatches(await worker.claim(), { id: 'a' })
    worker.release()
  })

  test('one worker at a time; what it left running goes to the next one', async (store) => {
    await store.commit('t', { enqueue: [call('a'), call('b')] })
    const worker = await store.lockThread('t')
    assertEqual(worker.interrupted, [])
    await worker.claim()
    await refuses('THREAD_LOCKED', () => store.lockThread('t', { waitMs: 0 }))
    await refuses('THREAD_LOCKED', () => store.deleteThread('t'))
    const next = store.lockThread('t')
    worker.release()
    worker.release()
    await refuses('THREAD_LOCKED', () => worker.claim())
    const second = await next
    assertEqual(ids(second.interrupted), ['a'])
    assertMatches(await second.requeue('a'), { id: 'a', status: 'queued', attempts: 1 })
    assertMatches(await second.claim(), { id: 'a', attempts: 2 })
    await refuses('THREAD_CALL_STATE', () => second.requeue('b'))
    assertMatches(await second.claimCall('b'), { id: 'b', status: 'running' })
    await refuses('THREAD_CALL_STATE', () => second.claimCall('b'))
    await refuses('THREAD_CALL_NOT_FOUND', () => second.claimCall('none'))
    second.release()
  })

  test('a worker that is locked in the moment of the abort is released', async (store) => {
    const controller = new AbortController()
    const asked = store.lockThread('t', { signal: controller.signal })
    controller.abort(new Error('enough'))
    // A caller that gets it nevertheless releases it; nothing else has it.
    await asked.then(
      (worker) => worker.release(),
      (error: unknown) => assert.equal((error as Error).message, 'enough'),
    )
    ;(await store.lockThread('t', { waitMs: 0 })).release()
  })

  test('waiting for a worker stops at an abort, with its reason', async (store) => {
    const worker = await store.lockThread('t')
    const controller = new AbortController()
    const waiting = store.lockThread('t', { signal: controller.signal })
    setTimeout(() => controller.abort(new Error('enough')), 20)
    await assert.rejects(waiting, /enough/u)
    worker.release()
    ;(await store.lockThread('t', { waitMs: 0 })).release()
  })

  test('what is queued can be taken back', async (store) => {
    await store.commit('t', { enqueue: [call('a'), call('b'), call('c', { queue: 'side' })] })
    const worker = await store.lockThread('t')
    await worker.claim()
    assertMatches(await store.cancelQueued('t', 'root'), [{ id: 'b', status: 'cancelled' }])
    assertEqual(ids(await store.cancelQueued('t')), ['c'])
    assert.equal(await worker.claim(), undefined)
    assertEqual(ids(await store.listCalls('t', { status: 'cancelled' })), ['b', 'c'])
    assertEqual(ids(await store.listCalls('t', { queue: 'root', reverse: true, limit: 1 })), ['b'])
    worker.release()
  })
}
