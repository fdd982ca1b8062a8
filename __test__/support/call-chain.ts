// A thread whose every call leaves a value, an attachment, a message and the next call, for processes that are killed while they work on it.
import { setTimeout as pause } from 'node:timers/promises'
import type { ThreadStore } from 'toolwright/standard-agents'

/** Where a process waits for its end, when it was told to. */
export const waitAt =
  (point: string | undefined) =>
  async (name: string): Promise<void> => {
    if (name !== point) return
    console.log(name)
    await pause(60_000)
  }

/** Begins the chain, or goes on with it, and never ends. It prints `ready`, and `done ID` when a commit was acknowledged. */
export async function workOnChain(store: ThreadStore, at: (name: string) => Promise<void>): Promise<never> {
  await store.openThread({ threadId: 't', flowId: 'f' })
  if ((await store.listCalls('t', { limit: 1 })).length === 0) {
    await store.commit('t', { enqueue: [{ id: 'c0', name: 'tool', argumentsJson: '0' }] })
  }
  const worker = await store.lockThread('t')
  for (const call of worker.interrupted) await worker.requeue(call.id)
  console.log('ready')
  for (;;) {
    const call = await worker.claim()
    if (call === undefined) throw new Error('the chain is broken')
    await at('claimed')
    const n = Number(call.argumentsJson)
    await store.writeValues('t', [['last', call.id]])
    // Three chunks, then one, then a text.
    const data = Buffer.alloc([4_000_000, 100, 5_000][n % 3] ?? 0, call.id)
    const { path } = await store.stageAttachment('t', { name: call.id, mimeType: n % 3 === 2 ? 'text/plain' : 'image/png', data })
    await at('staged')
    await store.commit('t', {
      finish: { callId: call.id, status: 'success', resultJson: JSON.stringify(path) },
      attachments: [path],
      messages: [{ role: 'tool', bodyJson: JSON.stringify(path), callId: call.id }],
      enqueue: [{ id: `c${n + 1}`, name: 'tool', argumentsJson: String(n + 1) }],
    })
    console.log(`done ${call.id}`)
    await at('committed')
  }
}
