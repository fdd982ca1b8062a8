import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startScript } from '../../support/child-script.ts'
import { runs } from '../../support/randomised.ts'
import { makeSandbox } from '../../support/sandbox.ts'
import { openThreadStore, threadStorage } from './stores.ts'

const script = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
const PROCESSES = 8
const THREADS = 3
const callsEach = runs(15)

describe('several processes on one store', () => {
  test(
    `${PROCESSES} × ${callsEach} calls on ${THREADS} threads: each runs once, in order, by one worker at a time`,
    { timeout: 60_000 + callsEach * 2_000 },
    async () => {
      const file = join(makeSandbox().root, 'thread.db')
      const started = Array.from(
        { length: PROCESSES },
        (_, n) => startScript(script('worker-process.ts'), [file, `p${n}`, String(callsEach), String(THREADS)]).ended,
      )
      for (const { code, stderr } of await Promise.all(started)) expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      const store = await openThreadStore(file)
      onTestFinished(() => store.close())
      const total = PROCESSES * callsEach
      for (let n = 0; n < THREADS; n += 1) {
        const calls = await store.listCalls(`t${n}`)
        expect(calls).toHaveLength(total)
        expect(calls.every(({ status, attempts }) => status === 'success' && attempts === 1)).toBe(true)
        const messages = await store.listMessages(`t${n}`)
        expect(messages.map(({ callId }) => callId)).toEqual(calls.map(({ id }) => id))
        expect(messages.map(({ seq }) => seq)).toEqual(Array.from({ length: total }, (_, at) => at + 1))
        expect(await threadStorage(store, `t${n}`).get('count')).toBe(total)
        // Those of one process in the order in which it queued them.
        for (let p = 0; p < PROCESSES; p += 1) {
          expect(calls.flatMap(({ id }) => (id.startsWith(`p${p}-`) ? [id] : []))).toEqual(
            Array.from({ length: callsEach }, (_, at) => `p${p}-${at}`),
          )
        }
      }
      await store.close()
      expect(readdirSync(dirname(file))).toEqual(['thread.db'])
    },
  )

  test('the right to work goes with a process that is killed', async () => {
    const file = join(makeSandbox().root, 'thread.db')
    const { child, printed, ended } = startScript(script('crash-process.ts'), [file, 'claimed'])
    await printed('claimed')
    const store = await openThreadStore(file)
    onTestFinished(() => store.close())
    await expect(store.lockThread('t', { waitMs: 0 })).rejects.toMatchObject({
      code: 'THREAD_LOCKED',
      message: expect.stringContaining(String(child.pid)),
      details: { threadId: 't' },
    })
    const waiting = store.lockThread('t', { waitMs: 10_000 })
    child.kill('SIGKILL')
    await ended
    const worker = await waiting
    expect(worker.interrupted).toMatchObject([{ id: 'c0', status: 'running', attempts: 1 }])
    worker.release()
  })

  test('while another process holds the file, writes wait for it, but reads and the event loop do not', async () => {
    const file = join(makeSandbox().root, 'thread.db')
    const store = await openThreadStore(file)
    onTestFinished(() => store.close())
    await store.openThread({ threadId: 't', flowId: 'f' })
    const values = threadStorage(store, 't')
    await values.put('k', 'before')
    const holder = startScript(script('../../journal/holding-process.ts'), [file, '700'])
    await holder.printed('holding')
    const began = performance.now()
    const delay = monitorEventLoopDelay({ resolution: 1 })
    delay.enable()
    const writes = Promise.all(Array.from({ length: 20 }, (_, n) => store.writeValues('t', [[`k${n}`, '1']])))
    expect(await store.listValues('t', {})).toHaveLength(1)
    const readAfter = performance.now() - began
    await writes
    const writtenAfter = performance.now() - began
    delay.disable()
    expect(readAfter).toBeLessThan(writtenAfter)
    expect(writtenAfter).toBeGreaterThan(300)
    if (process.versions['bun'] === undefined) expect(delay.max / 1e6).toBeLessThan(200)
    expect((await holder.ended).code).toBe(0)
    expect(await store.listValues('t', {})).toHaveLength(21)
  })

  test('a file that stays busy is a typed error', async () => {
    const file = join(makeSandbox().root, 'thread.db')
    const store = await openThreadStore(file, { busyTimeoutMs: 100 })
    onTestFinished(() => store.close())
    await store.openThread({ threadId: 't', flowId: 'f' })
    const holder = startScript(script('../../journal/holding-process.ts'), [file, '2500'])
    await holder.printed('holding')
    await expect(store.writeValues('t', [['k', '1']])).rejects.toMatchObject({ code: 'THREAD_BUSY', details: { path: file } })
    // Many at once wait no longer than one.
    const began = performance.now()
    const many = await Promise.allSettled(Array.from({ length: 20 }, () => store.writeValues('t', [['k', '1']])))
    expect(many.map((one) => one.status === 'rejected' && (one.reason as { code: string }).code)).toEqual(many.map(() => 'THREAD_BUSY'))
    expect(performance.now() - began).toBeLessThan(1_000)
    await holder.ended
    await store.writeValues('t', [['k', '2']])
    expect(await store.readValues('t', ['k'])).toEqual([['k', '2']])
  })

  test('a hundred calls at once on one store', async () => {
    const store = await openThreadStore(join(makeSandbox().root, 'thread.db'))
    onTestFinished(() => store.close())
    await store.openThread({ threadId: 't', flowId: 'f' })
    const all = Array.from({ length: 100 }, async (_, n) => {
      const ref = await store.stageAttachment('t', { name: `${n}`, mimeType: 'image/png', data: Buffer.from(String(n)) })
      await store.commit('t', {
        attachments: [ref.path],
        messages: [{ role: 'tool', bodyJson: String(n) }],
        enqueue: [{ name: 'x', argumentsJson: '{}' }],
      })
      return Buffer.from(await store.readAttachment('t', ref.path)).toString()
    })
    expect(await Promise.all(all)).toEqual(Array.from({ length: 100 }, (_, n) => String(n)))
    expect((await store.listMessages('t')).map(({ seq }) => seq)).toEqual(Array.from({ length: 100 }, (_, n) => n + 1))
    expect(await store.listCalls('t', { status: 'queued' })).toHaveLength(100)
    expect(await store.listAttachments('t')).toHaveLength(100)
  })
})
