// Queues calls and works on them together with others: `worker-process.ts FILE NAME CALLS THREADS`.
import { openThreadStore, threadStorage } from './stores.ts'

const [file = '', name = '', calls = '0', threads = '1'] = process.argv.slice(2)
const store = await openThreadStore(file)
const ids = Array.from({ length: Number(threads) }, (_, n) => `t${n}`)
for (const threadId of ids) await store.openThread({ threadId, flowId: 'f' })
for (let n = 0; n < Number(calls); n += 1) {
  await Promise.all(
    ids.map((threadId) => store.commit(threadId, { enqueue: [{ id: `${name}-${n}`, name: 'tool', argumentsJson: String(n) }] })),
  )
}
async function work(threadId: string): Promise<void> {
  const values = threadStorage(store, threadId)
  for (;;) {
    const worker = await store.lockThread(threadId, { waitMs: 120_000 })
    if (worker.interrupted.length > 0) throw new Error('another worker is here')
    // A few at a time, so that all get their turn.
    for (let turn = 0; turn < 3; turn += 1) {
      const call = await worker.claim()
      if (call === undefined) {
        worker.release()
        return
      }
      // Read, then written: correct only if no other worker comes between.
      await values.put('count', ((await values.get<number>('count')) ?? 0) + 1)
      const message = { role: 'tool', bodyJson: JSON.stringify({ by: name, seq: call.seq }), callId: call.id }
      await store.commit(threadId, { finish: { callId: call.id, status: 'success', resultJson: 'null' }, messages: [message] })
    }
    worker.release()
  }
}
await Promise.all(ids.map(work))
await store.close()
console.log('done')
