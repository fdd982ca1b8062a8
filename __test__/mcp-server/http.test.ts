import { spawn } from 'node:child_process'
import { request as httpRequest } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { eventually, expectGone, running, sleepingMark } from '../support/processes.ts'
import { makeSandbox } from '../support/sandbox.ts'
import { cli, connectByHttp, eras } from './mcp-client.ts'

/** Starts a server on a free port, and gives what it printed. */
async function startServer(root: string, args: readonly string[] = [], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [cli, 'mcp', '--http', '--root', root, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const written = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (written.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (written.stderr += text))
  const address = (): RegExpExecArray | null => /^(http:\S+)\nAuthorization: Bearer (\S+)\n/mu.exec(written.stderr)
  await eventually(() => address() !== null, 15_000)
  const [, url = '', token = ''] = address() ?? []
  return { child, url, token, written }
}

/** One request with headers that `fetch` would not send. */
function post(url: string, headers: Record<string, string>, method = 'POST', path?: string): Promise<{ status: number; body: string }> {
  const { hostname, port, pathname } = new URL(url)
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
  })
  const given = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers }
  return new Promise((resolve, reject) => {
    const request = httpRequest({ hostname, port, path: path ?? pathname, method, headers: given }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text }))
    })
    request.on('error', reject)
    request.end(method === 'POST' ? body : undefined)
  })
}

describe.each(eras)('a client of %s by streamable HTTP', (era) => {
  test('calls tools, and its user is asked', async () => {
    const fixture = makeSandbox()
    fixture.put('a.txt', 'one')
    const { url, token, written } = await startServer(fixture.root)
    const { call, asked } = await connectByHttp(url, token, era, {
      decide: ({ message }) => (message.includes('write') ? 'allow_once' : 'decline'),
    })
    expect((await call('read', { path: 'a.txt' })).data).toEqual({ content: 'one' })
    expect(await call('write', { path: 'b.txt', content: 'two' })).toMatchObject({ code: 'ok' })
    expect(await call('bash', { command: 'true' })).toMatchObject({ code: 'permission_rejected' })
    expect(asked).toHaveLength(2)
    expect(written.stdout).toBe('')
  })

  test('that goes away ends its command', async () => {
    const { root } = makeSandbox()
    const { url, token } = await startServer(root, ['--allow', 'bash'])
    const { client, call } = await connectByHttp(url, token, era)
    const mark = sleepingMark()
    const made = call('bash', { command: `sleep ${mark}` }).catch((error: unknown) => error)
    expect(await eventually(() => running(mark).length > 0, 10_000)).toBe(true)
    await client.close()
    await made
    await expectGone(mark)
  })
})

test('the end of the server ends its commands', async () => {
  const { root } = makeSandbox()
  const { child, url, token } = await startServer(root, ['--allow', 'bash'])
  const { call } = await connectByHttp(url, token, '2026')
  const mark = sleepingMark()
  const made = call('bash', { command: `sleep ${mark}` }).catch((error: unknown) => error)
  expect(await eventually(() => running(mark).length > 0, 10_000)).toBe(true)
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  expect(await ended).toBe(0)
  await made
  await expectGone(mark)
})

test('a request needs the token, a name of this machine, and no origin of another one', async () => {
  const { root } = makeSandbox()
  const { url, token } = await startServer(root)
  const { port } = new URL(url)
  const authorization = `Bearer ${token}`
  expect((await post(url, { authorization })).status).toBe(200)
  expect((await post(url, { authorization, origin: `http://localhost:${port}` })).status).toBe(200)
  // DNS rebinding: the name of another site leads here.
  for (const host of [
    'evil.example',
    `evil.example:${port}`,
    `127.0.0.1.evil.example:${port}`,
    `localhost.evil.example`,
    '169.254.169.254',
  ])
    expect([host, (await post(url, { authorization, host })).status]).toEqual([host, 403])
  for (const origin of ['http://evil.example', 'https://localhost.evil.example', 'null', 'file://'])
    expect([origin, (await post(url, { authorization, origin })).status]).toEqual([origin, 403])
  const wrong = [
    {},
    { authorization: 'Bearer ' },
    { authorization: token },
    { authorization: `Bearer ${token}x` },
    { authorization: `Basic ${token}` },
  ]
  for (const headers of wrong) {
    const { status, body } = await post(url, headers)
    expect([headers, status]).toEqual([headers, 401])
    expect(body).not.toContain(token)
  }
  expect((await post(url, {}, 'OPTIONS')).status).toBe(401)
  expect((await post(url, { authorization }, 'POST', '/')).status).toBe(404)
  expect((await post(url, { authorization, 'mcp-session-id': 'foreign' })).status).toBe(404)
})

test('clients of 2025 do not share what their users have allowed', async () => {
  const { root } = makeSandbox()
  const { url, token } = await startServer(root)
  const one = await connectByHttp(url, token, '2025', { decide: () => 'allow_always' })
  const two = await connectByHttp(url, token, '2025', { decide: () => 'reject' })
  expect(await one.call('write', { path: 'a.txt', content: 'x' })).toMatchObject({ code: 'ok' })
  expect(await two.call('write', { path: 'a.txt', content: 'y' })).toMatchObject({ code: 'permission_rejected' })
})

test('--json prints address and token for a program, and nothing else', async () => {
  const { root } = makeSandbox()
  const child = spawn(process.execPath, [cli, 'mcp', '--http', '--json', '--root', root], { stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const written = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (written.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (written.stderr += text))
  expect(await eventually(() => written.stdout.endsWith('\n'), 15_000)).toBe(true)
  const { url, token } = JSON.parse(written.stdout) as { url: string; token: string }
  expect(await post(url, { authorization: `Bearer ${token}` })).toMatchObject({ status: 200 })
  expect(written.stderr).toBe('')
})

test('TOOLWRIGHT_MCP_TOKEN is the token, and commands do not see it', async () => {
  const { root } = makeSandbox()
  const { url, token } = await startServer(root, ['--allow', 'bash'], { TOOLWRIGHT_MCP_TOKEN: 'a-token-of-the-host' })
  expect(token).toBe('a-token-of-the-host')
  const { call } = await connectByHttp(url, token, '2026')
  expect((await call('bash', { command: 'env' })).text).not.toContain('a-token-of-the-host')
})
