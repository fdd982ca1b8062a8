// A server of the Model Context Protocol, over stdio, or over HTTP with `--http`: prints its port then.
import { createServer } from 'node:http'
import { appendFileSync } from 'node:fs'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'

const { MANY = '0', LOG, TOKEN } = process.env
if (LOG !== undefined) appendFileSync(LOG, `start ${process.pid}\n`)
let extra = []

const text = (value) => ({ content: [{ type: 'text', text: String(value) }] })
const object = (properties, required = []) => ({ type: 'object', properties, required, additionalProperties: false })

const tools = {
  add: [object({ a: { type: 'number' }, b: { type: 'number' } }, ['a', 'b']), ({ a, b }) => text(a + b), 'Add two numbers'],
  'create.issue': [
    object({ title: { type: 'string' } }, ['title']),
    ({ title }) => text(`created ${title}`),
    'Create an issue in the tracker',
  ],
  long: [object({}), () => text('x'.repeat(300_000)), 'd'.repeat(500)],
  image: [
    object({}),
    () => ({ content: [{ type: 'image', data: Buffer.alloc(30).toString('base64'), mimeType: 'image/png' }] }),
    'Give an image',
  ],
  fails: [object({}), () => ({ ...text('it went wrong'), isError: true }), 'Fail'],
  throws: [
    object({}),
    () => {
      throw new Error(`refused for ${TOKEN}`)
    },
    'Throw',
  ],
  leaks: [object({}), () => text(`the token is ${TOKEN}`), 'Leak'],
  hangs: [object({}), () => new Promise(() => undefined), 'Hang'],
  dies: [object({}), () => process.exit(3), 'Die'],
  grows: [
    object({}),
    async () => {
      extra = ['fresh']
      await server.sendToolListChanged()
      return text('grown')
    },
    'Grow the list',
  ],
}
if (process.env.FLOOD !== undefined) tools.floods = [object({ n: { type: 'number' } }), ({ n }) => text('x'.repeat(n)), 'Give a long text']
for (let index = 0; index < Number(MANY); index += 1)
  tools[`many_${index}`] = [object({}), () => text(index), `Tool number ${index} of many`]

function makeServer() {
  const made = new Server({ name: 'test', version: '1.0.0' }, { capabilities: { tools: { listChanged: true } } })
  made.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [
      ...Object.entries(tools).map(([name, [inputSchema, , description]]) => ({ name, description, inputSchema })),
      ...extra.map((name) => ({ name, description: 'New', inputSchema: object({}) })),
      { name: 'broken', inputSchema: { type: 'object', properties: { a: { type: 'strin' } } } },
    ],
  }))
  made.setRequestHandler(CallToolRequestSchema, async ({ params: { name, arguments: args = {} } }) => {
    if (LOG !== undefined) appendFileSync(LOG, `call ${name}\n`)
    return tools[name] === undefined ? text(`${name} was called`) : tools[name][1](args)
  })
  return made
}

const server = makeServer()
if (process.argv.includes('--http')) {
  const http = createServer(async (request, response) => {
    if (TOKEN !== undefined && request.headers.authorization !== `Bearer ${TOKEN}`) {
      response.writeHead(401).end(`bad token ${request.headers.authorization}`)
      return
    }
    const one = makeServer()
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
    response.on('close', () => void transport.close())
    await one.connect(transport)
    await transport.handleRequest(request, response)
  })
  http.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => console.log(http.address().port))
} else {
  if (process.env.DEAF !== undefined) process.on('SIGTERM', () => undefined)
  await server.connect(new StdioServerTransport())
}
