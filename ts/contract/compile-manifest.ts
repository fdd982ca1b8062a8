import { loadContractAddon, SessionPolicy } from './native-policy.js'
import { type AgentManifest, checkManifest } from './manifest.js'
import { type PermissionVerdict, RuleStore, type Subject } from './permissions/rule-store.js'
import { type Rule, type StoredRule } from './permissions/rule.js'
import type { RequirementSet, RequirementVariables } from './requirements.js'

/** A manifest whose patterns and rules are known to mean something. */
export interface CompiledManifest {
  name: string
  /** What it requires, with its variables expanded. */
  requires: RequirementSet
  /** Its rules. */
  permissions: readonly StoredRule[]
}

/**
 * Looks whether a manifest means something, without a session.
 *
 * @throws {ToolError} CONTRACT_MANIFEST_INVALID for an unknown variable or a pattern that is none, with its
 * place; CONTRACT_RULE_INVALID; INVALID_INPUT; NATIVE_UNAVAILABLE.
 */
export async function compileManifest(manifest: AgentManifest, variables: RequirementVariables): Promise<CompiledManifest> {
  checkManifest(manifest)
  const addon = await loadContractAddon()
  const native = nativeVariables(variables)
  const requires = [{ source: 'manifest.requires', requires: manifest.requires ?? {} }]
  const policy = new SessionPolicy(addon, { variables: native, conjunction: [requires] })
  const rules = new RuleStore(addon, native, { manifest: manifest.permissions })
  const [expanded = {}] = policy.expanded()
  return { name: manifest.name, requires: expanded, permissions: rules.rules('manifest') }
}

/** A call, as far as permission rules look at it. */
export interface EvaluatedCall extends Partial<RequirementVariables> {
  /** The tool's id. */
  tool: string
}

/**
 * What rules say of a call, without a session: the strictest of what they say of its subjects; `ask` where
 * none matches. Paths are absolute, or compared as they are where there is no workspace.
 *
 * @throws {ToolError} CONTRACT_RULE_INVALID, INVALID_INPUT, NATIVE_UNAVAILABLE.
 */
export async function evaluatePermission(
  rules: readonly Rule[],
  subjects: readonly Subject[],
  { tool, ...variables }: EvaluatedCall,
): Promise<PermissionVerdict> {
  const from = (source: Rule['source']): Rule[] => rules.filter((rule) => (rule.source ?? 'session') === source)
  const scopes = { manifest: from('manifest'), session: from('session'), project: from('project') }
  return new RuleStore(await loadContractAddon(), nativeVariables(variables), scopes).evaluate(tool, [...subjects])
}

function nativeVariables({ workspace = [], adHoc = [], userData }: Partial<RequirementVariables>) {
  return { workspace: [...workspace], adHoc: [...adHoc], ...(userData === undefined ? {} : { userData }) }
}
