import {
  anything,
  boolean,
  type Check,
  type Checks,
  group,
  invalid,
  listOf,
  must,
  oneOf,
  optional,
  paths,
  string,
  text,
  wholeNumber,
} from '../../core/options.js'
import { type McpServerConfig, mcpServers } from '../mcp/server-config.js'
import { type Rule, ruleList } from '../permissions/rule.js'
import { requirementSet, type RequirementSet } from '../registry/requirements.js'
import { skillSource, type SkillSource } from '../skills/skill-source.js'
import type { LanguageModel } from 'ai'

/** An agent: its name, its capabilities besides those of its tools, and its rules, which no user can widen. */
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
  /**
   * `fork`: it works in a fork of the workspace, which has to be one directory, and the result of `task` lists what it has changed. The host
   * applies that with `session.forks.apply(id)`, or discards it. @default the workspace itself
   */
  isolation?: 'fork' | undefined
  /** Whether its calls are recorded in a session of their own, instead of nested in the task. @default false */
  inspectable?: boolean | undefined
  /** The ids of its tools, out of those of its parent. @default all except those of servers */
  tools?: string[] | undefined
  /** Directories that are roots of its workspace besides those of its parent, in which they lie. @default [] */
  workspace?: string[] | undefined
  /** Its capabilities besides those of its tools; never more than its parent's. @default {} */
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

const agentDefinition = group({
  name: must<string>((name) => typeof name === 'string' && /^[A-Za-z0-9_-]{1,64}$/u.test(name), '1 to 64 letters, digits, "_" and "-"'),
  description: optional(string),
  mode: optional(oneOf('primary', 'subagent', 'all')),
  instructions: optional(string),
  caller: optional(oneOf('agent')),
  isolation: optional(oneOf('fork')),
  inspectable: optional(boolean),
  tools: optional(listOf(string)),
  workspace: optional(paths),
  requires: optional(requirementSet),
  ceiling: optional(requirementSet),
  permissions: optional(ruleList),
  model: anything<LanguageModel | undefined>(),
  maxSteps: optional(wholeNumber(1)),
} satisfies Checks<AgentDefinition>)

const agentDefinitions: Check<AgentDefinition[]> = (value, name) => {
  const list = listOf(agentDefinition)(value, name)
  const twice = list.find((one, index) => list.findIndex((other) => other.name === one.name) < index)
  if (twice !== undefined) throw invalid(`${name}: two agents have the name ${twice.name}.`)
  return list
}

/** A copy of a manifest, but for the models of its agents. */
export const agentManifest = group({
  name: text,
  workspace: optional(paths),
  requires: optional(requirementSet),
  permissions: optional(ruleList),
  agents: optional(agentDefinitions),
  skills: optional(listOf(skillSource)),
  mcpServers: optional(mcpServers),
} satisfies Checks<AgentManifest>)

export function agentsForTasks(agents: readonly AgentDefinition[] | undefined): AgentDefinition[] {
  return (agents ?? []).filter(({ mode = 'subagent' }) => mode !== 'primary')
}

export function agentList(agents: readonly AgentDefinition[]): string {
  return agents.map(({ name, description }) => (description === undefined ? name : `${name} (${description})`)).join(', ')
}
