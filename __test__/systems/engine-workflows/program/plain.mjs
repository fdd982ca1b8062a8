import { configureTools, createTools, defineTool, getToolContext, openJournal } from 'toolwright'
import { z } from 'zod'
import { runTasks, scriptedAgent } from './run-tasks.mjs'

// The engine keeps these options of a run to itself; what is configured here holds instead.
configureTools({ maxOutputBytes: 4_096 })
// Where the engine records, our own journal has nothing to record.
const journal = await openJournal('file:ours.db')
const { read, write, edit, bash } = createTools({ journal })

const seen = {}
const look = defineTool({
  name: 'look',
  schema: z.object({}),
  execute: async (_, ctx) => {
    const { runId, nodeId, iteration, attempt, rootDir, maxOutputBytes, toolName, idempotencyKey } = ctx
    Object.assign(seen, { runId, nodeId, iteration, attempt, rootDir, maxOutputBytes, toolName, idempotencyKey })
    seen.signal = ctx.signal instanceof AbortSignal
    seen.same = getToolContext().recordToolCall === ctx.recordToolCall
    return 'seen'
  },
})

const turns = [
  [{ tool: 'look', input: {} }],
  // Two at the same time: each has a number of its own.
  [
    { tool: 'read', input: { path: 'greeting.txt' } },
    { tool: 'bash', input: { cmd: 'pwd' } },
  ],
  [{ tool: 'write', input: { path: 'made.txt', content: 'made by write' } }],
  [{ tool: 'edit', input: { path: 'greeting.txt', patch: '@@ -1,1 +1,1 @@\n-hello\n+goodbye\n' } }],
  [{ tool: 'read', input: { path: '../run.db' } }],
  '{"done":true}',
]
const agent = scriptedAgent({ look, read, write, edit, bash }, turns)
await runTasks([{ id: 'chore', agent }], { maxOutputBytes: 100_000 }, async () => {
  await journal.flush()
  return { seen, ours: await journal.listRuns() }
})
await journal.close()
