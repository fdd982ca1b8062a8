import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Rule, SessionOptions } from 'toolwright/contract'
import { onTestFinished } from 'vitest'

/** A server on a loopback address. */
export interface WebServer {
  port: number
  /** `http://127.0.0.1:port` */
  origin: string
  /** Every request that came. */
  requests: IncomingMessage[]
  /** How many connections were made. */
  connections(): number
  /** How many are open. */
  open(): number
}

export type Answer = (request: IncomingMessage, response: ServerResponse) => void

/** Starts a server that ends with the test. */
export async function serve(answer: Answer, address = '127.0.0.1', port = 0): Promise<WebServer> {
  const requests: IncomingMessage[] = []
  const sockets = new Set<Socket>()
  let connections = 0
  const server = http.createServer((request, response) => {
    requests.push(request)
    response.on('error', () => undefined)
    answer(request, response)
  })
  server.on('connection', (socket) => {
    connections += 1
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, address, resolve)
  })
  const at = (server.address() as AddressInfo).port
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  const host = address.includes(':') ? `[${address}]` : address
  return { port: at, origin: `http://${host}:${at}`, requests, connections: () => connections, open: () => sockets.size }
}

/** Answers with a content. */
export const send =
  (content: string | Uint8Array, type = 'text/plain', headers: Record<string, string> = {}): Answer =>
  (_, response) => {
    response.writeHead(200, { ...(type === '' ? {} : { 'content-type': type }), 'content-length': Buffer.byteLength(content), ...headers })
    response.end(content)
  }

/** The body of a request. */
export async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const chunk of request) parts.push(Buffer.from(chunk as Uint8Array))
  return Buffer.concat(parts).toString('utf8')
}

/** Rules that allow the web tools everything that the capabilities do; `*` stands for no address at home. */
export const webRules: Rule[] = ['*', '127.0.0.1', '127.0.0.2', '127.0.0.3', '[::1]', 'localhost'].map((pattern) => ({
  permission: '*',
  pattern,
  action: 'allow',
}))

/** Options of a session that may reach these hosts. */
export const reaching = (hosts: string[], rules: Rule[] = webRules): Pick<SessionOptions, 'manifest'> => ({
  manifest: { name: 'test', requires: { net: { hosts } }, permissions: rules },
})

/** Waits until something holds, at most two seconds. */
export async function until(holds: () => boolean): Promise<void> {
  const end = performance.now() + 2_000
  while (!holds() && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 5))
}
