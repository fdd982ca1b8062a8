import { randomBytes, randomUUID, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { McpServer, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { isLocalHost, isLocalOrigin, listenLocally, type LocalServer, pathOf } from '../core/local-server.js'
import { connection, ToolServer } from './mcp-server.js'
import { loadNodeAdapter } from './sdk.js'
import { MAX_MESSAGE_BYTES, report } from './transport.js'
import type { ServerSettings } from './tool-sessions.js'

/** Options of {@link serveHttp}. */
export interface HttpOptions {
  /** The port; 0 for any free one. */
  port: number
  /** The token that every request needs. @default a random token */
  token?: string | undefined
}

/** A listening server. */
export interface HttpServer {
  url: string
  token: string
  warnings: readonly string[]
  /** Stops every call. */
  close(): Promise<void>
}

/** The most clients of 2025 at once. A new one replaces the client that was silent longest. */
const MAX_CLIENTS = 64
const PATH = '/mcp'
/** The methods of the transport. */
const METHODS: readonly string[] = ['POST', 'GET', 'DELETE']

/**
 * Serves clients on the loopback address by streamable HTTP. A request needs the token, a `Host` of this machine, and no
 * `Origin` of another machine, so neither a web page nor another user of the machine can make calls.
 */
export async function serveHttp(
  settings: ServerSettings,
  { port, token = randomBytes(24).toString('base64url') }: HttpOptions,
): Promise<HttpServer> {
  const [node, server] = await Promise.all([loadNodeAdapter(), ToolServer.open(settings)])
  const { createMcpHandler, isLegacyRequest } = server.sdk
  const bounds = { maxRequestBodySize: MAX_MESSAGE_BYTES }
  const modern = createMcpHandler(() => server.connect(), { legacy: 'reject', onerror: report, ...bounds })
  const clients = new LegacyClients(server)
  const handle = node.toNodeHandler(
    {
      // A call ends with the connection of its request.
      fetch: (request, options) =>
        connection.run(request.signal, async () =>
          (await isLegacyRequest(request, undefined, bounds)) ? clients.fetch(request) : modern.fetch(request, options),
        ),
    },
    { onerror: report, ...bounds },
  )
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!isLocalHost(request)) return refuse(response, 403, 'The server answers to names of this machine only.')
    if (!isLocalOrigin(request)) return refuse(response, 403, 'The server does not answer pages of other sites.')
    if (!isAuthorised(request, token)) return refuse(response, 401, 'Send the token that the server printed: Authorization: Bearer <token>')
    if (pathOf(request) !== PATH) return refuse(response, 404, `The server is at ${PATH}.`)
    if (!METHODS.includes(request.method ?? '')) return refuse(response, 405, `The server answers ${METHODS.join(', ')}.`)
    // The SDK makes an address of these two. Both are checked above, and the spelling of the client goes no further.
    request.url = PATH
    request.headers.host = `127.0.0.1:${http.port}`
    await handle(request as Parameters<typeof handle>[0], response)
  }

  let http: LocalServer
  try {
    http = await listenLocally(port, { answer, fail: refuse, onError: report })
  } catch (error) {
    await server.close()
    throw error
  }
  return {
    url: `http://127.0.0.1:${http.port}${PATH}`,
    token,
    warnings: server.warnings,
    close: () => http.close(Promise.allSettled([server.close(), modern.close(), clients.close()])),
  }
}

function isAuthorised({ headers: { authorization = '' } }: IncomingMessage, token: string): boolean {
  const [actual, expected] = [Buffer.from(authorization), Buffer.from(`Bearer ${token}`)]
  return actual.length === expected.length && timingSafeEqual(actual, expected)
}

function refuse(response: ServerResponse, status: number, message: string): void {
  const headers = {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
    ...(status === 405 ? { allow: METHODS.join(', ') } : {}),
  }
  response.writeHead(status, headers).end(JSON.stringify({ jsonrpc: '2.0', error: { code: -32_000, message }, id: null }))
}

interface LegacyClient {
  server: McpServer
  transport: WebStandardStreamableHTTPServerTransport
}

/** The clients of 2025. Their connection is a session with an id, over which the server asks while a call waits. */
class LegacyClients {
  readonly #server: ToolServer
  /** Connections by id. The first was silent longest. */
  readonly #clients = new Map<string, LegacyClient>()

  constructor(server: ToolServer) {
    this.#server = server
  }

  async fetch(request: Request): Promise<Response> {
    const id = request.headers.get('mcp-session-id')
    const known = id === null ? undefined : this.#clients.get(id)
    if (id !== null && known === undefined) return unknownSession()
    if (id !== null && known !== undefined) {
      this.#clients.delete(id)
      this.#clients.set(id, known)
      return known.transport.handleRequest(request)
    }
    const client = await this.#begin()
    const response = await client.transport.handleRequest(request)
    // The request did not begin a session.
    if (client.transport.sessionId === undefined) await client.server.close()
    return response
  }

  async #begin(): Promise<LegacyClient> {
    const server = this.#server.connect(true)
    const transport = new this.#server.sdk.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        this.#clients.set(id, client)
        const [oldest] = this.#clients
        if (this.#clients.size > MAX_CLIENTS && oldest !== undefined) void this.#end(oldest[0])
      },
      onsessionclosed: (id) => this.#end(id),
      maxRequestBodySize: MAX_MESSAGE_BYTES,
    })
    const client = { server, transport }
    await server.connect(transport)
    return client
  }

  async #end(id: string): Promise<void> {
    const client = this.#clients.get(id)
    this.#clients.delete(id)
    await client?.server.close()
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.#clients.keys()].map((id) => this.#end(id)))
  }
}

const unknownSession = (): Response =>
  Response.json(
    { jsonrpc: '2.0', error: { code: -32_001, message: 'There is no such session; begin a new one.' }, id: null },
    { status: 404 },
  )
