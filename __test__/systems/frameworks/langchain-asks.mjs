// An agent of LangChain.js that asks before a tool with an effect runs: its middleware stops the run, and the answer resumes it.
import { Command, INTERRUPT, isInterrupted, MemorySaver } from '@langchain/langgraph'
import { ChatOpenAI } from '@langchain/openai'
import { createAgent, humanInTheLoopMiddleware, tool } from 'langchain'
import { createTools } from 'toolwright'
import { answer, baseURL, rootDir } from './setting.mjs'

const model = new ChatOpenAI({ model: 'scripted', apiKey: 'none', configuration: { baseURL }, useResponsesApi: false, maxRetries: 0 })
const own = Object.entries(createTools({ rootDir }))
const tools = own.map(([name, { description, inputSchema, execute }]) =>
  tool((input, { toolCall, signal }) => execute(input, { toolCallId: toolCall?.id, messages: [], abortSignal: signal }), {
    name,
    description,
    schema: inputSchema,
  }),
)
const asks = own
  .filter(([, { metadata }]) => metadata.toolwright.sideEffect)
  .map(([name]) => [name, { allowedDecisions: ['approve', 'reject'] }])
const middleware = [humanInTheLoopMiddleware({ interruptOn: Object.fromEntries(asks) })]
const agent = createAgent({ model, tools, middleware, checkpointer: new MemorySaver() })
const thread = { configurable: { thread_id: '1' } }
let state = await agent.invoke({ messages: [{ role: 'user', content: 'go' }] }, thread)
while (isInterrupted(state)) {
  const [{ value }] = state[INTERRUPT]
  for (const { name, args } of value.actionRequests) console.log(`asked: ${name} ${JSON.stringify(args)}`)
  const decisions = value.actionRequests.map(() => (answer === 'approve' ? { type: 'approve' } : { type: 'reject', message: 'not now' }))
  state = await agent.invoke(new Command({ resume: { decisions } }), thread)
}
console.log(state.messages.at(-1)?.text)
