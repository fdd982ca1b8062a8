// A worker that is paused: `zombie-process.ts SOCKETS SCHEMA LEASE_MS`. It begins a call, stages an attachment, prints `claimed`, and waits
// for SIGUSR2. Then it tries whatever a worker may write, and prints the codes as JSON.
import { once } from 'node:events'
import { postgresThreads } from 'toolwright/postgres'
import { Pool } from 'pg'

const [host = '', schema = '', leaseMs = ''] = process.argv.slice(2)
const pool = new Pool({ host, port: 5432, user: 'toolwright', database: 'postgres', max: 4 })
pool.on('error', () => undefined)
const store = postgresThreads(pool, { schema, leaseMs: Number(leaseMs), migrate: false })
const worker = await store.lockThread('t')
const call = await worker.claim()
const file = { name: 'late', mimeType: 'image/png', data: Buffer.from('late') }
const { path } = await store.stageAttachment('t', file)
const [old] = await store.listAttachments('t')
console.log('claimed')
await once(process, 'SIGUSR2')

const late = { id: 'late', role: 'tool', bodyJson: '"late"' }
const finish = { callId: call?.id ?? '', status: 'success', resultJson: '"late"' } as const
const acts: Record<string, () => Promise<unknown>> = {
  finish: () => store.commit('t', { finish, messages: [late] }),
  message: () => store.commit('t', { messages: [late] }),
  queue: () => store.commit('t', { enqueue: [{ id: 'late', name: 'tool', argumentsJson: '{}' }] }),
  attachment: () => store.commit('t', { attachments: [path] }),
  claim: () => worker.claim(),
  claimCall: () => worker.claimCall('c1'),
  requeue: () => worker.requeue('c0'),
  values: () => store.writeValues('t', [['k', '"late"']]),
  deleteValues: () => store.deleteValues('t', ['k']),
  deleteAllValues: () => store.deleteAllValues('t'),
  cancel: () => store.cancelQueued('t'),
  stage: () => store.stageAttachment('t', file),
  deleteAttachment: () => store.deleteAttachment('t', old?.path ?? ''),
  deleteThread: () => store.deleteThread('t'),
}
const codes: Record<string, unknown> = {}
for (const [name, act] of Object.entries(acts)) {
  codes[name] = await act().then(
    () => 'done',
    (error: unknown) => (error as { code?: unknown }).code ?? String(error),
  )
}
// When it no longer believes that it works on the thread, the end of its call is refused all the same.
worker.release()
codes['finish after release'] = await store.commit('t', { finish }).then(
  () => 'done',
  (error: unknown) => (error as { code?: unknown }).code ?? String(error),
)
console.log(JSON.stringify(codes))
await store.close()
await pool.end()
