/** One language server that runs: its start by the protocol, the documents that it has open, and what it says of them. */
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { KeptProcess } from '../core/kept-process.js'
import { Connection, RequestRefused, ServerFailed, type ServerListener } from './connection.js'
import type { LanguageServer } from './known-servers.js'
import { type Problem, problemsOf } from './problems.js'

/** How long a server may take to start, in milliseconds. */
const START_MS = 60_000
/** The most documents that a server has open. Those that were used longest ago are closed. */
const MAX_OPEN = 700
/** How often a server is asked again that could not answer yet, and after how long in milliseconds. */
const RETRIES = 20
const RETRY_MS = 50
/** The most files that a server publishes diagnostics of, and the most works that it announces. */
const MAX_SAID = 10_000
/** How long a server gets to end by itself, in milliseconds. */
const END_MS = 500

interface OpenDocument {
  version: number
  text: string
}

interface Published {
  /** Of the document; `undefined` from a server that does not say. */
  version: number | undefined
  problems: Problem[]
}

/** How a file outside of the open documents has changed: the protocol's numbers. */
export const watchedKinds = { made: 1, changed: 2, removed: 3 } as const

/** A file that has changed on the disk. */
export interface WatchedChange {
  path: string
  kind: keyof typeof watchedKinds
}

export class ServerSession implements ServerListener {
  readonly server: LanguageServer
  readonly #rootDir: string
  readonly #process: KeptProcess
  readonly #connection: Connection
  readonly #open = new Map<string, OpenDocument>()
  readonly #published = new Map<string, Published>()
  /** Work that the server has announced, such as the reading of a project. What it says meanwhile is not its last word. */
  readonly #progress = new Set<unknown>()
  #waiters: (() => void)[] = []
  #isQuiescent = true
  #pulls = false
  /** How many notifications have come. */
  #heard = 0
  #ready: Promise<void> | undefined

  constructor(server: LanguageServer, rootDir: string, process: KeptProcess) {
    this.server = server
    this.#rootDir = rootDir
    this.#process = process
    this.#connection = new Connection(process, this)
  }

  /** Why the server is given up; `undefined` while it works. */
  get failed(): string | undefined {
    return this.#connection.failed
  }

  /** Listens to the server during a work. */
  use<T>(work: () => Promise<T>): Promise<T> {
    return this.#connection.use(work)
  }

  /** Starts the protocol, once. @throws {ServerFailed} */
  ready(): Promise<void> {
    return (this.#ready ??= this.#initialize())
  }

  async #initialize(): Promise<void> {
    const rootUri = pathToFileURL(this.#rootDir).href
    const answer = await this.#connection
      .request<{ capabilities?: { diagnosticProvider?: unknown }; serverInfo?: { name?: unknown } } | null>(
        'initialize',
        {
          // The server is in a namespace of processes of its own, where this process has no number.
          processId: null,
          clientInfo: { name: 'toolwright' },
          rootUri,
          rootPath: this.#rootDir,
          workspaceFolders: [{ uri: rootUri, name: 'root' }],
          capabilities,
          initializationOptions: this.server.initializationOptions ?? {},
        },
        AbortSignal.timeout(START_MS),
      )
      .catch((error: unknown) => {
        this.#connection.close(
          error instanceof RequestRefused ? error.message : (this.failed ?? `it has not started in ${START_MS / 1_000} s`),
        )
        throw error
      })
    this.#pulls ||= Boolean(answer?.capabilities?.diagnosticProvider)
    // It answers before it has read the project, and says when it has.
    if (answer?.serverInfo?.name === 'rust-analyzer') this.#isQuiescent = false
    this.#connection.notify('initialized', {})
    if (this.server.settings !== undefined) this.#connection.notify('workspace/didChangeConfiguration', { settings: this.server.settings })
  }

  /** Whether a document is open. */
  textOf(path: string): string | undefined {
    return this.#open.get(path)?.text
  }

  /** The paths of the open documents, those that were used longest ago first. */
  openPaths(): string[] {
    return [...this.#open.keys()]
  }

  /** Shows the server a text of a file, or closes it. */
  setText(path: string, text: string | undefined): void {
    const uri = pathToFileURL(path).href
    const open = this.#open.get(path)
    this.#open.delete(path)
    if (text === undefined) {
      this.#published.delete(path)
      if (open !== undefined) this.#connection.notify('textDocument/didClose', { textDocument: { uri } })
      return
    }
    if (open?.text === text) {
      this.#open.set(path, open)
      return
    }
    const version = (open?.version ?? 0) + 1
    this.#open.set(path, { version, text })
    this.#published.delete(path)
    if (open === undefined) {
      const dot = path.slice(path.lastIndexOf('.'))
      const languageId = this.server.languages[dot] ?? 'plaintext'
      this.#connection.notify('textDocument/didOpen', { textDocument: { uri, languageId, version, text } })
    } else {
      this.#connection.notify('textDocument/didChange', { textDocument: { uri, version }, contentChanges: [{ text }] })
    }
    const [oldest] = this.#open.keys()
    if (this.#open.size > MAX_OPEN && oldest !== undefined) this.setText(oldest, undefined)
  }

  /** Tells the server that a document was saved, which some wait for. */
  saved(path: string): void {
    if (this.#open.has(path)) this.#connection.notify('textDocument/didSave', { textDocument: { uri: pathToFileURL(path).href } })
  }

  /** Tells the server of files that have changed on the disk. */
  changed(changes: readonly WatchedChange[]): void {
    if (changes.length === 0) return
    this.#connection.notify('workspace/didChangeWatchedFiles', {
      changes: changes.map(({ path, kind }) => ({ uri: pathToFileURL(path).href, type: watchedKinds[kind] })),
    })
  }

  /**
   * The problems of an open document, in the text that the server was shown last.
   *
   * @throws {ServerFailed}, or the signal's reason: the server has not answered yet, which says nothing about the document.
   */
  async problems(path: string, signal: AbortSignal): Promise<Problem[]> {
    await this.#isIdle(signal)
    const problems = this.#pulls ? await this.#pull(path, signal) : await this.#pushed(path, signal)
    // It may have begun to read a project meanwhile, or have said that it is to be asked.
    if (problems !== undefined && !this.#isBusy()) return problems
    return this.problems(path, signal)
  }

  /** Waits until the server has said nothing for a while. @throws as {@link problems}. */
  async quiet(ms: number, signal: AbortSignal): Promise<void> {
    let heard: number
    do {
      heard = this.#heard
      // eslint-disable-next-line no-await-in-loop -- until it is quiet
      await Promise.all([this.#isIdle(signal), sleep(ms, undefined, { signal })])
    } while (heard !== this.#heard)
  }

  /** The diagnostics of a file that the server has published last; `undefined` for none. */
  publishedOf(path: string): Problem[] | undefined {
    return this.#published.get(path)?.problems
  }

  /** The files that the server has published diagnostics of. */
  publishedPaths(): string[] {
    return [...this.#published.keys()]
  }

  /** Whether the server answers when it is asked, or else speaks when it wants. */
  get pulls(): boolean {
    return this.#pulls
  }

  /** Makes a request of the protocol about the project, when the server knows it. */
  async ask<T>(method: string, params: unknown, signal: AbortSignal): Promise<T> {
    await this.#isIdle(signal)
    for (let turn = 0; ; turn += 1) {
      try {
        // eslint-disable-next-line no-await-in-loop -- one after the other
        return await this.#connection.request<T>(method, params, signal)
      } catch (error) {
        if (!(error instanceof RequestRefused && error.canRetry) || turn === RETRIES) throw error
        // eslint-disable-next-line no-await-in-loop -- one after the other
        await this.#wait(signal, RETRY_MS)
      }
    }
  }

  /** Ends the server: by the protocol, and then with everything that it has started. */
  async end(): Promise<void> {
    if (this.failed === undefined) {
      await this.use(async () => {
        await this.#connection.request('shutdown', null, AbortSignal.timeout(END_MS))
        this.#connection.notify('exit', null)
        await this.#process.wait(END_MS)
      }).catch(() => undefined)
    }
    this.#connection.close('it was ended')
    await this.#process.kill()
  }

  onFailed(): void {
    this.#wake()
    void this.#process.kill().catch(() => undefined)
  }

  onNotification(method: string, params: unknown): void {
    this.#heard += 1
    const given = (params ?? {}) as Record<string, unknown>
    if (method === 'textDocument/publishDiagnostics') {
      const path = pathOf(given['uri'])
      const version = typeof given['version'] === 'number' ? given['version'] : undefined
      if (path === undefined) return
      this.#published.set(path, { version, problems: problemsOf(given['diagnostics']) })
      const [oldest] = this.#published.keys()
      if (this.#published.size > MAX_SAID && oldest !== undefined) this.#published.delete(oldest)
    } else if (method === '$/progress') {
      const { kind } = (given['value'] ?? {}) as { kind?: unknown }
      if (kind === 'end') this.#progress.delete(given['token'])
      else if (kind === 'begin' && this.#progress.size < MAX_SAID) this.#progress.add(given['token'])
    } else if (method === 'experimental/serverStatus') {
      this.#isQuiescent = given['quiescent'] !== false
    }
    this.#wake()
  }

  onRequest(method: string, params: unknown): unknown {
    const given = (params ?? {}) as Record<string, unknown>
    switch (method) {
      case 'workspace/configuration':
        return ((given['items'] ?? []) as { section?: string }[]).map(({ section }) => this.#settings(section))
      case 'client/registerCapability': {
        const methods = ((given['registrations'] ?? []) as { method?: unknown }[]).map((one) => one.method)
        this.#pulls ||= methods.includes('textDocument/diagnostic')
        // Who waits for published diagnostics asks for them now.
        this.#wake()
        return null
      }
      case 'workspace/workspaceFolders':
        return [{ uri: pathToFileURL(this.#rootDir).href, name: 'root' }]
      case 'workspace/applyEdit':
        return { applied: false }
      case 'window/showDocument':
        return { success: false }
      case 'client/unregisterCapability':
      case 'window/showMessageRequest':
      case 'window/workDoneProgress/create':
        return null
      default:
        return /^workspace\/\w+\/refresh$/u.test(method) ? null : undefined
    }
  }

  #settings(section: string | undefined): unknown {
    const { settings = {} } = this.server
    return section === undefined ? settings : (settings[section] ?? {})
  }

  async #pull(path: string, signal: AbortSignal): Promise<Problem[]> {
    const report = await this.ask<{ items?: unknown } | null>(
      'textDocument/diagnostic',
      { textDocument: { uri: pathToFileURL(path).href } },
      signal,
    )
    return problemsOf(report?.items)
  }

  /** A push says nothing about a document before it comes: a server that pushes nothing has not said that there is nothing. */
  async #pushed(path: string, signal: AbortSignal): Promise<Problem[] | undefined> {
    while (!this.#pulls) {
      const published = this.#published.get(path)
      const version = this.#open.get(path)?.version
      if (published !== undefined && (published.version ?? version) === version) return published.problems
      // eslint-disable-next-line no-await-in-loop -- until it has said so
      await this.#wait(signal)
    }
    return undefined
  }

  #isBusy(): boolean {
    return this.#progress.size > 0 || !this.#isQuiescent
  }

  async #isIdle(signal: AbortSignal): Promise<void> {
    // eslint-disable-next-line no-await-in-loop -- until it is
    while (this.#isBusy()) await this.#wait(signal)
  }

  /** Waits until the server says something. @throws the signal's reason. @throws {ServerFailed} */
  #wait(signal: AbortSignal, ms?: number): Promise<void> {
    signal.throwIfAborted()
    if (this.failed !== undefined) return Promise.reject(new ServerFailed(this.failed))
    return new Promise((resolve, reject) => {
      const timer = ms === undefined ? undefined : setTimeout(() => done(), ms)
      const done = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', done)
        this.#waiters = this.#waiters.filter((waiter) => waiter !== done)
        if (signal.aborted) reject(signal.reason as Error)
        else resolve()
      }
      this.#waiters.push(done)
      signal.addEventListener('abort', done, { once: true })
    })
  }

  #wake(): void {
    for (const waiter of this.#waiters) waiter()
  }
}

function pathOf(uri: unknown): string | undefined {
  try {
    return fileURLToPath(String(uri))
  } catch {
    return undefined
  }
}

/** What this client can do. */
const capabilities = {
  general: { positionEncodings: ['utf-16'] },
  experimental: { serverStatusNotification: true },
  window: { workDoneProgress: true },
  workspace: {
    configuration: true,
    workspaceFolders: true,
    didChangeWatchedFiles: { dynamicRegistration: true },
    diagnostics: { refreshSupport: true },
  },
  textDocument: {
    synchronization: { didSave: true },
    publishDiagnostics: { versionSupport: true },
    diagnostic: { dynamicRegistration: true, relatedDocumentSupport: false },
    definition: { linkSupport: true },
    references: {},
    documentSymbol: { hierarchicalDocumentSymbolSupport: true },
    hover: { contentFormat: ['plaintext', 'markdown'] },
  },
}
