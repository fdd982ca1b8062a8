// A complete agent with all thirteen tools: a temporary workspace with a skill, a server of the Model Context
// Protocol, a web server with a search service on loopback, a subagent, and a journal that is replayed.
//   node examples/contract/all-tools.mjs
//   AI_GATEWAY_API_KEY=… node examples/contract/all-tools.mjs --model anthropic/claude-sonnet-4.5
//   SERVER_KEY=… node examples/contract/all-tools.mjs --base-url http://127.0.0.1:8080/v1 --model NAME --api-key-env SERVER_KEY
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { createGateway, isStepCount, ToolLoopAgent } from 'ai'
import { openJournal } from 'toolwright'
import { createSession, lockedToolIds, replaySession, searxng } from 'toolwright/contract'

const PROMPT = `Shipping costs are wrong: 3 parcels cost 10, and should cost 15. Keep a todo list, load the skill "release",
find and correct the mistake, let the reviewer look at it, look the price up on the web, ask the user whether to note it,
write NOTES.md, and open a ticket with the tracker (its tools are found by tool_search).`

const program = fileURLToPath(import.meta.url)
const project = join(dirname(program), '../..')
/** The mock model of the AI SDK, loaded where it is needed only. */
let Mock
const options = readOptions()

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        model: { type: 'string' },
        'base-url': { type: 'string' },
        'api-key-env': { type: 'string' },
        'mcp-server': { type: 'boolean', default: false },
      },
    })
    if (values['base-url'] !== undefined && values.model === undefined) throw new Error('--base-url needs --model NAME')
    return values
  } catch (error) {
    console.error(error.message)
    process.exit(2)
  }
}

async function main() {
  const { agentModel, reviewerModel } = await chooseModels()
  const workspace = makeWorkspace()
  const web = await startWeb()
  const journal = await openJournal('memory:')
  const seen = new Map()
  const session = await createSession({
    workspace,
    manifest: {
      name: 'all-tools',
      requires: { net: { hosts: [`127.0.0.1:${web.port}`] } },
      // Allows the workspace, one address and the tracker. Anything else would need an answer.
      permissions: [
        { permission: '*', pattern: '**', action: 'allow' },
        { permission: '*', pattern: `127.0.0.1:${web.port}`, action: 'allow' },
        { permission: '*', pattern: 'mcp:tracker:*', action: 'allow' },
      ],
      agents: [
        {
          name: 'reviewer',
          description: 'Reviews a change',
          instructions: 'Read what changed, and say in one sentence whether it is right.',
          tools: ['read', 'grep', 'glob'],
          ...(reviewerModel === undefined ? {} : { model: reviewerModel }),
        },
      ],
      mcpServers: {
        tracker: {
          command: process.execPath,
          args: [program, '--mcp-server'],
          // Servers have a `/tmp` of their own, which would hide this project if it lay there.
          sandbox: { readable: [project] },
        },
      },
    },
    enabledMcpServers: ['tracker'],
    // Hides these tools until they are found, even if there are few.
    toolSearch: { threshold: 0 },
    model: agentModel,
    host: {
      prompt: ({ tool, subjects }) => {
        console.log(`  (${tool} of ${subjects.map(({ resource }) => resource).join(', ')}: nobody is here to agree)`)
        return 'reject_once'
      },
      // Chooses the first option of each question, so that the example runs by itself.
      question: (questions) => questions.map(({ options: choices = [{ label: 'yes' }] }) => [choices[0].label]),
      webSearch: [searxng({ baseUrl: web.origin })],
    },
    limits: { commandMs: 20_000, taskMs: 120_000 },
    journal,
    onRecord: (part) => show(part, seen),
  })
  try {
    const agent = new ToolLoopAgent({
      model: agentModel ?? scripted(agentTurns(web.origin)),
      instructions: `You repair a small project. ${session.skillsPrompt()}`,
      tools: session.tools,
      prepareStep: session.prepareStep,
      stopWhen: isStepCount(40),
    })
    const interrupted = new AbortController()
    process.once('SIGINT', () => interrupted.abort(new Error('It was interrupted.')))
    const abortSignal = AbortSignal.any([interrupted.signal, AbortSignal.timeout(300_000)])
    const { text } = await agent.generate({ prompt: PROMPT, abortSignal })
    console.log(`\n${text}\n`)
    await session.close()
    return await summary(journal, session.id, seen, agentModel === undefined)
  } catch (error) {
    console.error(`The run failed: ${error.message}`)
    return 1
  } finally {
    await session.close()
    await journal.close()
    web.close()
    rmSync(workspace, { recursive: true, force: true })
  }
}

/** One line for each call that is over, those of the subagent further in. */
function show({ type, session_id, call_id, tool, args, envelope }, seen) {
  if (type !== 'result') return
  const depth = session_id.split('/').length - 1
  if (depth === 0) seen.set(call_id, { tool, envelope })
  const outcome = envelope.type === 'output' ? JSON.stringify(envelope.data) : envelope.error_text
  const { code, duration_ms } = envelope.metadata
  console.log(
    `${'    '.repeat(depth)}${tool} ${clip(JSON.stringify(args))}\n${'    '.repeat(depth)}  ${code}, ${duration_ms} ms: ${clip(outcome)}`,
  )
}

function clip(text) {
  return text.length > 160 ? `${text.slice(0, 159)}…` : text
}

/** Replays the journal and returns the exit code. A scripted agent must have used every tool without a failure. */
async function summary(journal, id, seen, isScripted) {
  let same = 0
  for await (const { call_id, envelope } of await replaySession(journal, id)) {
    if (JSON.stringify(envelope) === JSON.stringify(seen.get(call_id)?.envelope)) same += 1
  }
  const calls = [...seen.values()]
  const used = lockedToolIds.filter((tool) => calls.some((call) => call.tool === tool))
  const failed = calls.filter(({ envelope }) => envelope.type === 'error').length
  console.log(
    `${used.length} of ${lockedToolIds.length} tools used, ${calls.length} calls, ${failed} failed, ${same} replayed byte for byte`,
  )
  const isWhole = same === calls.length && (!isScripted || (used.length === lockedToolIds.length && failed === 0))
  return isWhole ? 0 : 1
}

function makeWorkspace() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'all-tools-')))
  const files = {
    'src/shipping.js': 'export const PRICE = 5\nexport const shipping = parcels => PRICE * (parcels - 1)\n',
    'check.sh': "grep -q 'PRICE [*] parcels' src/shipping.js && echo shipping is right\n",
    '.agents/skills/release/SKILL.md':
      '---\nname: release\ndescription: How a change of this project is noted\n---\nEvery change has a line in NOTES.md and a ticket.\n',
  }
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return root
}

/** A page, and a search service that answers as SearXNG does. */
async function startWeb() {
  const server = createServer((request, response) => {
    const origin = `http://${request.headers.host}`
    const isSearch = request.url.startsWith('/search')
    const results = [{ title: 'Shipping prices', url: `${origin}/prices`, content: 'What a parcel costs' }]
    response.setHeader('content-type', isSearch ? 'application/json' : 'text/html; charset=utf-8')
    response.end(isSearch ? JSON.stringify({ results }) : '<h1>Prices</h1><p>Each parcel costs <b>5</b>.</p>')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  return { port, origin: `http://127.0.0.1:${port}`, close: () => server.close() }
}

/** The tracker: a server of the Model Context Protocol with one tool. */
async function serveTracker() {
  const { Server } = await import('@modelcontextprotocol/sdk/server/index.js')
  const { StdioServerTransport } = await import('@modelcontextprotocol/sdk/server/stdio.js')
  const { CallToolRequestSchema, ListToolsRequestSchema } = await import('@modelcontextprotocol/sdk/types.js')
  const server = new Server({ name: 'tracker', version: '1.0.0' }, { capabilities: { tools: {} } })
  const inputSchema = { type: 'object', properties: { title: { type: 'string' } }, required: ['title'], additionalProperties: false }
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [{ name: 'open_ticket', description: 'Open a ticket in the tracker of the project', inputSchema }],
  }))
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => ({
    content: [{ type: 'text', text: `ticket 1: ${params.arguments?.title}` }],
  }))
  await server.connect(new StdioServerTransport())
}

/** The turns of the scripted agent: calls, and a text at the end. */
function agentTurns(origin) {
  const todo = (first, second) => [
    'todo',
    {
      todos: [
        { content: 'Correct shipping', status: first },
        { content: 'Note it', status: second },
      ],
    },
  ]
  return [
    [todo('in_progress', 'pending'), ['skill', { name: 'release' }]],
    [
      ['glob', { pattern: '**/*.js' }],
      ['grep', { pattern: 'parcels' }],
      ['read', { path: 'src/shipping.js' }],
    ],
    [['edit', { path: 'src/shipping.js', old_string: 'PRICE * (parcels - 1)', new_string: 'PRICE * parcels' }]],
    [['bash', { command: 'sh check.sh', description: 'Check the formula' }]],
    [['task', { subagent_type: 'reviewer', prompt: 'Is PRICE in src/shipping.js taken once for each parcel?' }]],
    [
      ['web_search', { query: 'price of a parcel' }],
      ['web_fetch', { url: `${origin}/prices` }],
    ],
    [['question', { questions: [{ question: 'Note the change?', options: [{ label: 'yes' }, { label: 'no' }] }] }]],
    [
      ['write', { path: 'NOTES.md', content: '- Shipping is paid for every parcel.\n' }],
      ['tool_search', { query: 'open a ticket' }],
    ],
    [['tracker_open_ticket', { title: 'Shipping left out one parcel' }], todo('completed', 'completed')],
    'Shipping left out one parcel. It is corrected, reviewed, noted, and has a ticket.',
  ]
}

/** The model of the command line, or scripted models for the agent and its reviewer. */
async function chooseModels() {
  const { model, 'base-url': baseURL, 'api-key-env': keyName } = options
  if (model === undefined) {
    ;({ MockLanguageModelV4: Mock } = await import('ai/test'))
    return {
      reviewerModel: scripted([
        [
          ['read', { path: 'src/shipping.js' }],
          ['grep', { pattern: 'PRICE' }],
        ],
        'It is right.',
      ]),
    }
  }
  const apiKey = takeKey(keyName ?? (baseURL === undefined ? 'AI_GATEWAY_API_KEY' : undefined))
  if (baseURL === undefined) return { agentModel: createGateway({ apiKey })(model) }
  return { agentModel: createOpenAICompatible({ name: 'openai-compatible', baseURL, apiKey })(model) }
}

/** A key, taken out of the environment that commands inherit. */
function takeKey(name) {
  if (name === undefined) return undefined
  const key = process.env[name]
  delete process.env[name]
  if (key) return key
  console.error(`The environment variable ${name} is to hold the key of the model, and is not set.`)
  process.exit(2)
}

/** A model whose answers were written in advance. The tools and their effects are real. */
function scripted(turns) {
  const usage = { inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 0, text: 0, reasoning: 0 } }
  const answers = turns.map((turn, at) => {
    const isText = typeof turn === 'string'
    const calls = isText
      ? []
      : turn.map(([toolName, input], index) => ({
          type: 'tool-call',
          toolCallId: `call-${at + 1}-${index + 1}`,
          toolName,
          input: JSON.stringify(input),
        }))
    const reason = isText ? 'stop' : 'tool-calls'
    return { content: isText ? [{ type: 'text', text: turn }] : calls, finishReason: { unified: reason, raw: reason }, usage, warnings: [] }
  })
  return new Mock({ doGenerate: answers })
}

if (options['mcp-server']) await serveTracker()
else process.exitCode = await main()
