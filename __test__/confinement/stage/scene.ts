import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { eventually } from '../../support/processes.ts'
import { type Ended, handOver, type Host } from './host.ts'
import { type Listener, listenRaw, listenTcp, listenUdp, listenUnix } from './listeners.ts'
import { programs } from './programs.ts'
import type { SandboxOptions } from './sandbox-options.ts'
import { token } from './token.ts'
import { startVictim, type Victim } from './victim.ts'

/** How the command of a scene is run: as a program would, by `bash`, by `bash` in a fork of the root, or as a server of the Model Context Protocol. */
export type How = 'plain' | 'confined' | 'forked' | 'server'

let count = 0

/** How much longer a slow machine takes for what a command may take. */
export const PATIENCE = Number(process.env['TOOLWRIGHT_PATIENCE'] ?? '1')

/** What surrounds one run of an attack; gone when it is over. */
export class Scene {
  /** A text that is nowhere else, to be found again where it must not be. */
  readonly token = token()
  /** Where the attack runs: the root directory, or one in it. */
  readonly inside: string
  /** A directory beside the root, of the same user. */
  readonly outside: string
  readonly #last: (() => Promise<void> | void)[] = []
  /** The attack program, where a command with a narrow read scope can read it, too. */
  attackProgram = ''

  readonly host: Host
  readonly how: How
  readonly rootDir: string
  /** An attack may add to it before it is made. */
  readonly sandbox: SandboxOptions

  constructor(host: Host, how: How, rootDir: string, sandbox: SandboxOptions) {
    this.host = host
    this.how = how
    this.rootDir = rootDir
    this.sandbox = sandbox
    count += 1
    this.inside = rootDir === host.rootDir ? join(rootDir, String(count)) : rootDir
    this.outside = join(host.base, 'outside', String(count))
  }

  /** Makes a scene; with `ownRoot`, or other options of the sandbox, in a root of its own. */
  static async make(host: Host, how: How, ownRoot: boolean, sandbox: SandboxOptions = {}): Promise<Scene> {
    const rootDir = ownRoot ? join(host.base, `root-${count}-${how}`) : host.rootDir
    const scene = new Scene(host, how, rootDir, { ...sandbox })
    scene.directory(scene.inside)
    scene.directory(scene.outside)
    scene.attackProgram = join(rootDir, 'attack')
    if (ownRoot) copyFileSync((await programs()).attack, scene.attackProgram)
    return scene
  }

  /** Something to be done when the scene is over, the last first. */
  afterwards(work: () => Promise<void> | void): void {
    this.#last.unshift(work)
  }

  async end(): Promise<void> {
    for (const work of this.#last) await work()
    for (const path of [this.outside, this.inside]) rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
  }

  directory(path: string): string {
    mkdirSync(path, { recursive: true })
    handOver(path, this.host.user)
    return path
  }

  /** Makes a file of the user, and its directory, at an absolute path. */
  file(path: string, content = 'as it was\n'): string {
    this.directory(dirname(path))
    writeFileSync(path, content)
    handOver(path, this.host.user)
    return path
  }

  /** A file beside the root. */
  beside(name: string, content?: string): string {
    return this.file(join(this.outside, name), content)
  }

  /** A file where the attack runs. */
  within(name: string, content?: string): string {
    return this.file(join(this.inside, name), content)
  }

  /** A directory in the host's `/tmp`, or in another place for all. */
  temporary(where = tmpdir()): string {
    const path = mkdtempSync(join(where, 'redteam-'))
    handOver(path, this.host.user)
    this.afterwards(() => rmSync(path, { recursive: true, force: true }))
    return path
  }

  /** Waits until the attack has made the file `ready`. What it makes in a fork the host does not see, so it gets a second there. */
  async isReady(): Promise<void> {
    if (this.how === 'forked') await pause(1_000)
    else await eventually(() => existsSync(join(this.inside, 'ready')), 10_000)
  }

  /** Whether a file holds the token of this scene. */
  isIn(path: string): boolean {
    return existsSync(path) && readFileSync(path, 'utf8').includes(this.token)
  }

  async #heard(listener: Promise<Listener>): Promise<Listener> {
    const made = await listener
    this.afterwards(() => made.close())
    return made
  }
  tcp = (host?: string): Promise<Listener> => this.#heard(listenTcp(host))
  udp = (host?: string): Promise<Listener> => this.#heard(listenUdp(host))
  unix = (path: string): Promise<Listener> => this.#heard(listenUnix(path))
  raw = (numbers: [number, number, number], address: string): Promise<Listener> => this.#heard(listenRaw(numbers, address))

  /** A process of the host's user, whose working directory is the outside. */
  async victim(kind: 'plain' | 'ipc' | 'apart' = 'plain'): Promise<Victim> {
    const made = await startVictim(this.host.user, this.outside, kind)
    this.afterwards(() => made.end())
    return made
  }

  /** Runs a command as this scene does; `killAfterMs` by an abort, or by a signal to a plain one. */
  run(argv: readonly string[], given: { killAfterMs?: number; inheritInput?: boolean } = {}): Promise<Ended> {
    const { killAfterMs } = given
    const more = { ...given, ...(killAfterMs !== undefined && { killAfterMs: killAfterMs * PATIENCE }) }
    if (this.how === 'plain') return this.host.order({ how: 'plain', argv: [...argv], cwd: this.inside, ...more })
    const { rootDir, sandbox, inside } = this
    if (this.how === 'server')
      return this.host.order({ how: 'server', options: { rootDir, sandbox }, argv: [...argv], cwd: inside, ...more })
    const cwd = inside === rootDir ? '.' : inside.slice(rootDir.length + 1)
    const by = 'abort' as const
    const inFork = this.how === 'forked'
    return this.host.order({ how: 'confined', options: { rootDir, sandbox }, argv: [...argv], cwd, by, inFork, ...more })
  }

  /** Runs the attack program outside of everything, as the user. */
  beyond(...args: string[]): Promise<Ended> {
    return this.host.order({ how: 'plain', argv: [this.attackProgram, ...args], cwd: this.outside })
  }
}
