// A process whose tool reads its idempotency key in its first call: `protected-process.ts JOURNAL POINT`. It kills itself in the second call,
// `unread` before the key is read or `read` some time after it, or ends without (`finished`).
import { setTimeout as pause } from 'node:timers/promises'
import { defineTool, openJournal, runTask } from 'toolwright'
import { z } from 'zod'

const [location = '', point] = process.argv.slice(2)
const journal = await openJournal(location)
const die = (where: string): void => {
  if (where === point) process.kill(process.pid, 'SIGKILL')
}
const pay = defineTool({
  name: 'pay',
  schema: z.object({ n: z.number() }),
  sideEffect: true,
  execute: async ({ n }, ctx) => {
    if (n === 2) die('unread')
    const key = ctx.callIdempotencyKey
    // A server is told a moment later.
    if (n === 2) await pause(100)
    if (n === 2) die('read')
    return key
  },
})
await runTask({ journal, runId: 'run', nodeId: 'node' }, async () => {
  for (const n of [1, 2]) await pay.execute({ n })
})
await journal.close()
