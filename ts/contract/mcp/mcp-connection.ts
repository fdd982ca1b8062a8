import type * as Mcp from '@ai-sdk/mcp'
import { settledWithin, withinTime } from '../../core/abort.js'
import { ContractFailure } from '../registry/envelope.js'
import { ProcessTransport } from './process-transport.js'
import { MAX_MESSAGE_BYTES, MCP_TIMEOUT_MS, type McpServerConfig, type McpStdioServer } from './server-config.js'
import { ServerProcess } from './server-process.js'
import { directoryOf, type ServerPlace } from './server-sandbox.js'
import { loadLate } from '../../core/late-code.js'

const loadPlain = loadLate(() => import('./plain-transport.js'))

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
/** How long a client may take to close, in milliseconds. */
const END_MS = 1_000

/** A server that is connected. */
export interface McpConnection {
  /** Whether it ended because the server sent a message that is too long. */
  readonly wasTooLong: boolean
  /** How its process ended, if it runs in the sandbox. */
  readonly process?: { ended: string | undefined; stderr: string } | undefined
  /** All of its tools, within the time of one call. */
  listTools(signal: AbortSignal): Promise<ServerTool[]>
  callTool(name: string, args: Record<string, unknown>, signal: AbortSignal): Promise<unknown>
  /** Ends the connection, and waits until its process has ended. */
  close(): Promise<void>
}

/** The error of a server that could not be connected, with its process's messages. */
export class ConnectError extends Error {
  readonly process: McpConnection['process']

  constructor(cause: unknown, process: McpConnection['process']) {
    super('the server could not be connected', { cause })
    this.process = process
  }
}

/** Connects to a server. The client is loaded here, because most sessions have no server. @throws {ConnectError} */
export async function connect(
  name: string,
  server: McpServerConfig,
  place: ServerPlace,
  events: ConnectionEvents,
  signal: AbortSignal,
): Promise<McpConnection> {
  const timeout = server.timeout_ms ?? MCP_TIMEOUT_MS
  const { createMCPClient } = await loadClient()
  const line = await lineTo(name, server, place, signal)
  let client: Client
  try {
    client = (await createMCPClient({
      transport: line.transport as never,
      clientName: 'toolwright',
      initializationOptions: { timeout, signal },
      // Notifications come this way too. Their text may hold credentials and is dropped.
      onUncaughtError: () => events.onNotice(),
    })) as unknown as Client
    if ('start' in line.transport) whenClosed(line.transport, () => events.onDown())
  } catch (error) {
    await line.end()
    throw new ConnectError(error, line.process)
  }
  const late = (): Error => new Error('it did not list its tools in time')
  return {
    get wasTooLong() {
      return line.wasTooLong
    },
    get process() {
      return line.process
    },
    listTools: (stop) => withinTime((either) => allTools(client, { signal: either(), timeout }), timeout, stop, late),
    callTool: (tool, args, stop) => client.callTool({ name: tool, arguments: args, options: { signal: stop, timeout } }),
    async close() {
      await settledWithin(client.close(), END_MS).catch(() => undefined)
      await line.end()
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

/** Imported by a variable, so that bundlers ignore it: the package is optional, and a bundler would fail if it is not installed. */
const CLIENT = '@ai-sdk/mcp'
const loadClient = loadLate(
  async () => (await import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ CLIENT)) as typeof Mcp,
)

/** A transport, and its process. */
interface Line {
  transport: Transport
  /** Ends the process, and waits for its end. */
  end(): Promise<void> | void
  readonly wasTooLong: boolean
  /** How the process ended, and its last messages. */
  readonly process?: { ended: string | undefined; stderr: string } | undefined
}

function lineTo(name: string, server: McpServerConfig, place: ServerPlace, signal: AbortSignal): Promise<Line> | Line {
  if ('url' in server) {
    const { url, headers = {} } = server
    // Does not follow redirects, because another server must not get the credentials.
    const transport = { type: 'http', url, headers, redirect: 'error', fetch: limitedFetch } as Transport
    return { transport, end: () => undefined, wasTooLong: false }
  }
  return server.sandbox === 'none' ? plainLine(server, place) : confinedLine(name, server, place, signal)
}

async function plainLine(server: McpStdioServer, place: ServerPlace): Promise<Line> {
  const { plainTransport } = await loadPlain()
  let wasTooLong = false
  const cwd = server.cwd === undefined ? undefined : directoryOf(server, place)
  const { transport, end } = await plainTransport(server, cwd, () => (wasTooLong = true))
  return {
    transport: transport as unknown as Transport,
    end,
    get wasTooLong() {
      return wasTooLong
    },
  }
}

function confinedLine(name: string, server: McpStdioServer, place: ServerPlace, signal: AbortSignal): Line {
  const transport = new ProcessTransport(() => ServerProcess.start(name, server, place, signal))
  return {
    transport,
    end: () => transport.end(),
    get wasTooLong() {
      return transport.gaveUp === 'too long'
    },
    get process() {
      const { server: process, gaveUp } = transport
      if (process === undefined) return undefined
      const why =
        gaveUp === 'no messages' ? 'it wrote what is no message' : gaveUp === 'does not read' ? 'it did not read its input' : undefined
      return { ended: why ?? process.ended, stderr: process.stderr }
    },
  }
}

/** Adds a listener after the client's own. */
function whenClosed(transport: Transport, listener: () => void): void {
  const before = transport.onclose
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a transport takes a single listener
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
