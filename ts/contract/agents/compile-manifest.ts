import { isAbsolute } from 'node:path'
import type { ContractVariables } from '../../../index.js'
import {
  anything,
  boolean,
  type Check,
  checked,
  type Checks,
  group,
  invalid,
  listOf,
  must,
  oneOf,
  optional,
  parseOptions,
  path,
  paths,
  string,
  text,
} from '../../core/options.js'
import { type ContractAddon, loadContractAddon } from '../permissions/session-capabilities.js'
import { type AgentDefinition, agentManifest, type AgentManifest } from './manifest.js'
import { type PermissionVerdict, RuleStore, type Subject } from '../permissions/rule-store.js'
import { type Rule, type RuleSource, type StoredRule, storedRule } from '../permissions/rule.js'
import type { RequirementSet, RequirementVariables } from '../registry/requirements.js'
import { directoryOrPath, type realDirectory, withDeclaredRoots } from '../permissions/workspace-roots.js'
import type { ContractTool } from '../registry/contract-tool.js'
import { unwrap } from '../../core/native.js'
import { nearestName } from '../../core/text.js'
import { capabilityNames, lockedToolIds } from '../registry/tool-ids.js'
import { mcpCapability } from '../mcp/mcp-tools.js'

/** A manifest with valid patterns and rules. */
export interface CompiledManifest {
  name: string
  /** The roots of its workspace: those of the variables, and those that it declares. */
  workspace: readonly string[]
  /** Its requirements, with their variables expanded. */
  requires: RequirementSet
  /** Its rules. */
  permissions: readonly StoredRule[]
}

/** The values of a manifest's variables, and the directories in which it may declare roots. */
export interface ManifestVariables extends RequirementVariables {
  /** Directories besides the workspace in which it may declare roots. @default [] */
  manifestRoots?: string[] | undefined
}

/**
 * Checks a manifest without a session.
 *
 * @throws {ToolError} CONTRACT_MANIFEST_INVALID for an unknown variable or an invalid pattern, with its
 * place; CONTRACT_RULE_INVALID; INVALID_INPUT; NATIVE_UNAVAILABLE.
 */
export async function compileManifest(manifest: AgentManifest, variables: ManifestVariables): Promise<CompiledManifest> {
  const checks = { ...variableChecks, manifestRoots: optional(paths, []) } satisfies Checks<ManifestVariables>
  const { parsed, native } = checked('compileManifest', () => {
    const own = agentManifest(manifest, 'manifest')
    const { manifestRoots, ...values } = parseOptions('compileManifest', variables, checks)
    const real = (list: readonly string[]): string[] => list.map((one) => (isAbsolute(one) ? directoryOrPath('', one) : one))
    const roots = { source: 'manifest.workspace', declared: own.workspace, roots: real(values.workspace), within: real(manifestRoots) }
    return { parsed: own, native: { ...values, workspace: withDeclaredRoots(roots, directoryOrPath) } as ContractVariables }
  })
  const addon = await loadContractAddon()
  const requires = [{ source: 'manifest.requires', requires: parsed.requires ?? {} }]
  const policy = unwrap(addon.compilePolicy({ variables: native, conjunction: [requires] }))
  const rules = new RuleStore(addon, () => native, { manifest: parsed.permissions })
  checkAgentMeaning(addon, parsed.agents ?? [], native, directoryOrPath)
  const [expanded = {}] = policy.expanded() as RequirementSet[]
  return { name: parsed.name, workspace: [...native.workspace], requires: expanded, permissions: rules.rules('manifest') }
}

/** A call, as permission rules see it. */
export interface EvaluatedCall extends Partial<RequirementVariables> {
  /** The tool's id. */
  tool: string
}

/**
 * Evaluates rules for a call without a session: the strictest verdict on its subjects, or `ask` if no rule matches. Paths
 * are absolute, or compared as they are without a workspace.
 *
 * @throws {ToolError} CONTRACT_RULE_INVALID, INVALID_INPUT, NATIVE_UNAVAILABLE.
 */
export async function evaluatePermission(
  rules: readonly Rule[],
  subjects: readonly Subject[],
  call: EvaluatedCall,
): Promise<PermissionVerdict> {
  const { tool, ...variables } = parseOptions('evaluatePermission', call, { tool: text, ...variableChecks } satisfies Checks<EvaluatedCall>)
  const { scopes, own } = checked('evaluatePermission', () => ({ scopes: scopesOf(rules), own: listOf(subject)(subjects, 'subjects') }))
  return new RuleStore(await loadContractAddon(), () => variables as ContractVariables, scopes).now().evaluate(tool, own)
}

const sources = oneOf('manifest', 'session', 'project')

function scopesOf(rules: unknown): Record<RuleSource, StoredRule[]> {
  const sorted = listOf((rule, name) => {
    return storedRule(rule, optional(sources, 'session')((rule as Partial<Rule> | null)?.source, `${name}.source`), name)
  }, 'an array of rules')(rules, 'rules')
  const of = (scope: RuleSource): StoredRule[] => sorted.filter(({ source }) => source === scope)
  return { manifest: of('manifest'), session: of('session'), project: of('project') }
}

const subject: Check<Subject> = group({
  capability: text,
  kind: anything<Subject['kind']>(),
  resource: string,
  shell: optional(must<'bash'>((shell) => shell === 'bash', "'bash', or left out for a shell that is not known")),
  implicit: optional(boolean),
  exempt: optional(listOf(string)),
  below: optional(boolean),
  isSecret: optional(boolean),
} satisfies Checks<Subject>) as Check<Subject>

const variableChecks = { workspace: optional(paths, []), adHoc: optional(paths, []), userData: optional(path) }

/**
 * Checks the definitions of agents, so that their author learns of a mistake now, and not the model that calls the agent
 * later.
 *
 * @throws {ToolError} INVALID_INPUT for an unknown tool; CONTRACT_MANIFEST_INVALID and CONTRACT_RULE_INVALID with the place.
 */
export function checkAgentMeaning(
  addon: ContractAddon,
  agents: readonly AgentDefinition[],
  variables: ContractVariables,
  directory: typeof realDirectory,
  tools?: readonly ContractTool[],
): void {
  for (const [index, { name, tools: toolIds = [], workspace, requires = {}, ceiling = {}, permissions }] of agents.entries()) {
    const unknown = toolIds.find((id) => tools?.some((tool) => tool.id === id) === false)
    if (unknown !== undefined) throw invalid(`manifest.agents: ${name} names the tool ${unknown}, which the session does not have.`)
    const at = `manifest.agents[${index}]`
    const all = withDeclaredRoots({ source: `${at}.workspace`, declared: workspace, roots: variables.workspace, within: [] }, directory)
    const own = { ...variables, workspace: all }
    const sets = [
      { source: `${at}.requires`, requires },
      { source: `${at}.ceiling`, requires: ceiling },
    ]
    unwrap(addon.compilePolicy({ variables: own, conjunction: [sets] }))
    if (permissions !== undefined) new RuleStore(addon, () => own, { manifest: permissions }, `${at}.permissions`).now()
  }
}

/**
 * Warnings about rules with an unknown permission: a misspelt `deny` closes nothing. Tools of servers come later, so names
 * that may be theirs are accepted.
 */
export function unknownPermissions(
  lists: Readonly<Record<string, readonly Rule[] | undefined>>,
  { tools, manifest, ceiling }: { tools: readonly ContractTool[]; manifest: AgentManifest; ceiling: RequirementSet | undefined },
): string[] {
  const { agents = [], mcpServers = {}, requires } = manifest
  const servers = Object.keys(mcpServers)
  const sets = [requires, ceiling, ...tools.map((tool) => tool.requires), ...agents.flatMap((agent) => [agent.requires, agent.ceiling])]
  const named = sets.flatMap((set) => set?.capabilities ?? [])
  const valid = new Set(['*', ...lockedToolIds, ...tools.map(({ id }) => id), ...capabilityNames, ...named, ...servers.map(mcpCapability)])
  const beginnings = servers.map((server) => `${server.replace(/[^A-Za-z0-9_]/gu, '_')}_`)
  const all = {
    ...lists,
    ...Object.fromEntries(agents.map(({ permissions }, index) => [`manifest.agents[${index}].permissions`, permissions])),
  }
  return Object.entries(all).flatMap(([list, rules = []]) =>
    rules.flatMap(({ permission }, index) => {
      if (valid.has(permission) || beginnings.some((start) => permission.startsWith(start))) return []
      const near = nearestName(permission, valid)
      const hint = near === undefined ? '' : ` Did you mean ${near}?`
      return [
        `${list}[${index}] is a rule about nothing: no tool and no capability is called ${JSON.stringify(permission.slice(0, 100))}.${hint}`,
      ]
    }),
  )
}
