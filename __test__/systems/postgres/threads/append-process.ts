// Appends messages to a thread and takes turns on its queue: `append-process.ts SOCKETS SCHEMA NAME COUNT`.
import { postgresThreads } from 'toolwright/postgres'
import { Pool } from 'pg'

const [host = '', schema = '', name = '', count = ''] = process.argv.slice(2)
const pool = new Pool({ host, port: 5432, user: 'toolwright', database: 'postgres', max: 4 })
const store = postgresThreads(pool, { schema, migrate: false })
for (let n = 0; n < Number(count); n += 1) {
  await store.commit('t', { messages: [{ id: `${name}${n}`, role: 'user', bodyJson: String(n) }] })
  if (n % 10 !== 0) continue
  await store.commit('t', { enqueue: [{ id: `${name}${n}`, name: 'tool', argumentsJson: '{}' }] })
  const worker = await store.lockThread('t')
  const call = await worker.claim()
  if (worker.interrupted.length > 0 || call === undefined) throw new Error('two work at the same time')
  await store.commit('t', { finish: { callId: call.id, status: 'success', resultJson: JSON.stringify(name) } })
  worker.release()
}
await store.close()
await pool.end()
