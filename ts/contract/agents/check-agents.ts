import type { ContractTool } from '../registry/contract-tool.js'
import { invalid } from '../../core/options.js'
import { unwrap } from '../../core/native.js'
import type { ContractAddon } from '../session/native-policy.js'
import { RuleStore } from '../permissions/rule-store.js'
import { type realDirectory, withDeclaredRoots } from '../session/workspace-roots.js'
import type { AgentDefinition } from './agent-definition.js'

/** What the definitions of agents are compared with. */
export interface AgentSurroundings {
  agents: readonly AgentDefinition[]
  /** The tools that there are; unknown where no session is. */
  tools?: readonly ContractTool[] | undefined
  roots: readonly string[]
  adHoc: readonly string[]
  userData?: string | undefined
}

/**
 * Looks whether the definitions of agents mean something: what is misspelt is the author's to read, now, and not the
 * model's that calls the agent one day.
 *
 * @throws {ToolError} INVALID_INPUT for a tool that is not there; CONTRACT_MANIFEST_INVALID and CONTRACT_RULE_INVALID
 * with the place.
 */
export function checkAgentMeaning(
  addon: ContractAddon,
  { agents, tools, roots, adHoc, userData }: AgentSurroundings,
  directory: typeof realDirectory,
): void {
  for (const [index, { name, tools: wanted = [], workspace, requires = {}, ceiling = {}, permissions }] of agents.entries()) {
    const unknown = wanted.find((id) => tools?.some((tool) => tool.id === id) === false)
    if (unknown !== undefined) throw invalid(`manifest.agents: ${name} names the tool ${unknown}, which the session does not have.`)
    const at = `manifest.agents[${index}]`
    const all = withDeclaredRoots({ source: `${at}.workspace`, declared: workspace, roots, within: [] }, directory)
    const variables = { workspace: all, adHoc: [...adHoc], ...(userData === undefined ? {} : { userData }) }
    const sets = [
      { source: `${at}.requires`, requires },
      { source: `${at}.ceiling`, requires: ceiling },
    ]
    unwrap(addon.compilePolicy({ variables, conjunction: [sets] }))
    if (permissions !== undefined) RuleStore.check(addon, variables, permissions, `${at}.permissions`)
  }
}
