// An agent on a thread that outlives its process. Run it twice, and the thread goes on:
//   AI_GATEWAY_API_KEY=… node examples/standard-agents/agent.mjs "Where is my refund?"
import { fileURLToPath } from 'node:url'
import { ToolLoopAgent } from 'ai'
import { createThread, loadTools } from 'toolwright/standard-agents'

const { tools, errors } = await loadTools(fileURLToPath(new URL('agents/tools', import.meta.url)))
for (const { file, message } of errors) console.error(`${file}: ${message}`)

const thread = await createThread({
  tools,
  store: 'file:thread.db',
  threadId: 'customer-7',
  onEvent: ({ eventType, data }) => console.log(`[${eventType}]`, data),
})
const agent = new ToolLoopAgent({
  model: 'anthropic/claude-sonnet-4.5',
  instructions: 'You answer customers. Look the answer up, then send it.',
  // A case is closed by the tool that answers, not by the model.
  tools: thread.tools({ only: ['find_article', 'answer_customer'] }),
})
const { text } = await agent.generate({ prompt: process.argv[2] ?? 'Where is my refund?' })
console.log(text)
for (const { toolName, content } of await thread.messages.list()) console.log(`${toolName}: ${content}`)
await thread.close()
