import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { postgresThreads } from 'toolwright/postgres'
import { createThread, defineTool, queueTool, type ThreadStore } from 'toolwright/standard-agents'
import { expect, test } from 'vitest'
import { startScript } from '../../../support/child-script.ts'
import { runs } from '../../../support/randomised.ts'
import { useServer } from '../servers.ts'

const own = useServer()
const script = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
const call = (id: string) => ({ id, name: 'tool', argumentsJson: '{}' })
const png = { name: 'old', mimeType: 'image/png', data: Buffer.from('old') }

test(
  'a worker that is paused over its lease: another one takes over, and it writes nothing when it wakes up',
  { timeout: 60_000 },
  async () => {
    const schema = own.schema()
    const store = postgresThreads(own.pool, { schema })
    await store.openThread({ threadId: 't', flowId: 'f' })
    const { path } = await store.stageAttachment('t', png)
    await store.commit('t', { enqueue: [call('c0'), call('c1')], attachments: [path] })
    const zombie = startScript(script('zombie-process.ts'), [own.server.socket.host, schema, '600'])
    await zombie.printed('claimed')
    await expect(store.lockThread('t', { waitMs: 0 })).rejects.toMatchObject({ code: 'THREAD_LOCKED', details: { threadId: 't' } })
    // It lives longer than its lease while it can be heard.
    await pause(900)
    await expect(store.lockThread('t', { waitMs: 0 })).rejects.toMatchObject({ code: 'THREAD_LOCKED' })
    zombie.child.kill('SIGSTOP')
    const stopped = performance.now()
    const worker = await store.lockThread('t')
    const after = Math.round(performance.now() - stopped)
    console.log(`takeover of a paused worker: ${after} ms, lease 600 ms`)
    expect(after).toBeLessThan(1_600)
    expect(worker.interrupted).toMatchObject([{ id: 'c0', attempts: 1 }])
    await worker.requeue('c0')
    expect(await worker.claim()).toMatchObject({ id: 'c0', attempts: 2 })
    await store.writeValues('t', [['k', '1']])
    const state = async () => ({
      calls: await store.listCalls('t'),
      messages: await store.listMessages('t'),
      values: await store.listValues('t', {}),
      attachments: await store.listAttachments('t'),
    })
    const before = await state()
    zombie.child.kill('SIGCONT')
    zombie.child.kill('SIGUSR2')
    const { stdout, stderr } = await zombie.ended
    expect(stderr).toBe('')
    const codes = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Record<string, unknown>
    expect(codes).toEqual(Object.fromEntries(Object.keys(codes).map((name) => [name, 'THREAD_LOCKED'])))
    expect(Object.keys(codes)).toHaveLength(15)
    expect(await state()).toEqual(before)
    await store.commit('t', { finish: { callId: 'c0', status: 'success', resultJson: '"mine"' } })
    expect(await worker.claim()).toMatchObject({ id: 'c1' })
    worker.release()
    await store.close()
  },
)

const expire = (schema: string) => own.pool.query(`UPDATE "${schema}"._toolwright_owners SET expires_at = 'epoch'`)

interface Race {
  write(store: ThreadStore, threadId: string, turn: number): Promise<unknown>
  /** What there is to see of the writes. */
  look(store: ThreadStore, threadId: string): Promise<unknown>
}
const commits: Race = {
  write: (store, threadId) => store.commit(threadId, { messages: [{ role: 'tool', bodyJson: '1' }] }),
  look: (store, threadId) => store.listMessages(threadId),
}
/** Many in a statement, so that one is under way at the moment of the takeover. */
const keys = Array.from({ length: 1_000 }, (_, index) => `key ${index}`)
const values: Race = {
  write: (store, threadId, turn) =>
    store.writeValues(
      threadId,
      keys.map((key) => [key, String(turn)] as const),
    ),
  look: (store, threadId) => store.listValues(threadId, {}),
}

/** Takes a thread over, again and again, from a store that writes to it as fast as it can. @returns in how many rounds something landed after that. */
async function race(
  { write, look }: Race,
  rounds: number,
  isWorker: boolean,
): Promise<{ acknowledged: number; late: number; codes: unknown[] }> {
  const schema = own.schema()
  const other = postgresThreads(own.pool, { schema })
  let [acknowledged, late] = [0, 0]
  const codes = new Set<unknown>()
  for (let round = 0; round < rounds; round += 1) {
    const threadId = `t${round}`
    await other.openThread({ threadId, flowId: 'f' })
    const store = postgresThreads(own.pool, { schema })
    const held = await store.lockThread(threadId)
    // Without its worker, a store writes as anybody may.
    if (!isWorker) held.release()
    const state = { isOver: false }
    const writers = Array.from({ length: 8 }, async () => {
      while (!state.isOver) {
        try {
          await write(store, threadId, (acknowledged += 1))
        } catch (error) {
          acknowledged -= 1
          codes.add((error as { code?: unknown }).code)
          return
        }
      }
    })
    await pause(10 + Math.random() * 30)
    await expire(schema)
    const worker = await other.lockThread(threadId)
    const seen = JSON.stringify(await look(other, threadId))
    if (!isWorker) await pause(50)
    state.isOver = true
    await Promise.all(writers)
    if (JSON.stringify(await look(other, threadId)) !== seen) late += 1
    worker.release()
    await store.close()
  }
  await other.close()
  return { acknowledged, late, codes: [...codes] }
}

test.each([
  ['commits', commits],
  ['values', values],
])(
  'a takeover is final: of the %s of a worker that writes as fast as it can, none lands after it',
  { timeout: 120_000 },
  async (name, what) => {
    const { acknowledged, late, codes } = await race(what, runs(40), true)
    console.log(`takeovers: ${runs(40)}, ${acknowledged} acknowledged ${name}, ${late} late`)
    expect(late).toBe(0)
    expect(codes).toEqual(['THREAD_LOCKED'])
    expect(acknowledged).toBeGreaterThan(40)
  },
)

test('the control: without a worker, they land after it', { timeout: 60_000 }, async () => {
  expect((await race(commits, 5, false)).late).toBeGreaterThan(0)
  expect((await race(values, 5, false)).late).toBeGreaterThan(0)
})

test(
  'two processes append to one thread and share its queue: nothing is lost, and each keeps its order',
  { timeout: 120_000 },
  async () => {
    const schema = own.schema()
    const store = postgresThreads(own.pool, { schema })
    await store.openThread({ threadId: 't', flowId: 'f' })
    const names = ['a', 'b']
    const ended = await Promise.all(
      names.map((name) => startScript(script('append-process.ts'), [own.server.socket.host, schema, name, '200']).ended),
    )
    for (const { code, stderr } of ended) expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const messages = await store.listMessages('t')
    expect(messages.map(({ seq }) => seq)).toEqual(Array.from({ length: 400 }, (_, index) => index + 1))
    for (const name of names) {
      const its = messages.filter(({ id }) => id.startsWith(name)).map(({ id }) => id)
      expect(its).toEqual(Array.from({ length: 200 }, (_, n) => `${name}${n}`))
    }
    const calls = await store.listCalls('t')
    expect(calls).toHaveLength(40)
    expect(calls.filter(({ status, attempts }) => status !== 'success' || attempts !== 1)).toEqual([])
    await store.close()
  },
)

test(
  'a thread of createThread that is taken over: its call is refused at its end, and its next call works',
  { timeout: 60_000 },
  async () => {
    const schema = own.schema()
    const began = Promise.withResolvers<void>()
    const goOn = Promise.withResolvers<void>()
    const slow = defineTool({
      description: 'Waits',
      execute: async (state) => {
        queueTool(state, 'quick')
        await state.storage.put('begun', true)
        began.resolve()
        await goOn.promise
        return { status: 'success', result: 'late' }
      },
    })
    const quick = defineTool({ description: 'Answers', execute: async () => ({ status: 'success', result: 'quick' }) })
    const stores = [postgresThreads(own.pool, { schema }), postgresThreads(own.pool, { schema })] as const
    const open = (index: 0 | 1) => createThread({ tools: { slow, quick }, store: stores[index], threadId: 't' })
    const zombie = await open(0)
    const refused = expect(zombie.call('slow')).rejects.toMatchObject({ code: 'THREAD_LOCKED' })
    await began.promise
    await expire(schema)
    const other = await open(1)
    expect(await other.call('quick')).toMatchObject({ status: 'success' })
    goOn.resolve()
    await refused
    // What the other one has decided stands, and what the late call had queued is not made.
    const told = [
      { name: 'slow', status: 'error', attempts: 1 },
      { name: 'quick', status: 'success', attempts: 1 },
    ]
    expect(await stores[1].listCalls('t')).toMatchObject(told)
    expect(await other.messages.list()).toMatchObject([{ toolName: 'slow', status: 'error' }, { toolName: 'quick' }])
    expect(await zombie.call('quick')).toMatchObject({ status: 'success' })
    expect(await other.call('quick')).toMatchObject({ status: 'success' })
    expect(await stores[0].listCalls('t')).toHaveLength(4)
    for (const thread of [zombie, other]) await thread.close()
    for (const store of stores) await store.close()
  },
)
