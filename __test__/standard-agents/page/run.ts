// Calls each example of the document: `run.ts TOOLS`. What they give is JSON on stdout.
import { createThread, loadTools } from 'toolwright/standard-agents'

const { tools, errors } = await loadTools(process.argv[2])
const events: unknown[] = []
const thread = await createThread({
  tools,
  tenvs: { vectorStoreId: 'vs_1' },
  context: { userId: 'u_1' },
  onEvent: ({ type, eventType, data }) => events.push({ type, eventType, data }),
})
await thread.storage.put('customer:c_1', '{"name":"Ada"}')
const calls: [name: string, args?: Record<string, unknown>][] = [
  ['search_knowledge_base', { query: 're' }],
  ['search_knowledge_base', { q: 're' }],
  ['get_weather', { location: 'Rome' }],
  ['get_weather', { location: 'Rome', units: 'fahrenheit' }],
  ['get_weather', { location: 'Rome', units: 'kelvin' }],
  ['get_server_time'],
  ['lookup_customer', { customerId: 'c_1' }],
  ['search_files', { query: 'q' }],
  ['process_payment', { amount: 5, currency: 'EUR' }],
  ['process_payment', { amount: 5000, currency: 'EUR' }],
  ['process_payment', { amount: -5, currency: 'EURO' }],
  ['start_workflow', { workflowId: 'w' }],
  ['generate_picture', { prompt: 'a cat' }],
  ['generate_with_dalle', { prompt: 'a cat' }],
  ['create_ticket', { title: 'It broke', description: 'd', category: 'c', tags: ['x'] }],
  ['create_ticket', { title: 'It', description: 'd', category: 'c', priority: 'now' }],
  ['search_articles', { query: 're', limit: 2 }],
  ['search_articles', { query: 'broken' }],
  ['search_articles', { query: 're', limit: 21 }],
]
const results = []
for (const [name, args] of calls) results.push([name, await thread.call(name, args)])
const picture = (await thread.attachments.list())[0]?.path ?? ''
const pictureText = Buffer.from(await thread.attachments.read(picture)).toString('latin1')
const messages = (await thread.messages.list()).map(({ toolName, content }) => [toolName, content])
console.log(JSON.stringify({ names: Object.keys(tools), errors, results, events, messages, pictureText }))
await thread.close()
