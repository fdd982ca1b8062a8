import { MAX_MESSAGE_BYTES, MCP_TIMEOUT_MS, type McpServerConfig } from './server-config.js'
import type * as Mcp from '@ai-sdk/mcp'
import type * as McpStdio from '@ai-sdk/mcp/mcp-stdio'
import type { ChildProcess } from 'node:child_process'
import { withinTime } from '../../core/abort.js'
import type { Readable } from 'node:stream'
import { ContractFailure } from '../registry/envelope.js'

/** A tool as a server describes it. */
export interface ServerTool {
  name: string
  description?: string | undefined
  inputSchema: Record<string, unknown>
}

/** The part of the AI SDK's client that is used here. */
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

/** Events of a connection. */
export interface ConnectionEvents {
  /** The connection ended without having been closed from here. */
  onDown(): void
  /** The server sent a notification: its list may have changed. */
  onNotice(): void
}

/** The maximum numbers of pages of a list, and of tools of a server. */
const MAX_PAGES = 50
const MAX_TOOLS = 2_000
/** How long a server's process may take to end before it is killed. */
const END_MS = 1_000

/** A server that is connected. */
export class McpConnection {
  readonly #client: Client
  readonly #timeoutMs: number
  readonly #end: () => void
  readonly #output: ServerOutput

  private constructor(client: Client, timeoutMs: number, end: () => void, output: ServerOutput) {
    this.#client = client
    this.#timeoutMs = timeoutMs
    this.#end = end
    this.#output = output
  }

  /** Whether it is over because the server sent a message that is too long. */
  get wasTooLong(): boolean {
    return this.#output.isTooLong
  }

  /** Connects. The client is loaded here, since most sessions have no server. */
  static async open(server: McpServerConfig, events: ConnectionEvents, signal: AbortSignal): Promise<McpConnection> {
    const timeoutMs = server.timeout_ms ?? MCP_TIMEOUT_MS
    const { createMCPClient } = await loadClient()
    const output: ServerOutput = { isTooLong: false }
    const { transport, end } = await transportOf(server, output)
    try {
      const client = await createMCPClient({
        transport: transport as never,
        clientName: 'toolwright',
        initializationOptions: { timeout: timeoutMs, signal },
        // Notifications come this way too. The text may hold credentials, and is dropped.
        onUncaughtError: () => events.onNotice(),
      })
      if ('start' in transport) whenClosed(transport, () => events.onDown())
      return new McpConnection(client as unknown as Client, timeoutMs, end, output)
    } catch (error) {
      end()
      throw error
    }
  }

  /** All of its tools, within the time of one call. */
  listTools(signal: AbortSignal): Promise<ServerTool[]> {
    const late = (): Error => new Error('it did not list its tools in time')
    return withinTime((either) => this.#allPages(either()), this.#timeoutMs, signal, late)
  }

  async #allPages(signal: AbortSignal): Promise<ServerTool[]> {
    const tools: ServerTool[] = []
    let cursor: string | undefined
    for (let page = 0; page < MAX_PAGES && tools.length < MAX_TOOLS; page += 1) {
      const options = { signal, timeout: this.#timeoutMs }
      const listed = await this.#client.listTools(cursor === undefined ? { options } : { params: { cursor }, options })
      tools.push(...listed.tools)
      cursor = listed.nextCursor
      if (cursor === undefined) break
    }
    return tools.slice(0, MAX_TOOLS)
  }

  /** Calls a tool. */
  callTool(name: string, args: Record<string, unknown>, signal: AbortSignal): Promise<unknown> {
    return this.#client.callTool({ name, arguments: args, options: { signal, timeout: this.#timeoutMs } })
  }

  /** Ends it, and the server's process. */
  async close(): Promise<void> {
    await Promise.race([this.#client.close().catch(() => undefined), new Promise((resolve) => setTimeout(resolve, END_MS).unref())])
    this.#end()
  }
}

interface Transport {
  start?: unknown
  onclose?: (() => void) | undefined
}

/** The output of a server's process. */
interface ServerOutput {
  isTooLong: boolean
}

const CLIENT = '@ai-sdk/mcp'
const STDIO = '@ai-sdk/mcp/mcp-stdio'

/** By a variable, and left alone by bundlers: the package is optional, and a bundler fails where it is not installed. */
const loadClient = async () => (await import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ CLIENT)) as typeof Mcp
const loadStdioTransport = async () =>
  (await import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ STDIO)) as typeof McpStdio

async function transportOf(server: McpServerConfig, output: ServerOutput): Promise<{ transport: Transport; end: () => void }> {
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
export async function limitedFetch(...request: Parameters<typeof fetch>): Promise<Response> {
  const response = await fetch(...request)
  if (response.body === null) return response
  let bytes = 0
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength
      if (bytes > MAX_MESSAGE_BYTES) controller.error(tooLarge())
      else controller.enqueue(chunk)
    },
  })
  const { status, statusText, headers } = response
  return new Response(response.body.pipeThrough(counted), { status, statusText, headers })
}

/** Calls a listener when a line of an output exceeds the limit, before other listeners get the end of it. */
export function whenLineTooLong(output: Readable, listener: () => void): void {
  let bytes = 0
  output.prependListener('data', (chunk: Buffer) => {
    const first = chunk.indexOf(0x0a)
    const longest = bytes + (first === -1 ? chunk.length : first)
    bytes = first === -1 ? longest : chunk.length - chunk.lastIndexOf(0x0a) - 1
    if (Math.max(longest, bytes) > MAX_MESSAGE_BYTES) listener()
  })
}

function tooLarge(): ContractFailure {
  return new ContractFailure('too_large', `The answer of the server is longer than ${MAX_MESSAGE_BYTES} bytes. Ask for less at once.`)
}
