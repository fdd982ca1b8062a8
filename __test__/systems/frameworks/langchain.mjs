// An agent of LangChain.js: one line makes its tools of ours.
import { ChatOpenAI } from '@langchain/openai'
import { createAgent, tool, ToolMessage } from 'langchain'
import { createTools } from 'toolwright'
import { baseURL, rootDir, signal } from './setting.mjs'

const model = new ChatOpenAI({ model: 'scripted', apiKey: 'none', configuration: { baseURL }, useResponsesApi: false, maxRetries: 0 })
const tools = Object.entries(createTools({ rootDir })).map(([name, { description, inputSchema, execute }]) =>
  tool(
    async (input, { toolCall, signal: abortSignal }) => {
      try {
        return await execute(input, { toolCallId: toolCall?.id, messages: [], abortSignal })
      } catch (error) {
        if (abortSignal?.aborted) throw error
        return new ToolMessage({ content: error.message, status: 'error', tool_call_id: toolCall?.id ?? '' })
      }
    },
    { name, description, schema: inputSchema },
  ),
)
const agent = createAgent({ model, tools })
const { messages } = await agent.invoke({ messages: [{ role: 'user', content: 'go' }] }, { signal })
console.log(messages.at(-1)?.text)
