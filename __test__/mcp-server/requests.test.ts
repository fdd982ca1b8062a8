import fc from 'fast-check'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { serveHttp } from '../../ts/mcp-server/serve-http.ts'
import { runs, seed } from '../support/randomised.ts'
import { rawRequests, sendRaw } from '../support/raw-requests.ts'
import { makeSandbox } from '../support/sandbox.ts'

const INITIALIZE =
  '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}'
const DEEP = `${'['.repeat(50_000)}${']'.repeat(50_000)}`

async function start() {
  const { root } = makeSandbox()
  const server = await serveHttp(
    { roots: [root], tools: ['read', 'write'], isReadOnly: false, allow: [], deny: [], allowNetwork: false, version: '0', sandbox: '' },
    { port: 0, token: 'token' },
  )
  onTestFinished(() => server.close())
  const port = Number(new URL(server.url).port)
  const head = `Host: 127.0.0.1:${port}\r\nAuthorization: Bearer token\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n`
  const post = (body: string): Promise<number[]> =>
    sendRaw(port, `POST /mcp HTTP/1.1\r\n${head}Content-Length: ${body.length}\r\n\r\n${body}`)
  return { port, head, post }
}

describe('no request ends the server', () => {
  afterEach(() => vi.restoreAllMocks())

  test('a path that is no address, a host with a user name, a method that the transport does not have', async () => {
    const { port, head, post } = await start()
    for (const target of ['//[', '//[::1', '//a:99999/', 'http://[', '*', '/%', '//', '/mcp/', '/mcp%00'])
      // Bun's own server refuses some of them before a handler sees them.
      expect([
        [target, [400]],
        [target, [404]],
      ]).toContainEqual([target, await sendRaw(port, `GET ${target} HTTP/1.1\r\n${head}\r\n`)])
    for (const host of ['evil@127.0.0.1', '127.0.0.1:99999', '[::1', 'localhost/', '\xe9'])
      expect([host, await sendRaw(port, `GET /mcp HTTP/1.1\r\n${head.replace(/Host: [^\r]*/u, `Host: ${host}`)}\r\n`)]).toEqual([
        host,
        [403],
      ])
    for (const method of ['TRACE', 'PUT', 'HEAD', 'OPTIONS', 'PROPFIND'])
      expect([method, await sendRaw(port, `${method} /mcp HTTP/1.1\r\n${head}\r\n`)]).toEqual([method, [405]])
    expect(await post(INITIALIZE)).toEqual([200])
  })

  test('bodies that no parser likes', async () => {
    const { post } = await start()
    vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    const bodies = [
      '',
      '{',
      DEEP,
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"path":${DEEP}}}}`,
      '\0',
      '[]',
      'null',
    ]
    for (const body of bodies) {
      const [status = 0] = await post(body)
      expect([body.slice(0, 80), status >= 200 && status < 500]).toEqual([body.slice(0, 80), true])
    }
    expect(await post(INITIALIZE)).toEqual([200])
  })

  test('any bytes, whole or broken off', { timeout: 60_000 }, async () => {
    const { port, head, post } = await start()
    const errors = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    const requests = rawRequests({
      port,
      targets: ['/mcp', '/mcp?x'],
      headers: head.trimEnd().split('\r\n').slice(1),
      bodies: [INITIALIZE, DEEP],
    })
    const law = fc.asyncProperty(fc.array(fc.tuple(requests, fc.boolean()), { minLength: 20, maxLength: 20 }), async (batch) => {
      const answers = await Promise.all(batch.map(([text, breakOff]) => sendRaw(port, text, { breakOff })))
      // 500 and 502 say that something was thrown, which no client can bring about.
      expect(batch.filter((_, index) => answers[index]?.some((status) => status >= 500 && status !== 501 && status !== 505))).toEqual([])
      expect(await post(INITIALIZE)).toEqual([200])
    })
    await fc.assert(law, { seed, numRuns: runs(15), endOnFailure: true })
    errors.mockRestore()
  })
})
