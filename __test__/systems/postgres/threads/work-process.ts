// Works on a chain of calls until it is killed: `work-process.ts SOCKETS SCHEMA LEASE_MS [POINT]`. Each call leaves an attachment, a
// message, a value and the next call. It prints `done ID` when a commit was acknowledged. At POINT it waits for its end.
import { setTimeout as pause } from 'node:timers/promises'
import { postgresThreads } from 'toolwright/postgres'
import { Pool } from 'pg'

const [host = '', schema = '', leaseMs = '', point] = process.argv.slice(2)
const pool = new Pool({ host, port: 5432, user: 'toolwright', database: 'postgres', max: 4 })
pool.on('error', () => undefined)
const store = postgresThreads(pool, { schema, leaseMs: Number(leaseMs), migrate: false })
const at = async (name: string): Promise<void> => {
  if (name !== point) return
  console.log(name)
  await pause(60_000)
}

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
  // Three chunks, or one.
  const data = Buffer.alloc(n % 3 === 0 ? 4_000_000 : 5_000, call.id)
  const { path } = await store.stageAttachment('t', { name: call.id, mimeType: 'image/png', data })
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
