import { MAX_MESSAGE_BYTES, MCP_TIMEOUT_MS, type McpServerConfig } from './server-config.js'
import type * as Mcp from '@ai-sdk/mcp'
import type * as McpStdio from '@ai-sdk/mcp/mcp-stdio'
import type { ChildProcess } from 'node:child_process'
import { settledWithin, withinTime } from '../../core/abort.js'
import type { Readable } from 'node:stream'
import { ContractFailure } from '../registry/envelope.js'

export interface ServerTool {
  name: string
  description?: string | undefined
  inputSchema: Record<string, unknown>
  /** Of its structured content, if the server says. */
  outputSchema?: Record<string, unknown> | undefined
}

interface Client {
  listTools(request: {
    params?: { cursor: string }
    options: RequestOptions
  }): Promise<{ tools: ServerTool[]; nextCursor?: string | undefined }>
  callTool(request: { name: string; arguments: Record<string, unknown>; options: RequestOptions }): Promise<unknown>
  close(): Promise<void>
}

interface RequestOptions {
  signal?: AbortSignal
  timeout: number
}

export interface ConnectionEvents {
  /** The connection ended without having been closed from here. */
  onDown(): void
  /** The server sent a notification: its list may have changed. */
  onNotice(): void
}

const MAX_PAGES = 50
const MAX_TOOLS = 2_000
/** How long a server's process may take to end before it is killed. */
const END_MS = 1_000

/** A server that is connected. */
export interface McpConnection {
  /** Whether it is over because the server sent a message that is too long. */
  readonly wasTooLong: boolean
  /** All of its tools, within the time of one call. */
  listTools(signal: AbortSignal): Promise<ServerTool[]>
  callTool(name: string, args: Record<string, unknown>, signal: AbortSignal): Promise<unknown>
  close(): Promise<void>
}

/** Connects. The client is loaded here, since most sessions have no server. */
export async function connect(server: McpServerConfig, events: ConnectionEvents, signal: AbortSignal): Promise<McpConnection> {
  const timeout = server.timeout_ms ?? MCP_TIMEOUT_MS
  const { createMCPClient } = await loadClient()
  const output = { isTooLong: false }
  const { transport, end } = await transportOf(server, output)
  let client: Client
  try {
    client = (await createMCPClient({
      transport: transport as never,
      clientName: 'toolwright',
      initializationOptions: { timeout, signal },
      // Notifications come this way too. The text may hold credentials, and is dropped.
      onUncaughtError: () => events.onNotice(),
    })) as unknown as Client
    if ('start' in transport) whenClosed(transport, () => events.onDown())
  } catch (error) {
    end()
    throw error
  }
  const late = (): Error => new Error('it did not list its tools in time')
  return {
    get wasTooLong() {
      return output.isTooLong
    },
    listTools: (stop) => withinTime((either) => allTools(client, { signal: either(), timeout }), timeout, stop, late),
    callTool: (name, args, stop) => client.callTool({ name, arguments: args, options: { signal: stop, timeout } }),
    async close() {
      await settledWithin(client.close(), END_MS).catch(() => undefined)
      end()
    },
  }
}

async function allTools(client: Client, options: RequestOptions): Promise<ServerTool[]> {
  const tools: ServerTool[] = []
  let cursor: string | undefined
  for (let page = 0; page < MAX_PAGES && tools.length < MAX_TOOLS; page += 1) {
    const listed = await client.listTools(cursor === undefined ? { options } : { params: { cursor }, options })
    tools.push(...listed.tools)
    cursor = listed.nextCursor
    if (cursor === undefined) break
  }
  return tools.slice(0, MAX_TOOLS)
}

interface Transport {
  start?: unknown
  onclose?: (() => void) | undefined
}

const CLIENT = '@ai-sdk/mcp'
const STDIO = '@ai-sdk/mcp/mcp-stdio'

/** By a variable, and left alone by bundlers: the package is optional, and a bundler fails where it is not installed. */
const loadClient = async () => (await import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ CLIENT)) as typeof Mcp
const loadStdioTransport = async () =>
  (await import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ STDIO)) as typeof McpStdio

async function transportOf(server: McpServerConfig, output: { isTooLong: boolean }): Promise<{ transport: Transport; end: () => void }> {
  if ('url' in server) {
    const { url, headers = {} } = server
    // Another address is another server, which must not get the credentials.
    return { transport: { type: 'http', url, headers, redirect: 'error', fetch: limitedFetch } as Transport, end: () => undefined }
  }
  const { StdioMCPTransport } = await loadStdioTransport()
  const { command, args = [], env = {}, cwd } = server
  const transport = new StdioMCPTransport({ command, args, env, stderr: 'ignore', ...(cwd === undefined ? {} : { cwd }) })
  let child: ChildProcess | undefined
  const start = transport.start.bind(transport)
  transport.start = async () => {
    const started = start()
    // The transport asks its process to end, and does not look whether it does.
    child = (transport as unknown as { process?: ChildProcess }).process
    // After an abort the error event may come when no other listener is left.
    child?.on('error', () => undefined)
    const { stdout } = child ?? {}
    if (stdout) {
      whenLineTooLong(stdout, () => {
        output.isTooLong = true
        child?.kill('SIGKILL')
      })
    }
    await started
  }
  return { transport: transport as unknown as Transport, end: () => endProcess(child) }
}

function endProcess(child: ChildProcess | undefined): void {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
  const timer = setTimeout(() => child.kill('SIGKILL'), END_MS)
  timer.unref()
  child.once('exit', () => clearTimeout(timer))
  child.kill('SIGTERM')
}

/** Listens after the client, which has put its own listener there. */
function whenClosed(transport: Transport, listener: () => void): void {
  const before = transport.onclose
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a transport has one place for a listener
  transport.onclose = () => {
    before?.()
    listener()
  }
}

/** `fetch` whose answers fail when they exceed the limit. */
async function limitedFetch(...request: Parameters<typeof fetch>): Promise<Response> {
  const response = await fetch(...request)
  if (response.body === null) return response
  let bytes = 0
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength
      if (bytes <= MAX_MESSAGE_BYTES) return controller.enqueue(chunk)
      const text = `The answer of the server is longer than ${MAX_MESSAGE_BYTES} bytes. Ask for less at once.`
      controller.error(new ContractFailure('too_large', text))
    },
  })
  const { status, statusText, headers } = response
  return new Response(response.body.pipeThrough(counted), { status, statusText, headers })
}

/** Calls a listener when a line of an output exceeds the limit, before other listeners get the end of it. */
function whenLineTooLong(output: Readable, listener: () => void): void {
  let bytes = 0
  output.prependListener('data', (chunk: Buffer) => {
    const first = chunk.indexOf(0x0a)
    const longest = bytes + (first === -1 ? chunk.length : first)
    bytes = first === -1 ? longest : chunk.length - chunk.lastIndexOf(0x0a) - 1
    if (Math.max(longest, bytes) > MAX_MESSAGE_BYTES) listener()
  })
}
