/** A process in which an agent begins again, whose engine keeps nothing: it prints what its model reads of its payments. */
import { ToolLoopAgent } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { defineTool, openJournal } from 'toolwright'
import { durable } from 'toolwright/durable'
import { z } from 'zod'
import { script, seenBy } from '../support/scripted-model.ts'

const journal = await openJournal(String(process.argv[2]))
const pay = defineTool({
  name: 'pay',
  schema: z.object({ to: z.string() }),
  sideEffect: true,
  usesIdempotencyKey: false,
  execute: async ({ to }) => `paid ${to} again`,
})
const turns = [[{ tool: 'pay', input: { to: 'bob' }, id: 'x' }], [{ tool: 'pay', input: { to: 'bob' }, id: 'y' }], 'done']
const model = new MockLanguageModelV4({ doGenerate: script(...turns) as never })
const parts = durable({ model, tools: { pay }, journal, runId: 'run', step: async (_name, fn) => fn() })
await new ToolLoopAgent(parts).generate({ prompt: 'pay' })
console.log(JSON.stringify(seenBy(model).map(({ output }) => output.value)))
await journal.close()
