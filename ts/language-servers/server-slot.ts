/** The place of one server of one root: at most one process, one check at a time, a start after each failure, and an end when it is idle. */
import type { KeepOptions, KeptProcess } from '../core/kept-process.js'
import type { LanguageServer } from './known-servers.js'
import type { Problem } from './problems.js'
import { ServerSession } from './server-session.js'
import { SourceFiles } from './source-files.js'

/** How long a server is left alone after its first failure in a row, in milliseconds; twice as long after each further one. */
const FIRST_REST_MS = 1_000
const LONGEST_REST_MS = 300_000

/** The input and output of a server, whose output waits in its pipe until it is read. */
export const SERVER_IO: KeepOptions = { input: 'pipe', stderrApart: true, holds: true, headBytes: 0 }

/** Starts the program of a server in the sandbox. */
export type StartServer = (server: LanguageServer, signal: AbortSignal) => Promise<KeptProcess>

/** A server that cannot be used now. */
export class ServerRests extends Error {
  /** When it is tried again, in milliseconds from now. */
  readonly restMs: number

  constructor(why: string, restMs: number) {
    super(why)
    this.restMs = restMs
  }
}

export class ServerSlot {
  readonly server: LanguageServer
  /** What is known of files from earlier checks. */
  readonly known = new Map<string, Problem[]>()
  readonly sources = new SourceFiles()
  /** Files that a check has left to the next one. */
  left: readonly string[] = []
  /** Files that calls of this set are about to check: their changes are no news. */
  readonly checking = new Map<string, number>()
  readonly #rootDir: string
  readonly #idleMs: number
  #session: Promise<ServerSession> | undefined
  #current: ServerSession | undefined
  #turn: Promise<unknown> = Promise.resolve()
  #waiting = 0
  /** Aborts when somebody waits behind the work that goes on. */
  #isWaitedFor = new AbortController()
  #idle: ReturnType<typeof setTimeout> | undefined
  #failures = 0
  #failure: { why: string; untilMs: number } | undefined
  readonly #closing = new AbortController()

  constructor(server: LanguageServer, rootDir: string, idleMs: number) {
    this.server = server
    this.#rootDir = rootDir
    this.#idleMs = idleMs
  }

  /**
   * Does a work with the server, after all works before it.
   *
   * @param work its signal aborts when another work waits.
   * @throws {ServerRests} if the server has failed, now or shortly before.
   */
  async run<T>(start: StartServer, work: (session: ServerSession, isWaitedFor: AbortSignal) => Promise<T>): Promise<T> {
    clearTimeout(this.#idle)
    this.#waiting += 1
    this.#isWaitedFor.abort()
    const before = this.#turn
    const mine = (async () => {
      await before.catch(() => undefined)
      return this.#work(start, work)
    })()
    this.#turn = mine
    try {
      return await mine
    } finally {
      this.#waiting -= 1
      if (this.#waiting === 0) this.#idle = setTimeout(() => void this.#stop(), this.#idleMs).unref()
    }
  }

  async #work<T>(start: StartServer, work: (session: ServerSession, isWaitedFor: AbortSignal) => Promise<T>): Promise<T> {
    this.#closing.signal.throwIfAborted()
    const rest = (this.#failure?.untilMs ?? 0) - performance.now()
    if (this.#failure !== undefined && rest > 0) throw new ServerRests(this.#failure.why, rest)
    let session: ServerSession | undefined
    try {
      session = await (this.#session ??= this.#start(start))
      const started = session
      const result = await started.use(async () => {
        await started.ready()
        this.#isWaitedFor = new AbortController()
        if (this.#waiting > 1) this.#isWaitedFor.abort()
        return work(started, this.#isWaitedFor.signal)
      })
      if (started.failed === undefined) this.#failures = 0
      return result
    } catch (error) {
      const why = session === undefined ? String((error as Error | undefined)?.message ?? error) : session.failed
      if (why === undefined || this.#closing.signal.aborted) throw error
      throw this.#failed(why)
    }
  }

  async #start(start: StartServer): Promise<ServerSession> {
    const process = await start(this.server, this.#closing.signal)
    // Nothing else would end one that has started in the moment of the close.
    if (this.#closing.signal.aborted) await process.kill()
    this.#closing.signal.throwIfAborted()
    const session = new ServerSession(this.server, this.#rootDir, process)
    this.#current = session
    return session
  }

  #failed(why: string): ServerRests {
    const restMs = Math.min(FIRST_REST_MS * 2 ** this.#failures, LONGEST_REST_MS)
    this.#failures += 1
    this.#failure = { why, untilMs: performance.now() + restMs }
    this.#forget()
    return new ServerRests(why, restMs)
  }

  #forget(): void {
    this.#session = undefined
    this.#current = undefined
    this.known.clear()
    this.left = []
  }

  async #stop(): Promise<void> {
    const session = this.#current
    this.#forget()
    await session?.end()
  }

  /** Ends the server for good. */
  async close(): Promise<void> {
    clearTimeout(this.#idle)
    this.#closing.abort()
    await this.#stop()
  }
}
