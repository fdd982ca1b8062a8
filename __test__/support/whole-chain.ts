// What a chain of calls must be when the process that worked on it is dead.
import type { ThreadStore } from 'toolwright/standard-agents'
import { expect } from 'vitest'

type Calls = Awaited<ReturnType<ThreadStore['listCalls']>>

/** Looks whether everything that was committed is there, and nothing by half. @returns the calls. */
export async function expectWholeChain(store: ThreadStore): Promise<Calls> {
  const calls = await store.listCalls('t')
  const [messages, attachments] = [await store.listMessages('t'), await store.listAttachments('t')]
  const done = calls.filter(({ status }) => status === 'success')
  // All but the last are done, and the last one waits or was interrupted.
  expect(calls.map(({ id }) => id)).toEqual(calls.map((_, n) => `c${n}`))
  expect(done).toHaveLength(calls.length - 1)
  expect(messages.map(({ callId }) => callId)).toEqual(done.map(({ id }) => id))
  expect(messages.map(({ seq }) => seq)).toEqual(messages.map((_, n) => n + 1))
  expect(attachments.map(({ name }) => name)).toEqual(done.map(({ id }) => id))
  for (const [n, { path, size, name }] of attachments.entries()) {
    expect([messages[n]?.bodyJson, done[n]?.resultJson]).toEqual([JSON.stringify(path), JSON.stringify(path)])
    // Of the older ones an earlier look has read all.
    const from = n < attachments.length - 4 ? size - 100 : 0
    const bytes = Buffer.from(await store.readAttachment('t', path, { start: from }))
    expect(bytes.equals(Buffer.alloc(size, name).subarray(from))).toBe(true)
  }
  return calls
}

/** Another process works on, and is told what the dead one left. */
export async function expectHandedOver(store: ThreadStore, calls: Calls, waitMs: number): Promise<void> {
  const worker = await store.lockThread('t', { waitMs })
  expect(worker.interrupted.map(({ id }) => id)).toEqual(calls.flatMap(({ id, status }) => (status === 'running' ? [id] : [])))
  worker.release()
}
