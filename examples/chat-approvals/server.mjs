/**
 * A chat whose agent reads freely and asks before it changes anything: `node server.mjs [WORKSPACE] [DATA_DIRECTORY]`.
 * The journal and the secret of the data directory let an answer come to another process. PORT, AI_GATEWAY_API_KEY and MODEL
 * are read from the environment; without a key the model is scripted.
 */
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { pipeAgentUIStreamToResponse, ToolLoopAgent } from 'ai'
import { rolldown } from 'rolldown'
import { openJournal } from 'toolwright'
import { createSession } from 'toolwright/contract'
import { createScriptedModel } from './scripted-model.mjs'

const [workspace = './project', data = './chat-data'] = process.argv.slice(2)
mkdirSync(workspace, { recursive: true })
mkdirSync(data, { recursive: true, mode: 0o700 })

const model = process.env.AI_GATEWAY_API_KEY ? (process.env.MODEL ?? 'anthropic/claude-sonnet-4.5') : createScriptedModel()
const journal = await openJournal(`file:${join(data, 'calls.db')}`)

// The secret survives a restart, so the signatures of open questions stay valid.
const secretFile = join(data, 'secret')
if (!existsSync(secretFile)) writeFileSync(secretFile, randomBytes(32).toString('hex'), { mode: 0o600 })
const experimental_toolApprovalSecret = readFileSync(secretFile, 'utf8')

/** The sessions of this process, by chat. A product ties the id to its user, because everyone who has the id can answer questions. */
const sessions = new Map()

/** @param {string} id */
function sessionOf(id) {
  const opened =
    sessions.get(id) ??
    createSession({
      id,
      workspace,
      journal,
      manifest: { name: 'chat', permissions: [{ permission: 'fs.read', pattern: '**', action: 'allow' }] },
    })
  sessions.set(id, opened)
  return opened
}

/**
 * @param {import('node:http').IncomingMessage} request
 * @param {import('node:http').ServerResponse} response
 */
async function chat(request, response) {
  const { id, messages } = JSON.parse(Buffer.concat(await request.toArray()).toString('utf8'))
  if (typeof id !== 'string' || !/^[0-9a-f-]{36}$/u.test(id)) throw new Error('a chat needs a UUID')
  const session = await sessionOf(id)
  const { tools, toolApproval, prepareStep } = session
  const agent = new ToolLoopAgent({ model, tools, toolApproval, prepareStep, experimental_toolApprovalSecret })
  const closed = new AbortController()
  response.once('close', () => closed.abort())
  await pipeAgentUIStreamToResponse({ response, agent, uiMessages: messages, abortSignal: closed.signal })
}

async function buildPage() {
  const bundle = await rolldown({
    input: join(import.meta.dirname, 'page.jsx'),
    platform: 'browser',
    transform: { jsx: 'react-jsx', define: { 'process.env.NODE_ENV': '"production"' } },
  })
  const { output } = await bundle.generate({ format: 'esm', minify: true, codeSplitting: false })
  await bundle.close()
  return output[0].code
}

const script = await buildPage()
const html =
  '<!doctype html><meta charset="utf-8"><title>Approvals</title><div id="root"></div><script type="module" src="/page.js"></script>'

const server = createServer((request, response) => {
  const send = (type, text) => void response.writeHead(200, { 'content-type': `${type}; charset=utf-8` }).end(text)
  const { method, url, headers } = request
  // Refuses other pages of the browser, even under another name of this machine.
  const isOwn =
    headers.host === `127.0.0.1:${server.address().port}` && (headers.origin ?? `http://${headers.host}`) === `http://${headers.host}`
  if (!isOwn) return void response.writeHead(403).end()
  if (method === 'GET' && url === '/') return send('text/html', html)
  if (method === 'GET' && url === '/page.js') return send('text/javascript', script)
  if (method !== 'POST' || url !== '/api/chat') return void response.writeHead(404).end()
  chat(request, response).catch((error) => {
    console.error(error)
    if (!response.headersSent) response.writeHead(400)
    response.end()
  })
})
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/`))
