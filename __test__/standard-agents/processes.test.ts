import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createThread, defineTool, openThreadStore, queueTool, type Thread } from 'toolwright/standard-agents'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { startScript } from '../support/child-script.ts'
import { runs, seed } from '../support/randomised.ts'
import { makeSandbox } from '../support/sandbox.ts'
import type { OpenThread } from '../../ts/standard-agents/thread/open-thread.ts'
import { gate, openThread, order, success, tool } from './support.ts'

const program = fileURLToPath(new URL('thread-process.ts', import.meta.url))
const start = (file: string, mode: string, calls = 0) => startScript(program, [file, 't', mode, String(calls)])
const numbers = z.object({ n: z.number() })

/** Queues `count` steps in a thread, for other processes to do. */
async function queueSteps(file: string, count: number): Promise<void> {
  const store = await openThreadStore(`file:${file}`)
  await store.openThread({ threadId: 't', flowId: 'f' })
  const enqueue = Array.from({ length: count }, (_, n) => ({ name: 'step', argumentsJson: JSON.stringify({ n: n + 1 }) }))
  await store.commit('t', { enqueue })
  await store.close()
}

/** The steps whose outcomes are in the thread, in its order; checks what belongs to each. */
async function outcomes(file: string): Promise<[n: number, status: string][]> {
  await using thread: Thread = await createThread({ tools: {}, store: `file:${file}`, threadId: 't', resume: false })
  const messages = await thread.messages.list()
  for (const { status, attachments = [], args, callId = '' } of messages) {
    const { n } = args as { n: number }
    expect(attachments).toHaveLength(status === 'success' ? 1 : 0)
    for (const { path } of attachments) expect(Buffer.from(await thread.attachments.read(path)).toString()).toBe(String(n))
    if (status === 'success') expect(await thread.storage.get(`step-${n}`)).toBe(n)
    expect((await thread.outcome(callId))?.status).toBe(status)
  }
  expect(await thread.attachments.list()).toHaveLength(messages.filter(({ status }) => status === 'success').length)
  expect(await thread.queued()).toEqual([])
  return messages.map(({ args, status = '' }) => [(args as { n: number }).n, status])
}

describe('a process that is killed', () => {
  const STEPS = 25
  test.each(['error', 'retry'])(
    'R16 R33 loses nothing: every queued call has its outcome, once and in order (%s)',
    async (mode) => {
      for (let round = 0; round < runs(1); round += 1) {
        const file = makeSandbox().at('thread.db')
        await queueSteps(file, STEPS)
        let random = seed + round
        for (let kill = 0; kill < 3; kill += 1) {
          random = (Math.imul(random, 1_103_515_245) + 12_345) >>> 0
          const { child, ended, printed } = start(file, mode)
          await printed('step ').catch(() => undefined)
          await sleep(random % 40)
          child.kill('SIGKILL')
          await ended
        }
        expect(await start(file, mode).ended).toMatchObject({ code: 0, stdout: expect.stringContaining('done') })
        const steps = await outcomes(file)
        expect(steps.map(([n]) => n)).toEqual(Array.from({ length: STEPS }, (_, n) => n + 1))
        const begun = readFileSync(`${file}.log`, 'utf8')
          .split('\n')
          .filter((line) => line.startsWith('step '))
        if (mode === 'error') {
          expect(steps.filter(([, status]) => status === 'error').length).toBeLessThanOrEqual(3)
          // Nothing was begun twice.
          expect(new Set(begun).size).toBe(begun.length)
        } else {
          expect(steps.filter(([, status]) => status === 'success').length).toBeGreaterThanOrEqual(STEPS - 1)
        }
      }
    },
    120_000,
  )

  test('its result says that it was interrupted, by default', async () => {
    const file = makeSandbox().at('thread.db')
    await queueSteps(file, 1)
    const { child, ended, printed } = start(file, 'error')
    await printed('step 1')
    child.kill('SIGKILL')
    await ended
    await using thread = await createThread({ tools: {}, store: `file:${file}`, threadId: 't' })
    await thread.flush()
    const [message, ...more] = await thread.messages.list()
    // A process that is killed after the end of a call has its result; before, another process decides.
    if (message?.status === 'error')
      expect(message.content).toMatch(/^Failed to execute tool: Interrupted: .*may or may not have happened\.$/u)
    expect(more).toEqual([])
  }, 60_000)
})

test('the result of a call that was interrupted has the id that its agent knows', async () => {
  const location = `file:${makeSandbox().at('thread.db')}`
  const dead = await openThreadStore(location)
  const [started, hold] = [gate(), gate()]
  const thread = await openThread({ it: tool(() => (started.open(), hold.opened.then(() => success()))) }, { store: dead, threadId: 't' })
  const call = thread.call('it', {}, { toolCallId: 'sdk-7' })
  await started.opened
  // As its death would: it loses its right, and cannot store anything any more.
  await dead.close()
  hold.open()
  await expect(call).rejects.toThrow('[THREAD_CLOSED]')
  const next = await openThread({}, { store: location, threadId: 't' })
  await next.flush()
  expect(await next.messages.list()).toMatchObject([
    { status: 'error', toolCallId: 'sdk-7', content: expect.stringContaining('Interrupted') },
  ])
}, 30_000)

test.each([
  [2, 'success', 1],
  [3, 'error', 0],
])('a call that was begun %i times when its process died: %s', async (attempts, status, runs) => {
  const store = await openThreadStore('memory:')
  onTestFinished(() => store.close())
  await store.openThread({ threadId: 't', flowId: 'f' })
  await store.commit('t', { enqueue: [{ id: 'c', name: 'it', argumentsJson: '{}' }] })
  for (let begun = 1; begun <= attempts; begun += 1) {
    const dead = await store.lockThread('t')
    if (begun > 1) await dead.requeue('c')
    await dead.claim()
    dead.release()
  }
  const execute = vi.fn(() => success())
  const thread = await openThread({ it: tool(execute) }, { store, threadId: 't', onInterrupted: 'retry' })
  await thread.flush()
  expect(await thread.outcome('c')).toMatchObject({ status })
  expect(execute).toHaveBeenCalledTimes(runs)
})

test('R37 a chain of queued calls that another process goes on with has the same end', async () => {
  const store = await openThreadStore('memory:')
  onTestFinished(() => store.close())
  let calls = 0
  let closing: Promise<void> | undefined
  const again = tool((state) => {
    calls += 1
    queueTool(state, 'again')
    if (calls === 600) closing = first.close()
    return success()
  })
  const first: Thread = await openThread({ again }, { store, threadId: 't' })
  void first.call('again').catch(() => undefined)
  await vi.waitFor(() => expect(closing).toBeDefined(), 30_000)
  await closing
  expect(calls).toBe(600)
  const next = await openThread({ again }, { store, threadId: 't' })
  await next.flush()
  expect(calls).toBe(1001)
  expect(await next.queued()).toEqual([])
}, 60_000)

test('several processes on one thread: one call at a time, and all of them', async () => {
  const file = makeSandbox().at('thread.db')
  const calls = 12
  const ended = await Promise.all([1, 2, 3].map(() => start(file, 'error', calls).ended))
  expect(ended.map(({ code }) => code)).toEqual([0, 0, 0])
  const lines = readFileSync(`${file}.log`, 'utf8')
    .split('\n')
    .filter((line) => /^(?:enter|leave)/u.test(line))
  expect(lines).toHaveLength(3 * calls * 2)
  for (let index = 0; index < lines.length; index += 2) expect(lines[index + 1]).toBe(lines[index]?.replace('enter', 'leave'))
  // Each process's own calls are in the order in which they were made.
  for (const { stdout } of ended) {
    const own = [...stdout.matchAll(/^enter \d+ (\d+)$/gmu)].map(([, n]) => Number(n))
    expect(own).toEqual([...own].sort((a, b) => a - b))
  }
}, 120_000)

test.each(['two stores', 'one store'])('one thread that is opened twice in a process, in %s: one call at a time', async (what) => {
  let running = 0
  let max = 0
  const slow = tool(async () => {
    running += 1
    max = Math.max(max, running)
    await sleep(1)
    running -= 1
    return success()
  })
  const location = `file:${makeSandbox().at('thread.db')}`
  const shared = what === 'one store' ? await openThreadStore(location) : undefined
  const options = { store: shared ?? location, threadId: 't' }
  const [a, b] = [await openThread({ slow }, options), await openThread({ slow }, options)]
  const results = await Promise.all(Array.from({ length: 20 }, () => [a.call('slow'), b.call('slow')]).flat())
  queueTool(a.state, 'slow')
  queueTool(b.state, 'slow')
  await Promise.all([a.flush(), b.flush()])
  expect(results).toEqual(Array(40).fill(success()))
  expect(max).toBe(1)
  expect(await a.messages.list()).toHaveLength(42)
  await Promise.all([a.close(), b.close()])
  await shared?.close()
})

test('R16 R36 calls of the thread and of its sub-prompts: one call at a time', async () => {
  let running = 0
  let max = 0
  const slow = tool(async () => {
    running += 1
    max = Math.max(max, running)
    await sleep(2)
    running -= 1
    return success()
  })
  const thread = await openThread({ slow })
  const states = [thread.state, thread.childState(), thread.childState()]
  const calls = Array.from({ length: 10 }, () => states.map((state) => thread.call('slow', {}, { state })))
  expect(await Promise.all(calls.flat())).toEqual(Array(30).fill(success()))
  expect(max).toBe(1)
})

test('a call that is queued while an earlier one waits for another process is stored at once', async () => {
  const store = await openThreadStore('memory:')
  onTestFinished(() => store.close())
  const thread = await openThread({ it: tool(() => success()) }, { store, threadId: 't' })
  const worker = await store.lockThread('t')
  const stored = (count: number) => vi.waitFor(async () => expect(await thread.queued()).toHaveLength(count), { timeout: 5_000 })
  queueTool(thread.state, 'it')
  await stored(1)
  // Now the queue waits for the worker of the thread.
  queueTool(thread.state, 'it')
  queueTool(thread.state, 'it')
  await stored(3)
  worker.release()
  await thread.flush()
  expect(await order(thread)).toEqual(['it', 'it', 'it'])
})

test('a queued call that another process has made is forgotten', async () => {
  const location = `file:${makeSandbox().at('thread.db')}`
  const hold = gate()
  const tools = { slow: tool(() => hold.opened.then(() => success())), it: tool(() => success()) }
  const [other, thread] = [
    await openThread(tools, { store: location, threadId: 't' }),
    await openThread(tools, { store: location, threadId: 't' }),
  ]
  const slow = other.call('slow')
  await vi.waitFor(
    async () => expect(await other.outcome((await other.store.listCalls('t'))[0]?.id ?? '')).toMatchObject({ status: 'running' }),
    { timeout: 10_000 },
  )
  queueTool(thread.state, 'it')
  await vi.waitFor(async () => expect(await other.queued()).toHaveLength(1), { timeout: 10_000 })
  hold.open()
  await slow
  await other.flush()
  await thread.flush()
  expect(await order(thread)).toEqual(['slow', 'it'])
  expect((thread as OpenThread).scheduler.calls.notStarted(() => true)).toEqual([])
})

test('a thread that another process works on: THREAD_LOCKED, and nothing is changed', async () => {
  const store = await openThreadStore('memory:')
  const options = { store, threadId: 't', lockWaitMs: 100 }
  const thread = await openThread({}, options)
  const worker = await store.lockThread('t')
  await expect(thread.call('a')).rejects.toThrow('[THREAD_LOCKED]')
  expect(await store.listCalls('t')).toEqual([])
  worker.release()
  expect(await thread.call('a')).toMatchObject({ error: 'Tool not found: a' })
  await thread.close()
  await store.close()
})

describe('R16 many calls', () => {
  const append = defineTool({
    description: 'd',
    args: numbers,
    execute: async (state, { n }) => {
      const seen = (await state.storage.get<number[]>('seen')) ?? []
      // Would lose numbers if another call ran in between.
      await state.storage.put('seen', [...seen, n])
      return success(String(n))
    },
  })
  const upTo = (count: number) => Array.from({ length: count }, (_, n) => n)

  test('1,000 at once on one thread keep their order', async () => {
    const thread = await openThread({ append }, { store: `file:${makeSandbox().at('thread.db')}` })
    const results = await Promise.all(upTo(1000).map((n) => thread.call('append', { n })))
    expect(results.map(({ result }) => Number(result))).toEqual(upTo(1000))
    expect(await thread.storage.get('seen')).toEqual(upTo(1000))
  }, 120_000)

  test('64 threads at once keep theirs', async () => {
    const file = makeSandbox().at('thread.db')
    const store = await openThreadStore(`file:${file}`)
    const threads = await Promise.all(upTo(64).map((n) => openThread({ append }, { store, threadId: `t-${n}` })))
    await Promise.all(threads.map((thread) => Promise.all(upTo(16).map((n) => thread.call('append', { n })))))
    for (const thread of threads) expect(await thread.storage.get('seen')).toEqual(upTo(16))
    await Promise.all(threads.map((thread) => thread.close()))
    await store.close()
  }, 120_000)
})
