import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTools, ToolError } from 'toolwright'
import { createSession, type Rule } from 'toolwright/contract'
import type { Options, Row } from './refusal.ts'

/** What a model was told of a command. */
export interface Told {
  /** Nothing failed. */
  isOk: boolean
  /** What the sandbox says of it. */
  note: string
  /** What it was refused. */
  denials: string[]
  output: string
}

// Where whoever builds this keeps what is built.
delete process.env['CARGO_TARGET_DIR']

type Run = (script: string, directory: string) => Promise<Told>

const TIMEOUT_MS = 40_000
const EVERYTHING: Rule[] = ['**', '/**', '*'].map((pattern) => ({ permission: '*', pattern, action: 'allow' }))
/** What every error of a command says. */
const ALWAYS = [
  'The command and its children were killed. Make it do less, or do it in several calls: only the host program can give it more time.',
]

/** Directories of which commands may write the root alone, and what the host has around them. */
export class Lane {
  readonly root: string
  readonly #base: string
  readonly #words: Record<string, string>
  #count = 0

  constructor(host: Host) {
    this.#base = realpathSync(mkdtempSync(join(homedir(), '.toolwright-refusals-')))
    this.root = join(this.#base, 'root')
    const places = { OUTSIDE: 'outside', SETTINGS: 'root/.vscode', LOCKED: 'root/locked', CLOSED: 'root/closed' }
    const words = Object.entries(places).map(([word, place]) => [word, this.#fill(place)] as const)
    spawnSync('git', ['init', '-q', this.root])
    const setuid = join(this.root, 'setuid')
    writeFileSync(setuid, '')
    chmodSync(setuid, 0o4755)
    spawnSync('tar', ['-cf', join(this.root, 'setuid.tar'), '-C', this.root, 'setuid'])
    this.#words = { ...Object.fromEntries(words), ...host.words, SETUID: setuid, ARCHIVE: `${setuid}.tar` }
  }

  #fill(place: string): string {
    const path = join(this.#base, place)
    mkdirSync(join(path, 'dir'), { recursive: true })
    mkdirSync(join(path, 'empty'))
    writeFileSync(join(path, 'kept'), 'x\n')
    writeFileSync(join(path, 'dir', 'inside'), 'x\n')
    return path
  }

  /** Runs a script in a directory of its own, from which nothing but the root is reached. */
  async run(script: string, door: Run): Promise<Told> {
    const directory = `w${(this.#count += 1)}`
    mkdirSync(join(this.root, directory))
    const words = Object.keys(this.#words).join('|')
    const filled = script.replaceAll(new RegExp(String.raw`\b(?:${words})\b`, 'gu'), (word) => this.#words[word] ?? word)
    try {
      return await door(filled, directory)
    } finally {
      rmSync(join(this.root, directory), { recursive: true, force: true, maxRetries: 3 })
    }
  }

  tools({ limits, timeoutMs = TIMEOUT_MS, outputBytes, hosts }: Options = {}): Run {
    const { bash } = createTools({
      rootDir: this.root,
      networkGuard: 'off',
      toolTimeoutMs: timeoutMs,
      ...(outputBytes !== undefined && { maxOutputBytes: outputBytes }),
      sandbox: {
        denyWrite: ['@git', '@editors', 'locked'],
        denyRead: [join(this.root, 'closed')],
        ...(limits && { limits }),
        ...(hosts && { network: { allow: hosts } }),
      },
    })
    return async (script, cwd) => {
      try {
        const output = await bash.execute({ cmd: 'sh', args: ['-c', script], opts: { cwd } }, { toolCallId: cwd })
        const left = /\[output cut: .*\]/u.exec(String(output))?.[0] ?? ''
        return { isOk: left === '', note: left, denials: [], output: String(output) }
      } catch (error) {
        if (!ToolError.isInstance(error)) throw error
        const note = ALWAYS.reduce((text, always) => text.replace(always, error.code === 'PROCESS_TIMEOUT' ? 'timed out' : ''), error.hint)
        const output = String(error.details['output'] ?? error.summary)
        const left = /\[output cut: .*\]/u.exec(output)?.[0] ?? ''
        return { isOk: false, note: [note, left].join(' ').trim(), denials: denialsOf(error.details['denials']), output }
      }
    }
  }

  async session({ timeoutMs = TIMEOUT_MS, outputBytes }: Options = {}): Promise<Run & { close(): Promise<void> }> {
    const session = await createSession({
      workspace: this.root,
      manifest: { name: 'refusals', permissions: EVERYTHING },
      sandbox: { denyWrite: ['@git', '@editors', 'locked'], denyRead: [join(this.root, 'closed')] },
      ...(outputBytes !== undefined && { limits: { bashBytes: outputBytes } }),
    })
    const run = async (command: string, workdir: string): Promise<Told> => {
      const envelope = await session.call('bash', { command, workdir, timeout_ms: timeoutMs })
      if (envelope.type === 'error') throw new Error(envelope.error_text)
      const data = envelope.data as {
        stdout?: string
        stderr?: string
        head?: string
        tail?: string
        exit_code: number | null
        timed_out: boolean
      }
      const { notes = [], denials, truncated } = envelope.metadata
      const isOk = data.exit_code === 0 && truncated !== true
      const note = [...notes, ...(data.timed_out ? ['timed out'] : [])].join(' ')
      return { isOk, note, denials: denialsOf(denials), output: [data.stderr, data.stdout, data.head, data.tail].join('\n') }
    }
    return Object.assign(run, { close: () => session.close() })
  }

  remove(): void {
    rmSync(this.#base, { recursive: true, force: true, maxRetries: 3 })
  }
}

const denialsOf = (denials: unknown): string[] =>
  ((denials ?? []) as { layer: string; subject: string }[]).map(({ layer, subject }) => `${layer} ${subject}`)

/** What runs outside of every sandbox. */
export class Host {
  readonly words: Record<string, string>
  readonly #servers: Server[]
  readonly #directory: string
  readonly #sleeper: ReturnType<typeof spawn>

  private constructor(words: Record<string, string>, servers: Server[], directory: string, sleeper: ReturnType<typeof spawn>) {
    this.words = words
    this.#servers = servers
    this.#directory = directory
    this.#sleeper = sleeper
  }

  static async start(): Promise<Host> {
    const directory = mkdtempSync(join(homedir(), '.toolwright-refusals-'))
    const socket = join(directory, 'host.sock')
    const servers = [createServer((peer) => peer.end('x')), createServer((peer) => peer.end('x'))] as const
    await new Promise<void>((resolve) => servers[0].listen(0, '127.0.0.1', resolve))
    await new Promise<void>((resolve) => servers[1].listen(socket, resolve))
    const address = servers[0].address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const sleeper = spawn('sleep', ['3600'], { stdio: 'ignore' })
    const words = { PORT: String(port), SOCKET: socket, VICTIM: String(sleeper.pid) }
    return new Host(words, [...servers], directory, sleeper)
  }

  async stop(): Promise<void> {
    this.#sleeper.kill()
    await Promise.all(this.#servers.map((server) => new Promise((resolve) => server.close(resolve))))
    rmSync(this.#directory, { recursive: true, force: true })
  }
}

/** Whether the programs of a row are here. */
export function isHere([, , ...needs]: Row): boolean {
  return needs.every((name) => has(name))
}

const found = new Map<string, boolean>()
function has(name: string): boolean {
  const known = found.get(name) ?? spawnSync('sh', ['-c', `command -v ${name}`], { cwd: tmpdir() }).status === 0
  found.set(name, known)
  return known
}

/** Runs work of a list on several lanes, each of which does one thing at a time. */
export async function spread<T>(lanes: readonly Lane[], list: readonly T[], work: (lane: Lane, item: T) => Promise<void>): Promise<void> {
  const rest = [...list]
  const one = async (lane: Lane): Promise<void> => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) await work(lane, item)
  }
  await Promise.all(lanes.map(one))
}
