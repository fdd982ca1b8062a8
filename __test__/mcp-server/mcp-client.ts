import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport, type ElicitRequestFormParams } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { onTestFinished } from 'vitest'

export const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))
export const eras = ['2025', '2026'] as const
export type Era = (typeof eras)[number]

/** What the user of a client answers. */
export type Decision = 'allow_once' | 'allow_always' | 'reject' | 'decline' | 'cancel'

export interface ClientOptions {
  args?: readonly string[]
  env?: Record<string, string>
  /** Arguments of the runtime. */
  runtime?: readonly string[]
  /** Without it, the client has no forms. */
  decide?: (question: ElicitRequestFormParams) => Decision | Promise<Decision>
  /** The roots that a client of 2025 has open. */
  roots?: () => string[]
}

/** A client of the official SDK that is not connected. */
export function makeClient(era: Era, { decide, roots }: ClientOptions) {
  const client = new Client(
    { name: 'test', version: '1.0.0' },
    {
      capabilities: { ...(decide && { elicitation: {} }), ...(roots && { roots: { listChanged: true } }) },
      versionNegotiation: { mode: era === '2025' ? 'legacy' : { pin: '2026-07-28' } },
    },
  )
  const asked: ElicitRequestFormParams[] = []
  if (decide) {
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      asked.push(params as ElicitRequestFormParams)
      const decision = await decide(params as ElicitRequestFormParams)
      return decision === 'decline' || decision === 'cancel' ? { action: decision } : { action: 'accept', content: { decision } }
    })
  }
  if (roots) client.setRequestHandler('roots/list', () => ({ roots: roots().map((uri) => ({ uri })) }))
  onTestFinished(() => client.close())
  return { client, asked }
}

/** Starts the server in a root, and a client of an era with it. */
export async function connectTo(root: string, era: Era, options: ClientOptions = {}) {
  const { client, asked } = makeClient(era, options)
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [...(options.runtime ?? []), cli, 'mcp', '--root', root, ...(options.args ?? [])],
    env: { ...(process.env as Record<string, string>), ...options.env },
    stderr: 'pipe',
  })
  const written = { stderr: '' }
  transport.stderr?.on('data', (chunk: Buffer) => (written.stderr += chunk.toString()))
  await client.connect(transport)
  return { client, asked, transport, written, ...callsOf(client) }
}

/** Connects a client of an era by streamable HTTP. */
export async function connectByHttp(url: string, token: string, era: Era, options: ClientOptions = {}) {
  const { client, asked } = makeClient(era, options)
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { authorization: `Bearer ${token}` } } })
  await client.connect(transport)
  return { client, asked, transport, ...callsOf(client) }
}

function callsOf(client: Client) {
  /** Calls a tool, and gives its code, its text and its data. */
  const call = async (name: string, args: Record<string, unknown>, options?: Parameters<Client['callTool']>[1]) => {
    const result = await client.callTool({ name, arguments: args }, options)
    const text = result.content.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
    const { _meta: meta } = result
    return { code: meta?.['toolwright/code'], isError: result.isError === true, text, data: result.structuredContent }
  }
  return { call }
}
