// An agent that starts a server, fetches a page of it with bash, and stops it. A script plays the model, so it runs without a key:
//
//   npm install toolwright ai zod
//   node processes.mjs
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stepCountIs, ToolLoopAgent } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { createTools } from 'toolwright'

const rootDir = await mkdtemp(join(tmpdir(), 'processes-'))
await writeFile(
  join(rootDir, 'server.cjs'),
  `require('node:http')
    .createServer((_, response) => response.end('hello from the server\\n'))
    .listen(0, '127.0.0.1', () => console.log('the server is up'))`,
)

/** The next call of the scripted model, from the reports that it has read. */
const moves = [
  () => ['process_start', { command: 'node server.cjs', wait_ms: 20_000 }],
  ({ process_start }) => [
    'bash',
    { cmd: 'node', args: ['-e', `fetch('http://localhost:${process_start.port}').then((page) => page.text()).then(console.log)`] },
  ],
  ({ process_start }) => ['process_stop', { process_id: process_start.process_id }],
]

const model = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => {
    const results = prompt.flatMap(({ role, content }) => (role === 'tool' ? content : []))
    const read = Object.fromEntries(results.map(({ toolName, output }) => [toolName, output.value]))
    const move = moves[results.length]
    const content =
      move === undefined
        ? [{ type: 'text', text: 'The page was served, and the server is stopped.' }]
        : [move(read)].map(([toolName, input]) => ({
            type: 'tool-call',
            toolCallId: `call-${results.length}`,
            toolName,
            input: JSON.stringify(input),
          }))
    const usage = {
      inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 1, text: 1, reasoning: 0 },
    }
    return { content, finishReason: { unified: move === undefined ? 'stop' : 'tool-calls', raw: undefined }, usage, warnings: [] }
  },
})

await using tools = createTools({ rootDir, processes: true })
const agent = new ToolLoopAgent({
  model,
  tools,
  stopWhen: stepCountIs(10),
  onStepFinish: ({ toolResults }) => toolResults.forEach(({ toolName, output }) => console.log(toolName, JSON.stringify(output))),
})
const { text } = await agent.generate({ prompt: 'Does the server answer?' })
console.log(text)
await rm(rootDir, { recursive: true })
