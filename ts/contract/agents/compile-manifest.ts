import { isAbsolute } from 'node:path'
import { checked, checkNames, checkText, givenOptions, invalid, isNames } from '../../core/options.js'
import { type ContractAddon, loadContractAddon, SessionPolicy } from '../permissions/session-policy.js'
import { type AgentDefinition, type AgentManifest, checkManifest } from './manifest.js'
import { type PermissionVerdict, RuleStore, type Subject } from '../permissions/rule-store.js'
import { type Rule, type RuleSource, type StoredRule, storedRule } from '../permissions/rule.js'
import type { RequirementSet, RequirementVariables } from '../registry/requirements.js'
import { directoryOrPath, type realDirectory, withDeclaredRoots } from '../permissions/workspace-roots.js'
import type { ContractTool } from '../registry/contract-tool.js'
import { unwrap } from '../../core/native.js'
import { nearestName } from '../../core/text.js'
import { lockedToolIds } from '../registry/tool-ids.js'
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
  const native = checked('compileManifest', () => {
    checkManifest(manifest)
    const { manifestRoots = [], ...given } = givenOptions('compileManifest', variables, [...variableNames, 'manifestRoots'])
    if (!isNames(manifestRoots)) throw invalid('manifestRoots must be an array of paths.')
    const own = nativeVariables('variables', given)
    const real = (paths: readonly string[]): string[] => paths.map((path) => (isAbsolute(path) ? directoryOrPath('', path) : path))
    const roots = { source: 'manifest.workspace', declared: manifest.workspace, roots: real(own.workspace), within: real(manifestRoots) }
    return { ...own, workspace: withDeclaredRoots(roots, directoryOrPath) }
  })
  const addon = await loadContractAddon()
  const requires = [{ source: 'manifest.requires', requires: manifest.requires ?? {} }]
  const policy = new SessionPolicy(addon, { variables: native, conjunction: [requires] })
  const rules = new RuleStore(addon, native, { manifest: manifest.permissions })
  const { workspace: roots, adHoc, userData } = native
  checkAgentMeaning(addon, { agents: manifest.agents ?? [], roots, adHoc, userData }, directoryOrPath)
  const [expanded = {}] = policy.expanded()
  return { name: manifest.name, workspace: [...roots], requires: expanded, permissions: rules.rules('manifest') }
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
  const { tool, ...variables } = givenOptions('evaluatePermission', call, ['tool', ...variableNames])
  const { native, scopes, own } = checked('evaluatePermission', () => {
    checkText('tool', tool)
    if (!Array.isArray(subjects)) throw invalid('subjects must be an array.')
    return { native: nativeVariables('The call', variables), scopes: scopesOf(rules), own: subjects.map(ownSubject) }
  })
  return new RuleStore(await loadContractAddon(), native, scopes).evaluate(tool, own)
}

const sources: readonly unknown[] = ['manifest', 'session', 'project']

/** Sorts rules by scope. */
function scopesOf(rules: unknown): Record<RuleSource, StoredRule[]> {
  if (!Array.isArray(rules)) throw invalid('rules must be an array of rules.')
  const scopes: Record<RuleSource, StoredRule[]> = { manifest: [], session: [], project: [] }
  for (const [index, rule] of (rules as Partial<Rule>[]).entries()) {
    const source = rule?.source ?? 'session'
    if (!sources.includes(source)) throw invalid(`rules[${index}].source must be one of ${sources.join(', ')}.`)
    scopes[source].push(storedRule(rule, source, `rules[${index}]`))
  }
  return scopes
}

function ownSubject(subject: unknown, index: number): Subject {
  if (typeof subject !== 'object' || subject === null) throw invalid(`subjects[${index}] must be an object.`)
  const own = { ...subject } as Subject
  checkText(`subjects[${index}].capability`, own.capability)
  if (typeof own.resource !== 'string') throw invalid(`subjects[${index}].resource must be a string.`)
  if (own.shell !== undefined && own.shell !== 'bash')
    throw invalid(`subjects[${index}].shell must be 'bash', or left out for a shell that is not known.`)
  return own
}

const variableNames = ['workspace', 'adHoc', 'userData']

function nativeVariables(where: string, variables: Partial<RequirementVariables>) {
  checkNames(`${where}.`, variables, variableNames)
  const { workspace = [], adHoc = [], userData } = variables
  if (!isNames(workspace) || !isNames(adHoc)) throw invalid('workspace and adHoc must be arrays of paths.')
  if (userData !== undefined && !isNames([userData])) throw invalid('userData must be a path.')
  return { workspace: [...workspace], adHoc: [...adHoc], ...(userData === undefined ? {} : { userData }) }
}

/** What definitions of agents are checked against. */
export interface AgentSurroundings {
  agents: readonly AgentDefinition[]
  /** The known tools; `undefined` without a session. */
  tools?: readonly ContractTool[] | undefined
  roots: readonly string[]
  adHoc: readonly string[]
  userData?: string | undefined
}

/**
 * Checks the definitions of agents, so that their author learns of a mistake now, and not the model that calls the agent
 * later.
 *
 * @throws {ToolError} INVALID_INPUT for an unknown tool; CONTRACT_MANIFEST_INVALID and CONTRACT_RULE_INVALID with the place.
 */
export function checkAgentMeaning(
  addon: ContractAddon,
  { agents, tools, roots, adHoc, userData }: AgentSurroundings,
  directory: typeof realDirectory,
): void {
  for (const [index, { name, tools: toolIds = [], workspace, requires = {}, ceiling = {}, permissions }] of agents.entries()) {
    const unknown = toolIds.find((id) => tools?.some((tool) => tool.id === id) === false)
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
