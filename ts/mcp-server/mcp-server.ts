import { AsyncLocalStorage } from 'node:async_hooks'
import type { CallToolResult, ClientCapabilities, InputRequiredResult, McpServer, ServerContext } from '@modelcontextprotocol/server'
import { noSuchTool } from '../core/text.js'
import type { ContractTool } from '../contract/registry/contract-tool.js'
import type { Session } from '../contract/session/session.js'
import { Progress, refusal, resultOf } from './call-tool.js'
import { Permission } from './permission.js'
import { loadSdk, type Sdk } from './sdk.js'
import { definitionOf } from './tool-definitions.js'
import { ClientWorkspace } from './client-workspace.js'
import { runsCommands, type ServerSettings, ToolSessions } from './tool-sessions.js'

/** The field of a 2026 request with the capabilities of its client. */
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'

/** The connection of a request. Its calls end with it. */
export const connection = new AsyncLocalStorage<AbortSignal>()

const CALL = 'tools/call'

/** A handler of the SDK's server, which gives it to its own classes alone, by a method that another version may lack. */
function handlerOf(server: object, method: string): RequestHandler | undefined {
  const get: unknown = Reflect.get(server, '_getRequestHandler')
  return typeof get === 'function' ? (Reflect.apply(get, server, [method]) as RequestHandler | undefined) : undefined
}

type RequestHandler = (request: unknown, ctx: unknown) => Promise<CallToolResult>

/** Serves the contract's tools to any number of connections. */
export class ToolServer {
  readonly sdk: Sdk
  readonly #sessions: ToolSessions
  readonly #shared: Session
  readonly #permission: Permission

  private constructor(sdk: Sdk, sessions: ToolSessions, shared: Session) {
    this.sdk = sdk
    this.#sessions = sessions
    this.#shared = shared
    this.#permission = new Permission(sdk)
  }

  /**
   * Opens the session of the server's roots.
   *
   * @throws {PackageMissing} without the official SDK.
   * @throws {ToolError} as `createSession` does.
   */
  static async open(settings: ServerSettings): Promise<ToolServer> {
    const sessions = new ToolSessions(settings)
    const [sdk, shared] = await Promise.allSettled([loadSdk(), sessions.open()])
    if (sdk.status === 'fulfilled' && shared.status === 'fulfilled') return new ToolServer(sdk.value, sessions, shared.value)
    await sessions.close()
    throw sdk.status === 'rejected' ? sdk.reason : (shared as PromiseRejectedResult).reason
  }

  /** Warnings for the host, such as rules about unknown tools. */
  get warnings(): readonly string[] {
    return this.#shared.warnings
  }

  /**
   * Makes the SDK's server for one connection, or for one request of 2026.
   *
   * @param isAlone whether the connection keeps its user's answers to itself
   */
  connect(isAlone = false): McpServer {
    const { settings } = this.#sessions
    const { version, tools } = settings
    const server = new this.sdk.McpServer(
      { name: 'toolwright', title: 'toolwright', version },
      { capabilities: { tools: {} }, instructions: instructionsOf(settings) },
    )
    const workspace = new ClientWorkspace(this.#sessions, isAlone ? undefined : this.#shared, () => server.server.getClientCapabilities())
    for (const tool of this.#shared.registered.filter(({ id }) => tools.includes(id))) {
      server.registerTool(tool.id, definitionOf(this.sdk, tool, settings), (args, ctx) => this.#call(tool, args, ctx, workspace))
    }
    this.#nameOthers(server, tools)
    server.server.setNotificationHandler('notifications/roots/list_changed', () => workspace.forget())
    const { onclose } = server.server
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the server takes a single listener
    server.server.onclose = () => {
      onclose?.()
      void workspace.close()
    }
    return server
  }

  /** Answers a call of a tool that is not there with the names of those that are. The SDK says only that it is not found. */
  #nameOthers({ server }: McpServer, tools: readonly string[]): void {
    const known = handlerOf(server, CALL)
    if (known === undefined) return
    const { ProtocolError, ProtocolErrorCode } = this.sdk
    server.setRequestHandler(CALL, (request, ctx) => {
      const { name } = request.params
      if (!tools.includes(name)) throw new ProtocolError(ProtocolErrorCode.InvalidParams, noSuchTool(name, tools, 'this server'))
      return known(request, ctx)
    })
  }

  async #call(
    tool: ContractTool,
    args: unknown,
    ctx: ServerContext,
    workspace: ClientWorkspace,
  ): Promise<CallToolResult | InputRequiredResult> {
    using progress = new Progress(tool.id, ctx)
    const { onOutput } = progress
    return await workspace.use(ctx, async (session) => {
      if (session === undefined) return refusal('capability_denied', noRoots(this.#sessions.settings.roots))
      const gone = connection.getStore()
      const signal = gone === undefined ? ctx.mcpReq.signal : AbortSignal.any([ctx.mcpReq.signal, gone])
      const next = await this.#permission.nextMove(session, { tool: tool.id, args }, ctx, capabilitiesOf(ctx, workspace))
      if ('asks' in next) return next.asks
      return resultOf(tool, args, await this.#sessions.call(session, tool.id, args, { ...next, signal, onOutput }))
    })
  }

  /** Stops every call. */
  async close(): Promise<void> {
    await this.#sessions.close()
  }
}

function capabilitiesOf(ctx: ServerContext, { client }: ClientWorkspace): ClientCapabilities | undefined {
  const { envelope } = ctx.mcpReq
  return envelope === undefined ? client : ((envelope as Record<string, unknown>)[CAPABILITIES] as ClientCapabilities | undefined)
}

/** The server's instructions for the model. */
function instructionsOf({ roots, sandbox, allowNetwork, tools, isReadOnly, fork }: ServerSettings): string {
  const place = `The tools work in ${roots.join(', ')}. Relative paths begin at ${roots[0] ?? ''}; nothing outside can be reached.`
  const forked = 'What they change stays in a fork, which the user applies or throws away: other programs do not see it yet.'
  const where = fork === undefined ? place : `${place} ${forked}`
  const asks = isReadOnly
    ? 'Nothing can be changed.'
    : 'Reading needs no answer. The user is asked about everything else that no rule allows.'
  if (!tools.some(runsCommands)) return `${where}\n${asks}`
  const network = allowNetwork ? 'Commands reach the network.' : 'Commands have no network.'
  return `${where}\n${asks}\n${sandbox}\n${network}`
}

const noRoots = (roots: readonly string[]): string =>
  `The server works in ${roots.join(', ')}, and no root of the client lies there. Open one of them in the client, or start the server with another --root.`
