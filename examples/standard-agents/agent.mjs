// An agent on a thread that outlives its process:
//   AI_GATEWAY_API_KEY=… node examples/standard-agents/agent.mjs "Where is my refund?"
// With a file the thread is kept there; run it twice, and it goes on:
//   AI_GATEWAY_API_KEY=… node examples/standard-agents/agent.mjs "Where is my refund?" ./thread.db
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ToolLoopAgent } from 'ai'
import { createThread, loadTools } from 'toolwright/standard-agents'

const [prompt = 'Where is my refund?', file] = process.argv.slice(2)
const { tools, errors } = await loadTools(fileURLToPath(new URL('agents/tools', import.meta.url)))
for (const { file: broken, message } of errors) console.error(`${broken}: ${message}`)

const temporary = file === undefined ? mkdtempSync(join(tmpdir(), 'standard-agents-')) : undefined
try {
  await using thread = await createThread({
    tools,
    store: file ?? join(temporary, 'thread.db'),
    threadId: 'customer-7',
    onEvent: ({ eventType, data }) => console.log(`[${eventType}]`, data),
  })
  const agent = new ToolLoopAgent({
    model: 'anthropic/claude-sonnet-4.5',
    instructions: 'You answer customers. Look the answer up, then send it.',
    // A case is closed by the tool that answers, not by the model.
    tools: thread.tools({ only: ['find_article', 'answer_customer'] }),
  })
  const { text } = await agent.generate({ prompt })
  console.log(text)
  for (const { toolName, content } of await thread.messages.list()) console.log(`${toolName}: ${content}`)
} finally {
  if (temporary !== undefined) rmSync(temporary, { recursive: true, force: true })
}
