import { checkNames, invalid, isNames } from '../../core/options.js'
import { type AgentDefinition, checkAgents } from '../agents/agent-definition.js'
import { checkMcpServers, type McpServerConfig } from '../mcp/server-config.js'
import type { Rule } from '../permissions/rule.js'
import { requirementProblem, type RequirementSet } from './requirements.js'
import { checkSkillSources, type SkillSource } from '../skills/skill-source.js'

/** What an agent is: its name, what it reaches besides its tools, and its rules, which nobody can widen. */
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
  /** Servers of the Model Context Protocol, by name. None is connected but those that the host enables. @default {} */
  mcpServers?: Record<string, McpServerConfig> | undefined
}

const names = ['name', 'workspace', 'requires', 'permissions', 'agents', 'skills', 'mcpServers']

/** @throws {ToolError} INVALID_INPUT for what is no manifest. */
export function checkManifest(manifest: unknown): asserts manifest is AgentManifest {
  if (typeof manifest !== 'object' || manifest === null) throw invalid('manifest must be an object with a name.')
  checkNames('manifest.', manifest, names)
  const { name, workspace = [], requires = {}, agents = [], skills = [], mcpServers = {} } = manifest as Record<string, unknown>
  if (typeof name !== 'string' || name === '') throw invalid('manifest.name must be a non-empty string.')
  if (!isNames(workspace)) throw invalid('manifest.workspace must be an array of paths.')
  const problem = requirementProblem(requires)
  if (problem !== undefined) throw invalid(`manifest.${problem}.`)
  checkAgents(agents)
  checkSkillSources(skills)
  checkMcpServers(mcpServers)
}
