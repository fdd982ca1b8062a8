// Streams an attachment in and out: `large-attachment-process.ts FILE BYTES` prints what became of it.
import { createHash } from 'node:crypto'
import { openThreadStore, streamAttachment } from './stores.ts'

const [file = '', bytes = '0'] = process.argv.slice(2)
const store = await openThreadStore(file)
await store.openThread({ threadId: 't', flowId: 'f' })
const written = createHash('sha256')
const part = Buffer.alloc(65_536)
async function* parts() {
  for (let at = 0; at < Number(bytes); at += part.length) {
    part.writeUInt32LE(at)
    const one = part.subarray(0, Math.min(part.length, Number(bytes) - at))
    written.update(one)
    yield one
  }
}
const once = async () => {
  const ref = await store.stageAttachment('t', { name: 'large.bin', mimeType: 'application/octet-stream', data: parts() })
  await store.commit('t', { attachments: [ref.path] })
  return ref
}
// What the runtime and SQLite keep for themselves is there after a small one.
const { path: small } = await store.stageAttachment('t', { name: 'a', mimeType: 'image/png', data: new Uint8Array(4_000_000) })
await store.discardStaged('t', [small])
const before = process.memoryUsage().rss
const ref = await once()
const read = createHash('sha256')
let max = process.memoryUsage().rss
for await (const one of streamAttachment(store, 't', ref.path)) {
  read.update(one)
  max = Math.max(max, process.memoryUsage().rss)
}
console.log(JSON.stringify({ written: written.digest('hex'), read: read.digest('hex'), size: ref.size, grownBytes: max - before }))
await store.close()
