import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '../../support/postgres-server.ts'

/** A server of Restate, on ports of its own. */
export interface RestateServer {
  /** Tells it where a worker serves, and waits until it does. */
  register(workerPort: number): Promise<void>
  /** Calls the handler `agent/run`, or waits for the call that has begun under this key. */
  call(key: string, input: unknown, limitMs: number): Promise<Response>
  stop(): void
}

/** The binary is in a package of its own for each platform. */
export function restateProgram(engines: string): string | undefined {
  const name = `@restatedev/restate-server-${process.platform}-${process.arch}`
  try {
    return join(dirname(createRequire(`${engines}/`).resolve(`${name}/package.json`)), 'bin/restate-server')
  } catch {
    return undefined
  }
}

export async function startRestate(program: string): Promise<RestateServer> {
  const folder = mkdtempSync(join(tmpdir(), 'toolwright-restate-'))
  const [ingress, admin, node] = [await freePort(), await freePort(), await freePort()]
  const env = {
    ...process.env,
    RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
    RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
    RESTATE_BIND_ADDRESS: `127.0.0.1:${node}`,
    RESTATE_LISTEN_MODE: 'tcp',
    RESTATE_LOG_FILTER: 'error',
    DISABLE_TELEMETRY: '1',
  }
  const child = spawn(program, ['--no-logo', '--base-dir', folder, '--node-name', 'test'], { env, stdio: 'ignore', cwd: folder })
  process.once('exit', () => child.kill('SIGKILL'))
  await eventually(async () => (await fetch(`http://127.0.0.1:${admin}/health`)).ok, 60_000)
  const headers = { 'content-type': 'application/json' }
  return {
    async register(workerPort) {
      const body = JSON.stringify({ uri: `http://127.0.0.1:${workerPort}`, force: true })
      const isRegistered = async () => (await fetch(`http://127.0.0.1:${admin}/deployments`, { method: 'POST', headers, body })).ok
      await eventually(isRegistered, 20_000)
    },
    call: (key, input, limitMs) =>
      fetch(`http://127.0.0.1:${ingress}/agent/run`, {
        method: 'POST',
        headers: { ...headers, 'idempotency-key': key },
        body: JSON.stringify(input),
        signal: AbortSignal.timeout(limitMs),
      }),
    stop() {
      child.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

async function eventually(isSo: () => Promise<boolean>, limitMs: number): Promise<void> {
  for (const end = Date.now() + limitMs; !(await isSo().catch(() => false));) {
    if (Date.now() > end) throw new Error('it never came to be')
    await pause(50)
  }
}
