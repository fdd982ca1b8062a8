import type { ClientCapabilities, ServerContext } from '@modelcontextprotocol/server'
import type { Session } from '../contract/session/session.js'
import { narrowedRoots, type ToolSessions } from './tool-sessions.js'

/** How long a client may take to list its roots, in milliseconds. */
const ROOTS_MS = 5_000

/** The session of one connection: the shared session, or one of its own if the client's roots are narrower. */
export class ClientWorkspace {
  readonly #sessions: ToolSessions
  readonly #shared: Session | undefined
  readonly #capabilities: () => ClientCapabilities | undefined
  readonly #running = new Map<Session, number>()
  #session: Promise<Session | undefined> | undefined
  #own: { session: Session; roots: string } | undefined

  /** @param shared the session that connections share; without it, this connection has its own. */
  constructor(sessions: ToolSessions, shared: Session | undefined, capabilities: () => ClientCapabilities | undefined) {
    this.#sessions = sessions
    this.#shared = shared
    this.#capabilities = capabilities
  }

  get client(): ClientCapabilities | undefined {
    return this.#capabilities()
  }

  /** The session for the client's current roots; `undefined` if none of them lies within the server's roots. */
  async use<T>(ctx: ServerContext, work: (session: Session | undefined) => Promise<T>): Promise<T> {
    const session = await (this.#session ??= this.#find(ctx))
    if (session === undefined) return work(undefined)
    this.#running.set(session, (this.#running.get(session) ?? 0) + 1)
    try {
      return await work(session)
    } finally {
      this.#running.set(session, (this.#running.get(session) ?? 1) - 1)
      await this.#retire(session)
    }
  }

  /** Notes that the client's roots have changed. The next call asks for them. */
  forget(): void {
    this.#session = undefined
  }

  async #find(ctx: ServerContext): Promise<Session | undefined> {
    const { roots } = this.#sessions.settings
    const narrowed = narrowedRoots(roots, await this.#named(ctx))
    const key = JSON.stringify(narrowed)
    if (key === this.#own?.roots) return this.#own.session
    const before = this.#own
    this.#own = undefined
    const session = await this.#sessionOf(narrowed, key === JSON.stringify(roots))
    if (session !== undefined && session !== this.#shared) this.#own = { session, roots: key }
    if (before !== undefined) await this.#retire(before.session)
    return session
  }

  async #sessionOf(narrowed: readonly string[], isWhole: boolean): Promise<Session | undefined> {
    if (narrowed.length === 0) return undefined
    return isWhole && this.#shared !== undefined ? this.#shared : this.#sessions.open(narrowed)
  }

  /** Asks the client for its roots, which the protocol of 2026 no longer has. */
  async #named({ mcpReq }: ServerContext): Promise<string[]> {
    if (mcpReq.envelope !== undefined || this.client?.roots === undefined) return []
    try {
      const { roots } = await mcpReq.send({ method: 'roots/list' }, { timeout: ROOTS_MS, signal: mcpReq.signal })
      return roots.map(({ uri }) => uri)
    } catch (error) {
      this.forget()
      throw error
    }
  }

  /** Closes a session when no call uses it any more. */
  async #retire(session: Session): Promise<void> {
    if (session === this.#shared || session === this.#own?.session || (this.#running.get(session) ?? 0) > 0) return
    this.#running.delete(session)
    await this.#sessions.close(session)
  }

  /** Stops the calls of this connection's own session. */
  async close(): Promise<void> {
    const own = this.#own
    this.#own = undefined
    if (own !== undefined) await this.#sessions.close(own.session)
  }
}
