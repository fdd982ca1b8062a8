// Works on a chain of calls until it is killed: `crash-process.ts FILE [POINT]`. Each call leaves an
// attachment, a message and the next call. At POINT the process waits for its end.
import { setTimeout } from 'node:timers/promises'
import { openThreadStore } from './stores.ts'

const [file = '', point] = process.argv.slice(2)
const at = async (name: string): Promise<void> => {
  if (name !== point) return
  console.log(name)
  await setTimeout(60_000)
}
const store = await openThreadStore(file)
await at('opened')
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
  await at('committed')
}
