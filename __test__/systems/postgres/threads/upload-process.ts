// Stores a stream in a thread: `upload-process.ts SOCKETS SCHEMA MEGABYTES`. Prints how far its memory grew beyond that of a small one.
import { postgresThreads } from 'toolwright/postgres'
import { Pool } from 'pg'

const [host = '', schema = '', megabytes = ''] = process.argv.slice(2)
const MIB = 1 << 20
const pool = new Pool({ host, port: 5432, user: 'toolwright', database: 'postgres', max: 4 })
const store = postgresThreads(pool, { schema, migrate: false })
async function put(count: number): Promise<string> {
  const stream = async function* () {
    for (let n = 0; n < count; n += 1) yield Buffer.alloc(MIB, n)
  }
  const { path } = await store.stageAttachment('t', { name: 'a', mimeType: 'image/png', data: stream() })
  await store.commit('t', { attachments: [path] })
  return path
}
await put(8)
const before = process.resourceUsage().maxRSS
const path = await put(Number(megabytes))
console.log(JSON.stringify({ path, moreMiB: (process.resourceUsage().maxRSS - before) / 1024 }))
await store.close()
await pool.end()
