// A process that records calls: `many-rows-process.ts FILE NODE COUNT`.
import { defineTool, openJournal, runTask } from 'toolwright'
import { z } from 'zod'

const [file = '', nodeId = '', count = '0'] = process.argv.slice(2)
const journal = await openJournal(`file:${file}`)
const put = defineTool({ name: 'put', schema: z.object({ n: z.number() }), sideEffect: true, execute: ({ n }, _ctx) => n })
const get = defineTool({ name: 'get', schema: z.object({ n: z.number() }), execute: ({ n }) => n })
await runTask({ journal, runId: 'run', nodeId }, async () => {
  for (let n = 1; n <= Number(count); n += 1) await (n % 2 === 0 ? get : put).execute({ n })
})
await journal.close()
