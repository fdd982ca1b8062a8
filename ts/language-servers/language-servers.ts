/** The language servers of one set of tools: which one a file has, and what an answer says of an edit. */
import { extname } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { invalid } from '../core/options.js'
import { type Check, type FileChange, runCheck } from './check.js'
import { importPattern, ImportGraph } from './dependents.js'
import { installedServer, isKnownServer, knownServers, type LanguageServer, languagesOf, type SearchPlace } from './known-servers.js'
import type { ParsedLanguageServers } from './options.js'
import { askServer, type LspQuery } from './queries.js'
import type { ServerSession } from './server-session.js'
import type { StateOf } from './source-files.js'
import { ServerRests, ServerSlot, type StartServer } from './server-slot.js'
import { checkedText, failedText, lateText } from './texts.js'

/** The most files that a check has beside those that were changed. */
const MAX_DEPENDENTS = 600
/** The same for a server that speaks when it wants. */
const MAX_DEPENDENTS_PUSHED = 30
/** How many files that import a changed one are checked before the first answer. */
const MAX_NEAR = 40
/** How long a check may take as a whole, in milliseconds. */
const CHECK_MS = 60_000
/** How long an answer waits at least for files that may depend on a changed one, in milliseconds. */
const NEAR_MS = 100

/** What a check needs of the tools: files below the root, and the start of programs in the sandbox. */
export interface ServerHost extends SearchPlace {
  /** The text of a file; `undefined` if it is none, or too large. */
  read(path: string): Promise<string | undefined>
  start: StartServer
  /** The absolute paths of the files with these extensions. */
  list(extensions: readonly string[]): Promise<string[]>
  /** The lines that match a regular expression in the files with these extensions, as `path:line:text`. */
  grep(pattern: string, extensions: readonly string[]): Promise<string>
  absolute(path: string): string
  /** What changes with each change of a file. @default its state on the disk */
  stateOf?: StateOf | undefined
  /** As for a question. */
  showsOthers?: boolean | undefined
}

/** A check that has ended after its answer. */
interface LateCheck {
  edited: readonly string[]
  check: Check
  rootDir: string
}

/** Files before a call changes them, by server. */
export type NotedFiles = ReadonlyMap<ServerSlot, ReadonlyMap<string, string | undefined>>

export class LanguageServers {
  readonly #options: ParsedLanguageServers
  readonly #slots = new Map<string, ServerSlot>()
  /** What was found installed, by root and name, and when. */
  readonly #installed = new Map<string, { server: LanguageServer | undefined; atMs: number }>()
  /** What is to be told with the next answer, by server. */
  readonly #late = new Map<string, LateCheck | string>()
  #isClosed = false

  constructor(options: ParsedLanguageServers) {
    this.#options = options
  }

  /** The memory of one server, in bytes. */
  get memoryBytes(): number {
    return this.#options.memoryBytes
  }

  /** The server of a file; `undefined` if it has none. */
  slotOf(path: string, host: ServerHost): ServerSlot | undefined {
    if (this.#isClosed) return undefined
    const extension = extname(path)
    const { servers } = this.#options
    const names = servers === 'installed' ? knownServers : Object.keys(servers)
    for (const name of names) {
      const given = servers === 'installed' ? 'installed' : servers[name]
      if (given === undefined) continue
      const languages = given === 'installed' ? (isKnownServer(name) ? languagesOf(name) : {}) : given.languages
      if (languages[extension] === undefined) continue
      const server = given === 'installed' ? this.#found(name, host) : { ...given, name }
      if (server !== undefined) return this.#slot(server, host.rootDir)
    }
    return undefined
  }

  /** Notes the texts of files that a call is about to change. */
  async before(paths: readonly string[], host: ServerHost): Promise<NotedFiles> {
    const noted = new Map<ServerSlot, Map<string, string | undefined>>()
    await Promise.all(
      paths.map(async (path) => {
        const slot = this.slotOf(path, host)
        if (slot === undefined) return
        const files = noted.get(slot) ?? new Map<string, string | undefined>()
        noted.set(slot, files)
        slot.checking.set(path, (slot.checking.get(path) ?? 0) + 1)
        // The order of files is that of the call, in which their texts need not arrive.
        files.set(path, undefined)
        files.set(path, await host.read(path))
      }),
    )
    return noted
  }

  /** Forgets what was noted for a call that has changed nothing. */
  unchanged(noted: NotedFiles): void {
    for (const [slot, files] of noted) release(slot, files.keys())
  }

  /** What the answer to a call says of the problems that are new since the noted texts, within the time to wait. */
  async after(noted: NotedFiles, host: ServerHost, signal: AbortSignal | undefined): Promise<string | undefined> {
    const texts = await Promise.all([...noted].map(([slot, files]) => this.#checked(slot, files, host, signal)))
    const told = texts.filter((text) => text !== undefined)
    return told.length === 0 ? undefined : told.join('\n')
  }

  /**
   * Asks the server of a file.
   *
   * @throws {ToolError} INVALID_INPUT if the file has no server, or not this symbol. @throws {ServerRests}
   */
  async ask(query: LspQuery, host: ServerHost, signal: AbortSignal): Promise<string> {
    const slot = this.slotOf(query.path, host)
    if (slot === undefined) {
      throw invalid(
        `path: no language server is known for ${extname(query.path) || 'files without an extension'} here. ${this.#serves(host)}`,
      )
    }
    return slot.run(host.start, async (session) => {
      await this.#refresh(slot, session, host)
      return askServer(session, query, host, signal)
    })
  }

  #serves(host: ServerHost): string {
    const { servers } = this.#options
    const names = servers === 'installed' ? knownServers.filter((name) => this.#found(name, host) !== undefined) : Object.keys(servers)
    return names.length === 0 ? 'None is installed.' : `There is one for ${names.join(', ')}.`
  }

  /** What checks have found whose answer did not wait for them, once. */
  takeLate(): string | undefined {
    const late = [...this.#late].map(([name, one]) => (typeof one === 'string' ? one : lateText(name, one.edited, one.check, one.rootDir)))
    this.#late.clear()
    return late.length === 0 ? undefined : late.join('\n')
  }

  /** Ends all servers. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#slots.values()].map((slot) => slot.close()))
  }

  async #checked(
    slot: ServerSlot,
    files: ReadonlyMap<string, string | undefined>,
    host: ServerHost,
    signal: AbortSignal | undefined,
  ): Promise<string | undefined> {
    const check: Check = { found: [], checked: 0, left: 0, isTakenOver: false, hasNear: false }
    const { rootDir } = host
    const { name } = slot.server
    let onNear: () => void = () => undefined
    const near = new Promise<void>((resolve) => void (onNear = resolve))
    const whole = slot
      .run(host.start, (session, isWaitedFor) => this.#run({ slot, session, isWaitedFor }, files, host, check, onNear))
      .finally(() => release(slot, files.keys()))
    // What comes after the answer is told with the next one.
    let isAnswered = false
    let wasWhole = false
    const late = whole.then(
      () => isAnswered && !(wasWhole && check.found.length === 0) && this.#addLate(name, { edited: [...files.keys()], check, rootDir }),
      (error: unknown) => isAnswered && !this.#isClosed && this.#late.set(name, failure(name, error)),
    )
    const atLeast = new Promise<void>((resolve) => void setTimeout(resolve, Math.min(NEAR_MS, this.#options.waitMs)))
    const ended = await Promise.race([
      whole.then(() => true),
      // The whole may have ended with the near ones.
      Promise.all([near, atLeast])
        .then(() => setImmediate())
        .then(() => false),
      waited(this.#options.waitMs, signal).then(() => false),
    ]).catch((error: unknown) => error as Error)
    isAnswered = true
    if (ended instanceof Error) return failure(name, ended)
    void late
    const told = checkedText(name, check, rootDir)
    wasWhole = check.hasNear && check.left === 0
    // What is told now is not told again.
    check.found = []
    return told
  }

  async #run(
    { slot, session, isWaitedFor }: { slot: ServerSlot; session: ServerSession; isWaitedFor: AbortSignal },
    files: ReadonlyMap<string, string | undefined>,
    host: ServerHost,
    check: Check,
    onNear: () => void,
  ): Promise<void> {
    const extensions = Object.keys(slot.server.languages)
    const pattern = importPattern(slot.server.name)
    const [all, imports] = await Promise.all([
      this.#refresh(slot, session, host),
      pattern === undefined ? '' : host.grep(pattern, extensions),
    ])
    const changes: FileChange[] = await Promise.all(
      [...files].map(async ([path, before]) => ({ path, before, after: await host.read(path) })),
    )
    const most = session.pulls ? MAX_DEPENDENTS : MAX_DEPENDENTS_PUSHED
    // Others have changed a file before this call did. Where its text of now is known, an earlier check has come that far.
    const isOfOthers = changes.some(({ path, before, after }) => {
      const shown = session.textOf(path)
      return slot.known.has(path) && shown !== before && shown !== after
    })
    if (isOfOthers) slot.known.clear()
    const graph = new ImportGraph(imports, (path) => host.absolute(path))
    const found = graph.dependents([...files.keys()], most)
    const known = new Set(all)
    const dependents = [...new Set([...found.paths, ...slot.left])].filter((path) => known.has(path) && !files.has(path))
    slot.left = await runCheck(
      session,
      {
        changes,
        dependents,
        near: Math.min(found.near, MAX_NEAR),
        isWaitedFor,
        read: (path) => host.read(path),
      },
      slot.known,
      check,
      AbortSignal.timeout(CHECK_MS),
      onNear,
    )
    check.left += found.left
  }

  /** Tells the server what has changed on the disk, but for what calls are about to check. @returns all source files. */
  async #refresh(slot: ServerSlot, session: ServerSession, host: ServerHost): Promise<string[]> {
    const all = await host.list(Object.keys(slot.server.languages))
    const elsewhere = (await slot.sources.changes(all, host.stateOf)).filter(({ path }) => !slot.checking.has(path))
    if (elsewhere.length === 0) return all
    // Who has changed them is unknown, so what they have changed is not of an edit.
    slot.known.clear()
    session.changed(elsewhere)
    const opened = elsewhere.filter(({ path }) => session.textOf(path) !== undefined)
    await Promise.all(opened.map(async ({ path }) => session.setText(path, await host.read(path))))
    return all
  }

  /** Adds to what is to be told: of several edits, what they have found together, and the last word on how much was checked. */
  #addLate(name: string, { edited, check, rootDir }: LateCheck): void {
    // The answer of the check that goes on says what is left.
    if (check.found.length === 0 && check.isTakenOver) return
    const last = this.#late.get(name)
    const before =
      last === undefined || typeof last === 'string' ? { edited: [], found: [] } : { edited: last.edited, found: last.check.found }
    const found = [...before.found, ...check.found]
    this.#late.set(name, { edited: [...new Set([...before.edited, ...edited])], check: { ...check, found }, rootDir })
  }

  #slot(server: LanguageServer, rootDir: string): ServerSlot {
    const key = JSON.stringify([rootDir, server.name, server.command])
    const slot = this.#slots.get(key) ?? new ServerSlot(server, rootDir, this.#options.idleMs)
    this.#slots.set(key, slot)
    return slot
  }

  /** A known server, looked for again after a while: a command may have installed it. */
  #found(name: string, host: ServerHost): LanguageServer | undefined {
    if (!isKnownServer(name)) return undefined
    const key = JSON.stringify([host.rootDir, name])
    const last = this.#installed.get(key)
    if (last !== undefined && (last.server !== undefined || performance.now() - last.atMs < 10_000)) return last.server
    const server = installedServer(name, host)
    this.#installed.set(key, { server, atMs: performance.now() })
    return server
  }
}

function release(slot: ServerSlot, paths: Iterable<string>): void {
  for (const path of paths) {
    const left = (slot.checking.get(path) ?? 1) - 1
    if (left > 0) slot.checking.set(path, left)
    else slot.checking.delete(path)
  }
}

function failure(name: string, error: unknown): string {
  if (error instanceof ServerRests) {
    const seconds = Math.max(Math.ceil(error.restMs / 1_000), 1)
    return failedText(name, error.message, `It is started again with an edit after ${seconds} s.`)
  }
  const isLate = (error as Error | undefined)?.name === 'TimeoutError'
  const why = isLate ? `it has not answered in ${CHECK_MS / 1_000} s` : String((error as Error | undefined)?.message ?? error)
  return failedText(name, why, 'The next edit asks it again.')
}

/** Waits, or until an abort. */
function waited(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    if (signal?.aborted === true) done()
    else signal?.addEventListener('abort', done, { once: true })
  })
}
