import { connect } from 'node:net'
import fc from 'fast-check'

/** What a hostile client knows: it may have the token, and the names that the server answers to. */
export interface Known {
  port: number
  /** Targets that lead somewhere. */
  targets: readonly string[]
  /** Header lines that let a request through. */
  headers: readonly string[]
  /** Bodies that mean something. */
  bodies: readonly string[]
}

const bytes = fc.uint8Array({ maxLength: 40 }).map((array) => Buffer.from(array).toString('latin1'))
const METHODS = [
  'GET',
  'POST',
  'DELETE',
  'HEAD',
  'OPTIONS',
  'PUT',
  'PATCH',
  'TRACE',
  'CONNECT',
  'TRACK',
  'PROPFIND',
  'M-SEARCH',
  'get',
  'PRI',
  '',
]
const TARGETS = [
  '//[',
  '//',
  '/',
  '',
  '*',
  '//[::1',
  '//user@host:99999/',
  'http://[',
  'http://a:b@c:99999999/mcp',
  '/%',
  '/%ff%00',
  '/\\..\\',
  '/?%',
  '/#',
  '?',
  '://',
  'x:80',
  '/\u{7f}',
  '/\xff\xfe',
  '/__proto__',
  '/constructor/prototype',
]
const HOSTS = [
  'evil@127.0.0.1',
  '127.0.0.1@evil',
  '127.0.0.1:99999',
  '127.0.0.1:',
  '127.0.0.1:-1',
  '127.0.0.1:80:80',
  '[',
  '[::1',
  '[::1]:x',
  '::1',
  '',
  ' ',
  'localhost#',
  'localhost/',
  'localhost?',
  'localhost\\',
  '%6cocalhost',
  '127.1',
  '0x7f.1',
  '\xe9',
  'a'.repeat(5000),
]
const HEADERS = [
  'Expect: 100-continue',
  'Expect: something',
  'Upgrade: websocket',
  'Connection: Upgrade',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: gzip, chunked',
  'Content-Length: 5',
  'Content-Length: 99999999',
  'Content-Encoding: gzip',
  'Content-Type: application/json',
  'Content-Type: \xff',
  'Accept: application/json, text/event-stream',
  'Accept: \x01',
  'Origin: null',
  'Origin: http://[',
  'Origin: http://localhost:99999',
  'Origin: http://a@localhost',
  'Mcp-Session-Id: \xff',
  'Mcp-Session-Id:',
  'MCP-Protocol-Version: 2026-99-99',
  'MCP-Protocol-Version: \xe9',
  'Last-Event-ID: \xfe',
  'Authorization: \xff',
  '__proto__: x',
  'constructor: x',
  'toString: x',
  'Cookie: a',
  'Set-Cookie: a',
  ':authority: evil',
  'Name without colon',
  ' folded: x',
  'X: \0',
  'X: \u{7f}',
]
const BODIES = [
  '',
  '{',
  '[]',
  '[[]]',
  'null',
  '1',
  '"x"',
  '{"jsonrpc":"2.0"}',
  '{"__proto__":{"a":1}}',
  '[{"jsonrpc":"2.0"},null]',
  '\xff\xfe',
  '\0',
  '{"jsonrpc":"2.0","id":1e999,"method":"tools/call"}',
  `${'['.repeat(20_000)}`,
  `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`,
  '5\r\nhello\r\n0\r\n\r\n',
  'ffffffffff\r\n',
]

/** Requests in any bytes; most of them go far enough to be answered by a handler. */
export function rawRequests({ port, targets, headers, bodies }: Known): fc.Arbitrary<string> {
  const method = fc.oneof({ weight: 6, arbitrary: fc.constantFrom('GET', 'POST', 'DELETE') }, fc.constantFrom(...METHODS), bytes)
  const target = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...targets) },
    { weight: 4, arbitrary: fc.constantFrom(...TARGETS) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.constantFrom(...targets), fc.constantFrom('?', '/', '#', ';', '%', '?['), bytes)
        .map((parts) => parts.join('')),
    },
    bytes.map((text) => `/${text}`),
  )
  const version = fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom('HTTP/1.1', 'HTTP/1.0') },
    fc.constantFrom('HTTP/2.0', 'HTTP/0.9', '', 'HTTP/1.1 x'),
  )
  const host = fc.oneof({ weight: 4, arbitrary: fc.constant(`127.0.0.1:${port}`) }, fc.constantFrom(...HOSTS), bytes)
  const given = fc.oneof({ weight: 9, arbitrary: fc.constant(headers) }, fc.constant([]))
  const others = fc.array(fc.oneof(fc.constantFrom(...HEADERS), bytes), { maxLength: 3 })
  const body = fc.oneof(fc.constantFrom(...bodies), fc.constantFrom(...BODIES), bytes)
  const length = fc.constantFrom('right', 'right', 'right', 'none', 'short')
  return fc
    .tuple(method, target, version, host, given, others, body, length)
    .map(([verb, path, http, name, known, more, content, counted]) => {
      const size = counted === 'none' ? [] : [`Content-Length: ${Math.max(0, content.length - (counted === 'short' ? 3 : 0))}`]
      return [`${verb} ${path} ${http}`, `Host: ${name}`, ...known, ...size, ...more, '', content].join('\r\n')
    })
}

/** Sends bytes over a connection of their own, and gives the statuses of the answers; none if the server closed without one. */
export function sendRaw(port: number, text: string, { breakOff = false } = {}): Promise<number[]> {
  return new Promise((resolve) => {
    let answer = ''
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(text, 'latin1')
      if (breakOff) setImmediate(() => socket.resetAndDestroy())
    })
    const end = (): void => {
      socket.destroy()
      resolve([...answer.matchAll(/^HTTP\/1\.1 (\d{3})/gmu)].map(([, status]) => Number(status)).filter((status) => status !== 100))
    }
    // A request that is not whole, and a stream of events, stay open.
    const open = setTimeout(end, 1_000)
    let quiet: NodeJS.Timeout | undefined
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      answer += chunk
      quiet ??= setTimeout(end, 30)
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      clearTimeout(open)
      clearTimeout(quiet)
      end()
    })
  })
}
