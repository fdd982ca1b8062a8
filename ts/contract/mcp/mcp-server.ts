import { unlessAborted, withinTime } from '../../core/abort.js'
import { ContractFailure } from '../registry/envelope.js'
import { type ConnectFacts, describeConnectError, describeEnd, runsIn } from './connect-error.js'
import type { McpConnection, ServerTool } from './mcp-connection.js'
import { MAX_MESSAGE_BYTES, MCP_TIMEOUT_MS, type McpServerConfig, secretsOf } from './server-config.js'
import { sandboxHint, type ServerPlace } from './server-sandbox.js'
import { schemaWithoutSecrets, toolOutput, withoutSecrets } from './tool-output.js'
import { loadLate } from '../../core/late-code.js'

const loadConnection = loadLate(() => import('./mcp-connection.js'))

/** The delays before another attempt to reach a server that is down, in milliseconds. The last one repeats. */
export const backOffMs: readonly number[] = [1_000, 2_000, 5_000, 15_000, 60_000]

/** How old a list of tools may be before it is requested again, if the server does not announce changes, in milliseconds. */
const LIST_MS = 60_000

/** One server of a session. It is connected when it is first needed, and tried again later if it is down. */
export class McpServer {
  readonly name: string
  tools: readonly ServerTool[] = []
  /** Why the server could not be connected, or went down, for the host, without addresses and values. */
  connectError: string | undefined
  readonly #place: ServerPlace
  readonly #config: McpServerConfig
  readonly #secrets: readonly string[]
  readonly #delays: readonly number[]
  readonly #closing = new AbortController()
  #connection: McpConnection | undefined
  #connecting: Promise<void> | undefined
  /** Connections that are ending. The session closes only after their processes have ended. */
  readonly #ending = new Set<Promise<void>>()
  #restarting: Promise<void> | undefined
  #listed = 0
  #isStale = false
  #failures = 0
  #timer: NodeJS.Timeout | undefined

  constructor(name: string, config: McpServerConfig, place: ServerPlace, delays = backOffMs) {
    this.name = name
    this.#place = place
    this.#config = config
    this.#secrets = secretsOf(config)
    this.#delays = delays
  }

  get isUp(): boolean {
    return this.#connection !== undefined
  }

  /** How the server runs, for the host. */
  get runs(): string {
    return runsIn(this.#config)
  }

  /**
   * Runs between two turns: connects for the first time, and requests a list that may have changed. A timer, and not this
   * method, tries a server that is down again.
   */
  async refresh(signal: AbortSignal): Promise<void> {
    if (this.#closing.signal.aborted) return
    if (this.#connection === undefined) {
      // A second attempt is the timer's.
      if (this.#failures > 0) return
      await unlessAborted(this.#connect(), signal)
    } else if (this.#isStale || Date.now() - this.#listed > LIST_MS) {
      await this.#list(this.#connection)
    }
  }

  /** Calls a tool, once. @throws {ContractFailure} unavailable if the server is down or goes down meanwhile; timeout; tool_failed. */
  async call(tool: string, args: Record<string, unknown>, signal: AbortSignal): Promise<unknown> {
    // A server that is restarted because of a too long message is not down.
    if (this.#restarting !== undefined) await unlessAborted(this.#restarting, signal)
    const connection = this.#connection
    if (connection === undefined) throw this.#unavailable()
    const limitMs = this.#config.timeout_ms ?? MCP_TIMEOUT_MS
    const late = (): Error =>
      new ContractFailure('timeout', `mcp server ${this.name} did not answer within ${limitMs} ms. What it did is unknown.`)
    let result: unknown
    try {
      result = await withinTime((either) => connection.callTool(tool, args, either()), limitMs, signal, late)
      if (connection.wasTooLong) {
        this.#down(connection)
        throw tooLongFailure(this.name)
      }
    } catch (error) {
      signal.throwIfAborted()
      if (ContractFailure.isInstance(error)) throw error
      throw this.#failure(connection, error)
    }
    try {
      return toolOutput(this.name, result, this.#secrets)
    } catch (error) {
      throw ContractFailure.isInstance(error) ? this.#explained(error) : error
    }
  }

  /** A failure of the server, with the part that the sandbox may have in it. */
  #explained(failure: ContractFailure): ContractFailure {
    const config = this.#config
    const hint = 'url' in config ? undefined : sandboxHint(this.name, config.sandbox ?? {}, failure.message)
    return hint === undefined ? failure : new ContractFailure(failure.code, `${failure.message}\n${hint}`)
  }

  async close(): Promise<void> {
    this.#closing.abort()
    clearTimeout(this.#timer)
    const connection = this.#connection
    this.#connection = undefined
    await this.#connecting?.catch(() => undefined)
    if (connection !== undefined) this.#end(connection)
    await Promise.all(this.#ending)
  }

  #end(connection: McpConnection): Promise<void> {
    const ending = connection.close().finally(() => this.#ending.delete(ending))
    this.#ending.add(ending)
    return ending
  }

  #connect(): Promise<void> {
    return (this.#connecting ??= this.#open().finally(() => (this.#connecting = undefined)))
  }

  async #open(): Promise<void> {
    let connection: McpConnection | undefined
    try {
      const events = { onDown: () => this.#down(connection), onNotice: () => void (this.#isStale = true) }
      const { connect } = await loadConnection()
      connection = await connect(this.name, this.#config, this.#place, events, this.#closing.signal)
      this.tools = await this.#toolsOf(connection)
      this.#closing.signal.throwIfAborted()
      this.#connection = connection
      this.#listed = Date.now()
      this.#isStale = false
      this.#failures = 0
      this.connectError = undefined
    } catch (error) {
      const process = connection?.process
      const facts: ConnectFacts = { name: this.name, server: this.#config, secrets: this.#secrets }
      if (connection !== undefined) await this.#end(connection)
      this.connectError = describeConnectError(facts, error, process)
      this.#tryLater()
    }
  }

  async #list(connection: McpConnection): Promise<void> {
    this.#isStale = false
    this.#listed = Date.now()
    try {
      this.tools = await this.#toolsOf(connection)
    } catch (error) {
      if (!isAnswer(error)) this.#down(connection)
    }
  }

  /** The server's tools, without the credentials that the server may repeat in their texts. */
  async #toolsOf(connection: McpConnection): Promise<ServerTool[]> {
    const tools = await connection.listTools(this.#closing.signal)
    const secrets = this.#secrets
    if (secrets.length === 0) return tools
    return tools.map(({ name, description = '', inputSchema, outputSchema }) => ({
      name,
      description: withoutSecrets(description, secrets),
      inputSchema: schemaWithoutSecrets(inputSchema, secrets),
      ...(outputSchema === undefined ? {} : { outputSchema: schemaWithoutSecrets(outputSchema, secrets) }),
    }))
  }

  #failure(connection: McpConnection, error: unknown): ContractFailure {
    // A server that answers with an error is there.
    if (!isAnswer(error)) {
      this.#down(connection)
      return connection.wasTooLong ? tooLongFailure(this.name) : this.#unavailable()
    }
    const text = withoutSecrets(error instanceof Error ? error.message : 'it gave no reason', this.#secrets)
    return new ContractFailure('tool_failed', `mcp server ${this.name} refused the call: ${text.slice(0, 2_000)}`)
  }

  #unavailable(): ContractFailure {
    return new ContractFailure('unavailable', `mcp server ${this.name} is unavailable`)
  }

  #down(connection: McpConnection | undefined): void {
    if (connection === undefined || this.#connection !== connection) return
    this.#connection = undefined
    void this.#noteEnd(connection)
    if (!connection.wasTooLong) return this.#tryLater()
    this.#restarting = this.#connect().finally(() => (this.#restarting = undefined))
  }

  async #noteEnd(connection: McpConnection): Promise<void> {
    await this.#end(connection)
    if (this.isUp) return
    this.connectError ??= describeEnd({ name: this.name, server: this.#config, secrets: this.#secrets }, connection.process)
  }

  #tryLater(): void {
    if (this.#closing.signal.aborted) return
    const delay = this.#delays[Math.min(this.#failures, this.#delays.length - 1)] ?? 60_000
    this.#failures += 1
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#connect(), delay)
    this.#timer.unref()
  }
}

function tooLongFailure(name: string): ContractFailure {
  const text = `mcp server ${name} sent more than ${MAX_MESSAGE_BYTES} bytes at once and was started anew. Ask for less at once. What this call did there is unknown.`
  return new ContractFailure('too_large', text)
}

/** Whether the server itself refused: errors of the protocol have a number. */
function isAnswer(error: unknown): boolean {
  const { code, statusCode } = (typeof error === 'object' && error !== null ? error : {}) as Record<string, unknown>
  return typeof code === 'number' && statusCode === undefined
}
