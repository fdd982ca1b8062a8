import { type ChildProcess, spawn } from 'node:child_process'
import {
  closeSync,
  copyFileSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { programs, project } from './programs.ts'
import type { SandboxOptions } from './sandbox-options.ts'
import { movedStores, stores } from './stores.ts'
import { token } from './token.ts'
import type { User } from './users.ts'

/** Options of `createTools` in these tests. */
export interface HostOptions {
  rootDir: string
  sandbox?: SandboxOptions | undefined
  [more: string]: unknown
}

/** What a host is told to do. */
export type Order = { id: number } & (
  | { how: 'plain'; argv: string[]; cwd: string; killAfterMs?: number | undefined; inheritInput?: boolean | undefined }
  | {
      how: 'confined'
      options: HostOptions
      argv: string[]
      cwd: string
      killAfterMs?: number | undefined
      by?: 'timeout' | 'abort' | undefined
      /** Whether the root of the tools is a fork of `rootDir`. */
      inFork?: boolean | undefined
    }
  | { how: 'server'; options: HostOptions; argv: string[]; cwd: string; killAfterMs?: number | undefined }
  | { how: 'report'; options?: object | undefined }
)
type OrderWithoutId = Order extends infer O ? (O extends Order ? Omit<O, 'id'> : never) : never

/** How a command ended. */
export interface Ended {
  output: string
  /** The exit code, or the signal that ended it. */
  how: string
  /** The code and the message of the tool's error. */
  code?: string
  message?: string
}

/** Where host directories are: not in `/tmp`, which a command has for itself. */
const PLACE = join(project, '.cache', 'confinement')

/** The number of the descriptor that the host was started with and leaves open. */
export const LEFT_OPEN = 100

/** What a host has that no command may learn. */
interface Secrets {
  /** In its environment, as REDTEAM_API_KEY. */
  environment: string
  /** Among its arguments. */
  argument: string
  /** In a descriptor that it leaves open. */
  descriptor: string
  /** In the credential stores of its home directory, by file, and elsewhere, by variable. */
  stores: Record<string, string>
}

/** A process that uses the tools, as some user, with secrets of its own and a home directory. */
export class Host {
  readonly #pending = new Map<number, (answer: unknown) => void>()
  #last = 0

  readonly user: User
  /** Everything of this host is below it. */
  readonly base: string
  readonly secrets: Secrets
  readonly child: ChildProcess

  private constructor(user: User, base: string, secrets: Secrets, child: ChildProcess) {
    this.user = user
    this.base = base
    this.secrets = secrets
    this.child = child
    child.on('message', (message: { id?: number; answer?: unknown }) => {
      if (message.id === undefined) return
      this.#pending.get(message.id)?.(message.answer)
      this.#pending.delete(message.id)
    })
    child.on('exit', () => {
      for (const answer of this.#pending.values()) answer({ output: '', how: 'the host has ended' })
      this.#pending.clear()
    })
  }

  /**
   * Starts a host; `under` is put before the program. With `ownTemporary` nobody else uses its
   * directory for temporary files; without `ownHome` it has that of whoever runs the tests.
   */
  static async start(user: User, { under = [] as string[], ownTemporary = false, ownHome = true } = {}): Promise<Host> {
    const { attack } = await programs()
    mkdirSync(PLACE, { recursive: true })
    const base = realpathSync(mkdtempSync(join(PLACE, 'host-')))
    const secrets: Secrets = { environment: token(), argument: token(), descriptor: token(), stores: {} }
    for (const name of ['root', 'home', 'outside', 'tmp']) mkdirSync(join(base, name))
    for (const store of stores) {
      const path = join(base, 'home', store)
      mkdirSync(dirname(path), { recursive: true })
      secrets.stores[store] = token()
      writeFileSync(path, secrets.stores[store])
    }
    const moved: Record<string, string> = {}
    for (const [variable, value, file] of movedStores) {
      const path = join(base, 'moved', file)
      mkdirSync(dirname(path), { recursive: true })
      secrets.stores[variable] = token()
      writeFileSync(path, secrets.stores[variable])
      moved[variable] = value
        .split(':')
        .map((part) => join(base, 'moved', part))
        .join(':')
    }
    copyFileSync(attack, join(base, 'root', 'attack'))
    const held = join(base, 'held')
    writeFileSync(held, secrets.descriptor)
    handOver(base, user)
    const launch = [
      attack,
      'hold',
      String(LEFT_OPEN),
      held,
      '--',
      ...(user.uid === process.getuid?.() ? [] : [attack, 'as', String(user.uid), '--']),
    ]
    const script = fileURLToPath(new URL('host-process.ts', import.meta.url))
    const [program = '', ...args] = [...launch, ...under, process.execPath, script, secrets.argument]
    const log = openSync(join(base, 'log'), 'a')
    const child = spawn(program, args, {
      cwd: base,
      env: {
        ...process.env,
        ...(ownHome && { HOME: join(base, 'home'), ...moved }),
        REDTEAM_API_KEY: secrets.environment,
        ...(ownTemporary && { TMPDIR: join(base, 'tmp') }),
      },
      stdio: ['pipe', log, log, 'ipc'],
    })
    closeSync(log)
    child.stdin?.on('error', () => undefined)
    const host = new Host(user, base, secrets, child)
    await new Promise<void>((resolve, reject) => {
      child.once('message', () => resolve())
      child.once('exit', (code, signal) => reject(new Error(`the host ended with ${signal ?? code}: ${base}/log`)))
    })
    return host
  }

  get pid(): number {
    return Number(this.child.pid)
  }

  /** Its directory for temporary files, where it has one for itself. */
  get temporary(): string {
    return join(this.base, 'tmp')
  }

  /** The root directory that attacks share. */
  get rootDir(): string {
    return join(this.base, 'root')
  }

  order(order: OrderWithoutId & { how: 'plain' | 'confined' | 'server' }): Promise<Ended>
  order(order: OrderWithoutId): Promise<unknown>
  order(order: OrderWithoutId): Promise<unknown> {
    this.#last += 1
    const id = this.#last
    return new Promise((resolve) => {
      this.#pending.set(id, resolve)
      this.child.send({ ...order, id }, (error) => {
        if (error !== null) resolve({ output: '', how: `the host has ended: ${error.message}` })
      })
    })
  }

  /** Ends the host, as a program ends. */
  async end(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    const gone = new Promise<void>((resolve) => {
      this.child.once('exit', () => resolve())
    })
    if (this.child.connected) this.child.disconnect()
    const late = setTimeout(() => this.child.kill('SIGKILL'), 5_000)
    await gone
    clearTimeout(late)
  }

  /** Ends the host and removes what it had. */
  async stop(): Promise<void> {
    await this.end()
    rmSync(this.base, { recursive: true, force: true })
  }
}

/** Gives a tree that was just made to a user. */
export function handOver(path: string, user: User): void {
  if (user.uid === process.getuid?.()) return
  lchownSync(path, user.uid, user.uid)
  if (!lstatSync(path).isDirectory()) return
  for (const entry of readdirSync(path, { recursive: true, encoding: 'utf8' })) {
    try {
      lchownSync(join(path, entry), user.uid, user.uid)
    } catch (error) {
      // What another attack has made beside it may be gone by now.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
}
