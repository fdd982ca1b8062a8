import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { McpStdioServer, SessionOptions } from 'toolwright/contract'
import { onTestFinished } from 'vitest'
import type { ServerPlace } from '../../../ts/contract/mcp/server-sandbox.ts'
import { makeSandbox } from '../../support/sandbox.ts'
import { allowAll } from '../scene.ts'

const script = join(import.meta.dirname, 'server.mjs')
/** The Node of the project, also where the tests run in Bun. */
export const node = join(import.meta.dirname, '../../../node_modules/.bin/node')

const project = realpathSync(join(import.meta.dirname, '../../..'))
const isHidden = project.startsWith(`${realpathSync(tmpdir())}/`)

/** A server whose program is part of this project. Its private `/tmp` would hide a project that lies there. */
export function ofProject<T extends McpStdioServer>(server: T): T {
  const { sandbox = {} } = server
  if (!isHidden || typeof sandbox !== 'object' || sandbox === null) return server
  return { ...server, sandbox: { ...sandbox, readable: [...(sandbox.readable ?? []), project] } }
}

/** A server over stdio, in the sandbox; a log of it is in a directory that it may write. */
export const stdio = (env: Record<string, string> = {}) =>
  ofProject<McpStdioServer & { args: string[] }>({
    command: node,
    args: [script],
    env,
    ...(env['LOG'] === undefined ? {} : { sandbox: { writableRoots: [dirname(env['LOG'])] } }),
  })

/** What a session gives to a server that a test makes without one. */
export function place(more: Partial<ServerPlace> = {}): ServerPlace {
  const { root } = makeSandbox()
  return { roots: [root], sandbox: {}, home: () => root, ...more }
}

/** Starts a server over HTTP; it ends with the test. */
export async function startHttp(env: Record<string, string> = {}): Promise<{ url: string; port: number; process: ChildProcess }> {
  const child = spawn(node, [script, '--http'], { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [line] = (await once(child.stdout as NodeJS.ReadableStream, 'data')) as [Buffer]
  const port = Number(String(line))
  return { url: `http://127.0.0.1:${port}/mcp`, port, process: child }
}

type Servers = NonNullable<SessionOptions['manifest']['mcpServers']>

/** Options of a session with these servers, all enabled, and their tools listed. */
export const withServers = (mcpServers: Servers, permissions = allowAll): Partial<SessionOptions> => ({
  manifest: { name: 'test', permissions, mcpServers },
  enabledMcpServers: Object.keys(mcpServers),
  toolSearch: { enabled: false },
})

/** A step of an agent that has said nothing yet. */
export const step = { messages: [] }

/** Waits until something holds, for at most fifteen seconds: a server starts slowly on a busy machine. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + 15_000
  while (!(await holds())) {
    if (Date.now() > end) throw new Error('it never held')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
