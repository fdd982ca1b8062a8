import { dirname, isAbsolute, resolve } from 'node:path'
import { contractCodeOf } from '../../core/codes.js'
import { noteForkAsRoot } from '../../core/grants.js'
import { isWithin } from '../../core/near-paths.js'
import { LanguageServers, type NotedFiles, type ServerHost } from '../../language-servers/language-servers.js'
import type { ParsedLanguageServers } from '../../language-servers/options.js'
import { ASK_MS, type LspQuery } from '../../language-servers/queries.js'
import { filesChangedBy, rootHost } from '../../language-servers/root-host.js'
import { serverError } from '../../language-servers/server-error.js'
import { ServerHomes, type ServerHomesAddon } from '../mcp/server-homes.js'
import { ServerProcess } from '../mcp/server-process.js'
import type { ServerPlace } from '../mcp/server-sandbox.js'
import { ContractFailure, type Envelope } from '../registry/envelope.js'

/** How long the start of a server may take, in milliseconds. */
const START_MS = 30_000

/** The language servers of a session and its subagents. They read the system and the workspace, and write a home of their own alone. */
export class SessionServers {
  readonly #servers: LanguageServers
  readonly #homes: ServerHomes
  readonly #host: ServerHost
  readonly #roots: readonly string[]

  constructor(options: ParsedLanguageServers, { addon, ...place }: Omit<ServerPlace, 'home'> & { addon: ServerHomesAddon }) {
    this.#servers = new LanguageServers(options)
    this.#homes = new ServerHomes(addon)
    this.#roots = place.roots
    const withHomes: ServerPlace = { ...place, home: (name) => this.#homes.of(name) }
    const [rootDir = ''] = place.roots
    if (place.fork !== undefined) noteForkAsRoot(this, place.fork)
    this.#host = rootHost({
      rootDir,
      rootHolder: this,
      path: process.env['PATH'],
      signal: undefined,
      // What a call may read is judged by its path. Others are read by calls of their own.
      showsOthers: false,
      start: async ({ name, command }, signal) => {
        const [program = '', ...args] = command
        // A model that may write can change the programs of a project, and a server runs them.
        const limits = { memoryBytes: options.memoryBytes }
        const sandbox = { limits, readScope: 'system' as const, readable: placesOf(command) }
        const server = { command: program, args, sandbox, timeout_ms: START_MS }
        const { process: started } = await ServerProcess.start(`language-server-${name}`, server, withHomes, signal)
        return started
      },
    })
  }

  /** Notes the files that a call is about to change. */
  async before(tool: string, args: unknown): Promise<NotedFiles> {
    const paths = (await pathsOf(tool, args)).map((path) => (isAbsolute(path) ? path : resolve(this.#host.rootDir, path)))
    // Files of further roots have no server: it knows one project.
    const inRoot = paths.filter((path) => isWithin(this.#host.rootDir, path))
    return this.#servers.before(inRoot, this.#host)
  }

  /** The call has changed nothing. */
  unchanged(noted: NotedFiles): void {
    this.#servers.unchanged(noted)
  }

  /** Adds to the result of a call what is new among the problems of its files, and what was found late of earlier calls. */
  async attach(envelope: Envelope, noted: NotedFiles | undefined, signal: AbortSignal): Promise<void> {
    const late = this.#servers.takeLate()
    const own = noted === undefined ? undefined : await this.#servers.after(noted, this.#host, signal)
    const notes = [late, own].filter((note) => note !== undefined)
    if (envelope.type !== 'output' || notes.length === 0) return
    const { metadata } = envelope
    metadata.notes = [...(metadata.notes ?? []), ...notes]
  }

  /** Asks the server of a file. @throws {ContractFailure} `invalid_arguments`, `unavailable` */
  async ask(query: LspQuery, signal: AbortSignal): Promise<string> {
    const path = resolve(this.#host.rootDir, query.path)
    if (!isWithin(this.#host.rootDir, path)) {
      const more = this.#roots.length > 1 ? ' Servers know the first directory of the workspace.' : ''
      throw new ContractFailure('invalid_arguments', `path: ${query.path} is outside of ${this.#host.rootDir}.${more}`)
    }
    const limit = AbortSignal.timeout(ASK_MS)
    try {
      return await this.#servers.ask({ ...query, path }, this.#host, AbortSignal.any([limit, signal]))
    } catch (error) {
      signal.throwIfAborted()
      const failure = serverError(error, limit)
      if (failure === undefined) throw error
      throw new ContractFailure(contractCodeOf[failure.code], `${failure.summary}. ${failure.hint}`, { cause: error })
    }
  }

  /** Ends the servers. */
  async close(): Promise<void> {
    await this.#servers.close()
    await this.#homes.remove()
  }
}

/** The files that a call of a built-in tool changes. */
async function pathsOf(tool: string, args: unknown): Promise<string[]> {
  const { path, patch } = (args ?? {}) as { path?: unknown; patch?: unknown }
  if (tool === 'apply_patch') return filesChangedBy(patch)
  return (tool === 'write' || tool === 'edit') && typeof path === 'string' ? [path] : []
}

/** Where a program and its modules lie, besides the system and the workspace: the packages around it, or its directory. */
function placesOf(command: readonly string[]): string[] {
  return command.filter((part) => isAbsolute(part)).map((part) => /^.*\/node_modules(?=\/)/u.exec(part)?.[0] ?? dirname(part))
}
