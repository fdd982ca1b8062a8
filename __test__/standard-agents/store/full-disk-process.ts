// A process whose disk is full: `full-disk-process.ts DIRECTORY` prints what happened.
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openThreadStore, ToolError } from './stores.ts'

const [directory = ''] = process.argv.slice(2)
const filler = join(directory, 'filler')
const fill = (): void => {
  for (const size of [65_536, 4_096, 512, 1]) {
    try {
      for (;;) writeFileSync(filler, Buffer.alloc(size), { flag: 'a' })
    } catch {
      // Not that much room any more.
    }
  }
}
const code = (asked: Promise<unknown>): Promise<string> =>
  asked.then(
    () => 'done',
    (error: unknown) => (ToolError.isInstance(error) ? error.code : String(error)),
  )
const store = await openThreadStore(join(directory, 'thread.db'))
await store.openThread({ threadId: 't', flowId: 'f' })
const large = 'x'.repeat(20_000)
const data = Buffer.alloc(100_000)
const commit = (id: string) =>
  code(store.commit('t', { messages: [{ id, role: 'tool', bodyJson: large }], enqueue: [{ id, name: 'x', argumentsJson: large }] }))
const outcomes = [await commit('before')]
fill()
outcomes.push(await commit('full'))
outcomes.push(await code(store.writeValues('t', [['k', large]])))
outcomes.push(await code(store.stageAttachment('t', { name: 'a', mimeType: 'image/png', data })))
outcomes.push(await code(store.listMessages('t')))
const stored = (await store.listMessages('t')).map(({ id }) => id)
rmSync(filler)
outcomes.push(await commit('after'))
outcomes.push(await code(store.stageAttachment('t', { name: 'a', mimeType: 'image/png', data })))
const rows = [await store.listMessages('t'), await store.listCalls('t')].map((list) => list.map(({ id }) => id))
await store.close()
console.log(JSON.stringify({ outcomes, stored, rows }))
