import { spawn, type ChildProcess } from 'node:child_process'
import { createServer, request as httpRequest, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cli } from '../mcp-server/mcp-client.ts'
import { makeNpmProject, type NpmProject } from '../support/npm-project.ts'
import { eventually } from '../support/processes.ts'
import { makeSandbox } from '../support/sandbox.ts'

// Programs for testing MCP servers, from npm: the inspector's command, and the conformance suite.
let project: NpmProject
beforeAll(async () => {
  project = await makeNpmProject(['@modelcontextprotocol/inspector', '@modelcontextprotocol/conformance'])
}, 300_000)
afterAll(() => project.remove())

const program = (name: string): string => join(project.folder, 'node_modules', '.bin', name)

test('the inspector lists and calls the tools', async () => {
  const fixture = makeSandbox()
  fixture.put('a.txt', 'one')
  const inspect = async (...args: string[]): Promise<Record<string, unknown>> => {
    const given = ['--cli', process.execPath, cli, 'mcp', '--root', fixture.root, '--method', ...args]
    return JSON.parse(await project.run(program('mcp-inspector'), given)) as Record<string, unknown>
  }
  const { tools } = (await inspect('tools/list')) as { tools: { name: string }[] }
  expect(tools.map(({ name }) => name).sort()).toEqual(['bash', 'edit', 'glob', 'grep', 'read', 'write'])
  expect(await inspect('tools/call', '--tool-name', 'read', '--tool-arg', 'path=a.txt')).toMatchObject({
    structuredContent: { content: 'one' },
    _meta: { 'toolwright/code': 'ok' },
  })
}, 120_000)

/** Passes requests on with the token, which the suite cannot send. Host and Origin stay as they are. */
async function withToken(url: string, token: string): Promise<Server> {
  const { hostname, port } = new URL(url)
  const proxy = createServer((request, response) => {
    const headers = { ...request.headers, authorization: `Bearer ${token}` }
    const passed = httpRequest({ hostname, port, path: request.url, method: request.method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(response)
    })
    passed.on('error', () => response.destroy())
    request.pipe(passed)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  return proxy
}

// The other scenarios call tools of a server that was made for the suite.
test('the applicable scenarios of the conformance suite pass', async () => {
  const { root } = makeSandbox()
  const server: ChildProcess = spawn(process.execPath, [cli, 'mcp', '--http', '--root', root], { stdio: ['ignore', 'ignore', 'pipe'] })
  let stderr = ''
  server.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  try {
    const address = (): RegExpExecArray | null => /^(http:\S+)\nAuthorization: Bearer (\S+)\n/mu.exec(stderr)
    expect(await eventually(() => address() !== null, 15_000)).toBe(true)
    const [, url = '', token = ''] = address() ?? []
    const proxy = await withToken(url, token)
    const at = `http://localhost:${(proxy.address() as AddressInfo).port}/mcp`
    try {
      for (const scenario of ['server-initialize', 'ping', 'tools-list', 'server-sse-multiple-streams', 'dns-rebinding-protection']) {
        // A scenario that fails ends its command with 1, which rejects.
        const output = await project.run(program('conformance'), ['server', '--url', at, '--scenario', scenario])
        expect([scenario, output]).toEqual([scenario, expect.stringMatching(/\b0 failed/u)])
      }
    } finally {
      proxy.closeAllConnections()
      proxy.close()
    }
  } finally {
    server.kill('SIGTERM')
  }
}, 180_000)
