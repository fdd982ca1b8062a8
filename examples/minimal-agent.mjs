// The example of the README. It changes files in the given directory:
//   AI_GATEWAY_API_KEY=… node examples/minimal-agent.mjs path/to/project
import { ToolLoopAgent } from 'ai'
import { createTools } from 'toolwright'

const agent = new ToolLoopAgent({
  model: 'anthropic/claude-sonnet-4.5',
  instructions: 'You fix failing tests. Use the tools.',
  tools: createTools({ rootDir: process.argv[2] ?? './project' }),
})
const { text } = await agent.generate({ prompt: 'The tests fail. Find out why and fix it.' })
console.log(text)
