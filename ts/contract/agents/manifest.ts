import { checkNames, invalid, isNames } from '../../core/options.js'
import { checkMcpServers, type McpServerConfig } from '../mcp/server-config.js'
import type { Rule } from '../permissions/rule.js'
import { findRequirementProblem, type RequirementSet } from '../registry/requirements.js'
import { checkSkillSources, type SkillSource } from '../skills/skill-source.js'
import type { LanguageModel } from 'ai'

/** An agent: its name, what it reaches besides its tools, and its rules, which no user can widen. */
export interface AgentManifest {
  name: string
  /**
   * Roots of the workspace besides those that the host gives: absolute, or relative to the first of them. Each lies in
   * one of the host's, or in one of its `manifestRoots`. @default []
   */
  workspace?: string[] | undefined
  /** @default {} */
  requires?: RequirementSet | undefined
  permissions?: Rule[] | undefined
  /** The agents that `task` can call. @default [] */
  agents?: AgentDefinition[] | undefined
  /** Skills besides those of the workspace and the user. @default [] */
  skills?: SkillSource[] | undefined
  /** Servers of the Model Context Protocol, by name. Only those that the host enables are connected. @default {} */
  mcpServers?: Record<string, McpServerConfig> | undefined
}

const names = ['name', 'workspace', 'requires', 'permissions', 'agents', 'skills', 'mcpServers']

/** @throws {ToolError} INVALID_INPUT for an invalid manifest. */
export function checkManifest(manifest: unknown): asserts manifest is AgentManifest {
  if (typeof manifest !== 'object' || manifest === null) throw invalid('manifest must be an object with a name.')
  checkNames('manifest.', manifest, names)
  const { name, workspace = [], requires = {}, agents = [], skills = [], mcpServers = {} } = manifest as Record<string, unknown>
  if (typeof name !== 'string' || name === '') throw invalid('manifest.name must be a non-empty string.')
  if (!isNames(workspace)) throw invalid('manifest.workspace must be an array of paths.')
  const problem = findRequirementProblem(requires)
  if (problem !== undefined) throw invalid(`manifest.${problem}.`)
  checkAgents(agents)
  checkSkillSources(skills)
  checkMcpServers(mcpServers)
}

/** An agent that takes tasks of other agents. */
export interface AgentDefinition {
  /** The name by which `task` calls it. */
  name: string
  /** When to use it. */
  description?: string | undefined
  /** Whether it takes tasks of other agents (`subagent`, `all`) or of users only (`primary`). @default 'subagent' */
  mode?: 'primary' | 'subagent' | 'all' | undefined
  /** Its system prompt. */
  instructions?: string | undefined
  /** Adds a line to its system prompt that says that its caller is an agent. @default no such line */
  caller?: 'agent' | undefined
  /** Whether its calls are recorded in a session of their own, instead of nested in the task. @default false */
  inspectable?: boolean | undefined
  /** The ids of its tools, out of those of its parent. @default all except those of servers */
  tools?: string[] | undefined
  /** Directories that are roots of its workspace besides those of its parent, in which they lie. @default [] */
  workspace?: string[] | undefined
  /** What it reaches besides its tools; never more than its parent. @default {} */
  requires?: RequirementSet | undefined
  /** The upper bound of its access. @default that of its parent */
  ceiling?: RequirementSet | undefined
  /** Its own rules, in addition to those of its parents. @default those of its parent, except for agreements of the user there */
  permissions?: Rule[] | undefined
  /** @default the session's model */
  model?: LanguageModel | undefined
  /** The maximum number of its steps. @default 50 */
  maxSteps?: number | undefined
}

const keys = new Set(
  'name description mode instructions caller inspectable tools workspace requires ceiling permissions model maxSteps'.split(' '),
)

/** @throws {ToolError} INVALID_INPUT for invalid agents. */
export function checkAgents(agents: unknown): asserts agents is AgentDefinition[] {
  if (!Array.isArray(agents)) throw invalid('manifest.agents must be an array.')
  const seen = new Set<unknown>()
  for (const [index, agent] of (agents as unknown[]).entries()) {
    const problem = typeof agent === 'object' && agent !== null ? problemOf(agent as Record<string, unknown>) : 'it must be an object'
    if (problem !== undefined) throw invalid(`manifest.agents[${index}]: ${problem}.`)
    const { name } = agent as AgentDefinition
    if (seen.has(name)) throw invalid(`manifest.agents: two agents have the name ${name}.`)
    seen.add(name)
  }
}

function problemOf(agent: Record<string, unknown>): string | undefined {
  const unknown = Object.keys(agent).find((key) => !keys.has(key))
  if (unknown !== undefined) return `${unknown} is not known`
  const {
    name,
    mode = 'subagent',
    caller,
    inspectable = false,
    tools = [],
    workspace = [],
    requires = {},
    ceiling = {},
    permissions = [],
    maxSteps = 1,
  } = agent
  if (typeof name !== 'string' || !/^[A-Za-z0-9_-]{1,64}$/u.test(name)) return 'name must be 1 to 64 letters, digits, "_" and "-"'
  if (!['primary', 'subagent', 'all'].includes(mode as string)) return 'mode must be primary, subagent or all'
  if (caller !== undefined && caller !== 'agent') return 'caller must be "agent" or absent'
  if (typeof inspectable !== 'boolean') return 'inspectable must be true or false'
  for (const key of ['description', 'instructions']) {
    if (agent[key] !== undefined && typeof agent[key] !== 'string') return `${key} must be a string`
  }
  if (!Array.isArray(tools) || !tools.every((id) => typeof id === 'string')) return 'tools must be ids'
  if (!isNames(workspace)) return 'workspace must be an array of paths'
  if (!Array.isArray(permissions)) return 'permissions must be an array of rules'
  if (!Number.isSafeInteger(maxSteps) || Number(maxSteps) < 1) return 'maxSteps must be a whole number'
  return findRequirementProblem(requires) ?? findRequirementProblem(ceiling)?.replace(/^requires/u, 'ceiling')
}

/** The agents that `task` may call. */
export function agentsForTasks(agents: readonly AgentDefinition[] | undefined): AgentDefinition[] {
  return (agents ?? []).filter(({ mode = 'subagent' }) => mode !== 'primary')
}

/** The list of agents for a model. */
export function agentList(agents: readonly AgentDefinition[]): string {
  return agents.map(({ name, description }) => (description === undefined ? name : `${name} (${description})`)).join(', ')
}
