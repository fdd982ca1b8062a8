import { ContractFailure } from '../registry/envelope.js'
import type { ContractTool } from '../registry/contract-tool.js'
import { McpServer } from './mcp-server.js'
import { mcpTools, McpToolIds } from './mcp-tools.js'
import type { McpServerConfig } from './server-config.js'
import { ServerHomes, type ServerHomesAddon } from './server-homes.js'
import { checkHome, type ServerPlace } from './server-sandbox.js'

/** A server of a session, as its host sees it. */
export interface McpServerState {
  name: string
  /** How it runs: in the sandbox and with what access, outside it, or elsewhere. */
  runs: string
  isConnected: boolean
  /** How many tools it listed last. */
  tools: number
  /** Why it could not be connected, or went down. */
  problem?: string
}

/** The servers of a session that the host has enabled. */
export class McpServers {
  readonly #servers: ReadonlyMap<string, McpServer>
  readonly #built = new Map<string, { from: unknown; made: ReturnType<typeof mcpTools> }>()
  readonly #homes: ServerHomes
  #ids: McpToolIds | undefined

  constructor(
    configs: Readonly<Record<string, McpServerConfig>>,
    enabled: readonly string[],
    place: Omit<ServerPlace, 'home'> & { addon: ServerHomesAddon },
  ) {
    const { addon, ...rest } = place
    for (const name of enabled) {
      const config = configs[name]
      if (config !== undefined && 'command' in config) checkHome(name, config, rest)
    }
    this.#homes = new ServerHomes(addon)
    const withHomes: ServerPlace = { ...rest, home: (name) => this.#homes.of(name) }
    this.#servers = new Map(enabled.map((name) => [name, new McpServer(name, configs[name] as McpServerConfig, withHomes)]))
  }

  get names(): string[] {
    return [...this.#servers.keys()]
  }

  /** What there is to know of each, for the host. */
  get states(): McpServerState[] {
    return [...this.#servers.values()].map(({ name, isUp, runs, tools, connectError }) => ({
      name,
      runs,
      isConnected: isUp,
      tools: tools.length,
      ...(connectError === undefined ? {} : { problem: connectError }),
    }))
  }

  /** Connects those that never were, all at once, and asks for lists that may have changed. Never rejects but for `signal`. */
  async refresh(signal: AbortSignal): Promise<void> {
    await Promise.all([...this.#servers.values()].map((server) => server.refresh(signal)))
  }

  /** Their tools. `taken` are the ids of others: the same ones for the whole session. */
  tools(taken: ReadonlySet<string>): { tools: ContractTool[]; warnings: string[] } {
    const ids = (this.#ids ??= new McpToolIds(taken))
    const parts = [...this.#servers.values()].map((server) => {
      const cached = this.#built.get(server.name)
      const made = cached?.from === server.tools ? cached.made : mcpTools(server.name, server.tools, ids)
      this.#built.set(server.name, { from: server.tools, made })
      return made
    })
    const errors = [...this.#servers.values()].flatMap(({ connectError }) => connectError ?? [])
    return { tools: parts.flatMap(({ tools }) => tools), warnings: [...errors, ...parts.flatMap(({ warnings }) => warnings)] }
  }

  async call(server: string, tool: string, args: Record<string, unknown>, signal: AbortSignal): Promise<unknown> {
    const target = this.#servers.get(server)
    if (target === undefined) throw new ContractFailure('unavailable', `mcp server ${server} is unavailable`)
    return target.call(tool, args, signal)
  }

  async close(): Promise<void> {
    await Promise.all([...this.#servers.values()].map((server) => server.close()))
    await this.#homes.remove()
  }
}
