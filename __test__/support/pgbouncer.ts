import { execFileSync, type ExecFileSyncOptions, spawn } from 'node:child_process'
import { accessSync, chownSync, constants, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type PostgresServer, serverUser } from './postgres-server.ts'

const cache = fileURLToPath(new URL('../../.cache/pgbouncer', import.meta.url))

/** A pooler in front of a server, which hands a connection to whoever begins a transaction. */
export interface Pooler {
  /** The folder of its socket. */
  host: string
  stop(): Promise<void>
}

interface Program {
  path: string
  libraries: string | undefined
}

/** The program, where it is installed; otherwise that of Debian's package, unpacked below `.cache`. @returns why there is none. */
export function pgbouncerProgram(): Program | string {
  for (const folder of ['/usr/sbin', ...(process.env['PATH'] ?? '').split(delimiter)]) {
    const path = join(folder, 'pgbouncer')
    if (isExecutable(path)) return { path, libraries: undefined }
  }
  const found = unpacked()
  if (found !== undefined) return found
  const options: ExecFileSyncOptions = { cwd: cache, stdio: ['ignore', 'pipe', 'pipe'], timeout: 60_000 }
  try {
    mkdirSync(cache, { recursive: true })
    execFileSync('apt-get', ['download', 'pgbouncer', 'libc-ares2', 'libevent-2.1-7'], options)
    for (const name of readdirSync(cache)) if (name.endsWith('.deb')) execFileSync('dpkg', ['-x', name, cache], options)
  } catch (error) {
    const { stderr, message } = error as { stderr?: Buffer; message: string }
    return `no PgBouncer is installed, and Debian's package cannot be had: ${String(stderr ?? '').trim() || message}`
  }
  return unpacked() ?? "Debian's package has no PgBouncer"
}

function unpacked(): Program | undefined {
  const path = join(cache, 'usr/sbin/pgbouncer')
  if (!isExecutable(path)) return undefined
  const libraries = join(cache, 'usr/lib')
  const folder = readdirSync(libraries).find((name) => name.endsWith('-linux-gnu'))
  return { path, libraries: folder === undefined ? undefined : join(libraries, folder) }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Starts it in transaction pooling, with fewer connections to the server than clients have to it. */
export async function startPgbouncer({ path, libraries }: Program, server: PostgresServer): Promise<Pooler> {
  const folder = mkdtempSync('/tmp/tw-pb-')
  const { uid, gid } = serverUser()
  const { host, port, user } = server.socket
  const config = join(folder, 'pgbouncer.ini')
  const settings = {
    listen_port: 5432,
    unix_socket_dir: folder,
    auth_type: 'any',
    pool_mode: 'transaction',
    default_pool_size: 5,
    max_client_conn: 200,
    logfile: join(folder, 'log'),
    pidfile: join(folder, 'pid'),
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`)
  writeFileSync(config, `[databases]\n* = host=${host} port=${port} user=${user}\n[pgbouncer]\n${lines.join('\n')}\n`)
  if (uid !== undefined) for (const one of [folder, config]) chownSync(one, uid, gid ?? uid)
  const env = { ...process.env, ...(libraries !== undefined && { LD_LIBRARY_PATH: libraries }) }
  const child = spawn(path, ['-q', config], { uid, gid, env, cwd: '/', stdio: 'ignore' })
  process.once('exit', () => child.kill('SIGKILL'))
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const socket = join(folder, '.s.PGSQL.5432')
  for (let tries = 0; !(existsSync(socket) && (await connects(socket))); tries += 1) {
    if (tries > 200 || child.exitCode !== null) throw new Error('PgBouncer does not start')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return {
    host: folder,
    async stop() {
      child.kill('SIGKILL')
      await ended
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

const connects = (path: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = createConnection(path)
    const done = (isThere: boolean): void => {
      socket.destroy()
      resolve(isThere)
    }
    socket.once('connect', () => done(true))
    socket.once('error', () => done(false))
  })
