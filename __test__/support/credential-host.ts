import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { generate } from 'selfsigned'
import { createTools, type SandboxCredential, type SandboxHosts, type ToolOptions } from 'toolwright'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { scriptsOf } from '../confinement/asking-host.ts'
import { makeSandbox } from './sandbox.ts'

/** What no command may ever see. */
export const CANARY = 'ghp_CANARY0123456789abcdefABCDEF01234567'
/** In base64, wherever it begins. */
export const CANARY_FORMS = [
  CANARY,
  ...[0, 1, 2].map((before) =>
    Buffer.from(`${'x'.repeat(before)}${CANARY}`)
      .toString('base64')
      .slice(4, 44),
  ),
]

export interface Visit {
  method: string
  url: string
  headers: IncomingMessage['headers']
  rawHeaders: string[]
}

/** A certificate for these names, and the authority that has signed it. */
export async function makeCertificate(names: string[]): Promise<{ ca: string; key: string; cert: string }> {
  const ca = await generate([{ name: 'commonName', value: 'Test authority' }], {
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, critical: true },
    ],
  } as never)
  const leaf = await generate([{ name: 'commonName', value: names[0] as string }], {
    ca: { key: ca.private, cert: ca.cert },
    extensions: [
      { name: 'basicConstraints', cA: false },
      { name: 'subjectAltName', altNames: names.map((value) => ({ type: 2, value })) },
    ],
  } as never)
  return { ca: ca.cert, key: leaf.private, cert: leaf.cert }
}

/** A host over TLS on the loopback interface, under names ending in `.cred.test`. */
export class CredentialHost {
  readonly visits: Visit[] = []
  readonly uploads: string[] = []
  ca = ''
  cert = ''
  port = 0
  /** Bytes of the bodies that came in. */
  received = 0
  repository: string | undefined
  /** Answers of a test, by path. They are for requests with the value. */
  readonly pages = new Map<string, string | ((request: IncomingMessage, response: ServerResponse) => void)>()
  readonly #names: string[]
  #server: ReturnType<typeof createServer> | undefined

  private constructor(names: string[]) {
    this.#names = names
  }

  /** The host of a suite: it is there for its tests, and has forgotten at each what the last one did. */
  static ofSuite(names = ['api.cred.test', 'git.cred.test', 'plain.cred.test', '*.below.cred.test']): CredentialHost {
    const host = new CredentialHost(names)
    beforeAll(() => host.#open())
    afterAll(() => host.#close())
    beforeEach(() => {
      host.visits.length = 0
      host.uploads.length = 0
      host.received = 0
    })
    return host
  }

  async #open(): Promise<void> {
    const { ca, key, cert } = await makeCertificate(this.#names)
    Object.assign(this, { ca, cert })
    const server = createServer({ key, cert }, (request, response) => this.#answer(request, response))
    server.on('upgrade', (request, socket) => this.#upgrade(request, socket))
    server.on('tlsClientError', () => undefined)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    this.port = (server.address() as AddressInfo).port
    this.#server = server
  }

  #close(): void {
    this.#server?.closeAllConnections()
    this.#server?.close()
  }

  get last(): Visit {
    return this.visits.at(-1) as Visit
  }

  network(credentials: SandboxCredential[], more: Partial<SandboxHosts> = {}): SandboxHosts {
    const names = ['api.cred.test', 'git.cred.test', 'plain.cred.test', 'a.below.cred.test']
    const addresses = Object.fromEntries(names.map((name) => [name, `127.0.0.1:${this.port}`]))
    return { allow: names, addresses, authorities: [this.ca], credentials, ...more }
  }

  /** Commands with these credentials, in a root of their own. */
  commands(credentials: SandboxCredential[], more: Partial<SandboxHosts> = {}, options: ToolOptions = {}) {
    const fixture = makeSandbox()
    const env = { allow: [], set: { PATH: process.env['PATH'] ?? '', HOME: fixture.root } }
    const network = this.network(credentials, more)
    const { bash } = createTools({
      rootDir: fixture.root,
      env,
      toolTimeoutMs: 100_000,
      ...options,
      sandbox: { network, ...options.sandbox },
    })
    return { ...fixture, network, bash, ...scriptsOf(bash) }
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { method = '', url = '', headers, rawHeaders } = request
    this.visits.push({ method, url, headers, rawHeaders })
    const { pathname } = new URL(url, 'https://x')
    const authorization = String(headers.authorization ?? headers['x-api-key'] ?? '')
    const page = this.pages.get(pathname)
    if (page !== undefined) {
      if (!isAuthorized(authorization)) {
        response.writeHead(401, { 'www-authenticate': 'Basic realm="test"' })
        return void response.end()
      }
      if (typeof page === 'function') return page(request, response)
      response.setHeader('content-type', page.startsWith('{') ? 'application/json' : 'text/html')
      return void response.end(page)
    }
    if (pathname.startsWith('/git/')) return this.#git(request, response)
    if (pathname === '/echo-header') response.setHeader('x-echo', authorization)
    if (pathname === '/redirect') {
      response.writeHead(302, { location: 'https://plain.cred.test/landed' })
      return void response.end()
    }
    if (pathname === '/401') {
      response.writeHead(401)
      return void response.end('no')
    }
    if (pathname === '/pieces') {
      const text = `<${authorization}>`
      const send = (at: number): void => {
        if (at === text.length) return void response.end()
        response.write(text[at])
        setTimeout(send, 1, at + 1)
      }
      return send(0)
    }
    if (pathname === '/large') {
      const block = Buffer.alloc(1 << 20, 'x')
      let left = Number(new URL(url, 'https://x').searchParams.get('mb'))
      const send = (): void => {
        while (left > 0) {
          left -= 1
          if (!response.write(block)) return void response.once('drain', send)
        }
        response.end()
      }
      return send()
    }
    const pieces: Buffer[] = []
    let length = 0
    request.on('data', (piece: Buffer) => {
      this.received += piece.length
      length += piece.length
      if (length < 65_536) pieces.push(piece)
    })
    request.on('end', () => {
      const body = Buffer.concat(pieces).toString('utf8')
      this.uploads.push(body)
      response.end(`${JSON.stringify({ method, url, headers, body: body.slice(0, 200), length })}\n`)
    })
  }

  #git(request: IncomingMessage, response: ServerResponse): void {
    const { method = '', url = '', headers } = request
    const expected = `Basic ${Buffer.from(`x:${CANARY}`).toString('base64')}`
    if (headers.authorization !== expected) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' })
      return void response.end()
    }
    const { pathname, searchParams } = new URL(url, 'https://x')
    const child = spawn('git', ['http-backend'], {
      env: {
        PATH: process.env['PATH'],
        GIT_PROJECT_ROOT: this.repository,
        GIT_HTTP_EXPORT_ALL: '1',
        PATH_INFO: pathname.slice('/git'.length),
        QUERY_STRING: searchParams.toString(),
        REQUEST_METHOD: method,
        REMOTE_USER: 'x',
        CONTENT_TYPE: headers['content-type'] ?? '',
        ...(headers['content-encoding'] && { HTTP_CONTENT_ENCODING: headers['content-encoding'] }),
        ...(headers['git-protocol'] && { GIT_PROTOCOL: String(headers['git-protocol']) }),
      },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    request.pipe(child.stdin)
    const pieces: Buffer[] = []
    child.stdout.on('data', (piece: Buffer) => pieces.push(piece))
    child.on('close', () => {
      const all = Buffer.concat(pieces)
      const end = all.indexOf('\r\n\r\n')
      for (const line of all.subarray(0, end).toString('latin1').split('\r\n')) {
        const [name = '', value = ''] = line.split(/: (.*)/u)
        if (name === 'Status') response.statusCode = Number.parseInt(value, 10)
        else response.setHeader(name, value)
      }
      response.end(all.subarray(end + 4))
    })
  }

  #upgrade(request: IncomingMessage, socket: Duplex): void {
    const { method = '', url = '', headers, rawHeaders } = request
    this.visits.push({ method, url, headers, rawHeaders })
    const accept = createHash('sha1').update(`${headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`)
    socket.on('error', () => undefined)
    // Whole, and in the middle of a frame cut into two pieces.
    if (url === '/told') {
      const text = Buffer.from(`{"token":"${headers.authorization}"}`)
      const frame = Buffer.concat([Buffer.of(0x81, text.length), text])
      socket.write(Buffer.concat([frame, frame.subarray(0, 40)]))
      return void setTimeout(() => socket.write(frame.subarray(40)), 50)
    }
    socket.pipe(socket)
  }
}

const isAuthorized = (header: string): boolean =>
  header.includes(CANARY) ||
  Buffer.from(header.replace(/^basic /iu, ''), 'base64')
    .toString('utf8')
    .includes(CANARY)
