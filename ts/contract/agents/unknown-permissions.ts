import { nearestName } from '../../core/nearest-name.js'
import type { ContractTool } from '../registry/contract-tool.js'
import { lockedToolIds } from '../registry/tool-ids.js'
import type { AgentManifest } from './manifest.js'
import { mcpCapability } from '../mcp/mcp-tools.js'
import type { RequirementSet } from '../registry/requirements.js'
import type { Rule } from '../permissions/rule.js'

/** Capabilities of requirement sets that have fields of their own. */
const capabilities = ['fs.read', 'fs.write', 'shell.run', 'net.fetch']

/** The names that a rule may use as its permission. */
export interface KnownPermissions {
  tools: readonly ContractTool[]
  manifest: AgentManifest
  ceiling: RequirementSet | undefined
}

/** Rules, by the name of their list. */
export type RuleLists = Readonly<Record<string, readonly Rule[] | undefined>>

/**
 * Warnings about rules with an unknown permission: a misspelt `deny` closes nothing. Tools of servers come later, so names
 * that may be theirs are accepted.
 */
export function unknownPermissions(lists: RuleLists, { tools, manifest, ceiling }: KnownPermissions): string[] {
  const { agents = [], mcpServers = {}, requires } = manifest
  const servers = Object.keys(mcpServers)
  const sets = [requires, ceiling, ...tools.map((tool) => tool.requires), ...agents.flatMap((agent) => [agent.requires, agent.ceiling])]
  const named = sets.flatMap((set) => set?.capabilities ?? [])
  const known = new Set(['*', ...lockedToolIds, ...tools.map(({ id }) => id), ...capabilities, ...named, ...servers.map(mcpCapability)])
  const beginnings = servers.map((server) => `${server.replace(/[^A-Za-z0-9_]/gu, '_')}_`)
  const all = {
    ...lists,
    ...Object.fromEntries(agents.map(({ permissions }, index) => [`manifest.agents[${index}].permissions`, permissions])),
  }
  return Object.entries(all).flatMap(([list, rules = []]) =>
    rules.flatMap(({ permission }, index) => {
      if (known.has(permission) || beginnings.some((start) => permission.startsWith(start))) return []
      const near = nearestName(permission, known)
      const hint = near === undefined ? '' : ` Did you mean ${near}?`
      return [
        `${list}[${index}] is a rule about nothing: no tool and no capability is called ${JSON.stringify(permission.slice(0, 100))}.${hint}`,
      ]
    }),
  )
}
