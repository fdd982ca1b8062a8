// Prints the keys of two equal calls of a task: `keys-process.ts FILE`.
import { defineTool, openJournal, runTask } from 'toolwright'
import { z } from 'zod'

const keys: unknown[] = []
const pay = defineTool({
  name: 'pay',
  schema: z.any(),
  sideEffect: true,
  execute: (_args, ctx) => void keys.push(ctx.callIdempotencyKey),
})
const journal = await openJournal(process.argv[2] ?? 'memory:')
await runTask({ journal, runId: 'run', nodeId: 'node', iteration: 3 }, async () => {
  await pay.execute({ to: 'tschüß', sum: 5.0 })
  await pay.execute({ sum: 5, to: 'tschüß' })
})
await journal.close()
console.log(JSON.stringify(keys))
