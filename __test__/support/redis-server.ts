import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from './postgres-server.ts'

/** A server of Redis of a test's own, which keeps what it was given. */
export interface RedisServer {
  /** `redis://…` */
  url: string
  start(): Promise<void>
  /** Ends it as a crash does. */
  crash(): Promise<void>
  stop(): void
}

/** Why there is no server; undefined where there is one. */
export function noRedis(): string | undefined {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' })
    return undefined
  } catch {
    return 'there is no redis-server'
  }
}

export async function startRedis(): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'toolwright-redis-'))
  const port = await freePort()
  const kept = ['--appendonly', 'yes', '--appendfsync', 'always', '--maxmemory-policy', 'noeviction']
  const options = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, ...kept]
  let child: ChildProcess | undefined
  const stop = (): void => {
    child?.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
  process.once('exit', stop)
  const server: RedisServer = {
    url: `redis://127.0.0.1:${port}`,
    async start() {
      child = spawn('redis-server', options, { stdio: 'ignore' })
      for (const end = Date.now() + 30_000; !(await answers(port)); await pause(50)) {
        if (Date.now() > end || child.exitCode !== null) throw new Error('redis-server does not start')
      }
    },
    async crash() {
      if (child?.kill('SIGKILL') === true) await once(child, 'close')
    },
    stop,
  }
  await server.start()
  return server
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    socket.write('PING\r\n')
    const [said] = (await once(socket, 'data')) as [Buffer]
    return said.toString().startsWith('+PONG')
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
