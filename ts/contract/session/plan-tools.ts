import { checked, invalid } from '../../core/options.js'
import { loadArgumentChecks, type MakeCheck } from '../call/argument-checks/argument-checks.js'
import type { RegisteredTool } from '../call/run-call.js'
import { type ContractTool, copyTool, hasSideEffect, lockedId } from '../registry/contract-tool.js'
import { chooseTools } from '../registry/tool-choice.js'
import type { ShellName } from '../registry/tool-runtime.js'
import { isLockedToolId } from '../registry/tool-ids.js'
import type { SessionServers } from '../call/session-servers.js'
import { lspTool } from '../tools/lsp.js'
import { documentReadTool } from '../tools/read.js'
import { bashDescription } from '../tools/bash.js'
import { lockedTools } from '../tools/built-in-tools.js'
import { webSearchTool } from '../tools/web.js'
import type { WebSearchProvider } from '../web/search-provider.js'
import type { Lineage } from './lineage.js'
import type { ParsedOptions } from './session-options.js'

export interface ToolPlan {
  tools: readonly ContractTool[]
  /** Whether the host wants a tool. Tools of servers come after the session was opened. */
  isChosen: (id: string) => boolean
}

/** Registers the tools of a session: the built-in ones and those of the options, as far as the host and the parent have them. */
export function planTools(
  options: ParsedOptions,
  provider: WebSearchProvider | undefined,
  lineage: Lineage | undefined,
  servers: SessionServers | undefined,
): ToolPlan {
  const { tools, isChosen } = checked('createSession', () => registerTools(options, servers))
  // The tool requires the host of the session's own provider.
  const withProvider = tools.map((tool) => (tool.id === 'web_search' ? Object.freeze<ContractTool>(webSearchTool(provider)) : tool))
  return { tools: withProvider.filter(({ id }) => isInherited(id, lineage)), isChosen }
}

/** The tools with the description of `bash` for the session's shell. */
export function describeTools(tools: readonly ContractTool[], shell: ShellName, outputBytes: number): ContractTool[] {
  return tools.map((tool) => (tool.id === 'bash' ? Object.freeze({ ...tool, description: bashDescription(shell, outputBytes) }) : tool))
}

export async function makeRegistry(
  tools: readonly ContractTool[],
): Promise<{ registry: ReadonlyMap<string, RegisteredTool>; makeCheck: MakeCheck }> {
  const makeCheck = await loadArgumentChecks(tools.some(({ id }) => id === 'process_start'))
  return { registry: new Map(tools.map((tool) => [tool.id, registeredTool(tool, makeCheck)])), makeCheck }
}

/** A tool with the check of its arguments. */
export function registeredTool(tool: ContractTool, makeCheck: MakeCheck): RegisteredTool {
  const builtIn = isLockedToolId(tool.id)
  return { tool, check: makeCheck(tool.id, tool.parameters, builtIn), effect: hasSideEffect(tool), builtIn }
}

function registerTools({ tools, manifest, documents }: ParsedOptions, servers: SessionServers | undefined): ToolPlan {
  const byId = new Map(lockedTools.map((tool) => [tool.id, tool]))
  if (documents) byId.set('read', Object.freeze(documentReadTool) as ContractTool)
  const ofServers = servers === undefined ? [] : [lspTool(servers) as ContractTool]
  for (const tool of [...ofServers, ...tools.own].map(copyTool)) {
    if (isLockedToolId(tool.id)) throw lockedId(tool.id)
    if (byId.has(tool.id)) throw invalid(`Two tools have the id ${tool.id}. Rename one of them.`)
    byId.set(tool.id, tool)
  }
  const isChosen = chooseTools(tools, [...byId.keys()], Object.keys(manifest.mcpServers ?? {}))
  return { tools: [...byId.values()].filter(({ id }) => isChosen(id)), isChosen }
}

/** A subagent has the tools that its definition names, out of those of its parent. */
function isInherited(id: string, lineage: Lineage | undefined): boolean {
  if (lineage === undefined) return true
  const { parent, agent } = lineage
  return parent.access.tools.has(id) && (agent.tools?.includes(id) ?? true)
}
