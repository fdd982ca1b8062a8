import { realpathSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { invalid } from '../option-checks.js'
import { loadArgumentChecks } from './argument-checks.js'
import { builtInTools } from './built-in-tools.js'
import { checkTool, type ContractTool, frozenTool, hasEffect, lockedId } from './contract-tool.js'
import { resolveLimits } from './limits.js'
import { isLockedToolId } from './locked-tools.js'
import { loadContractAddon, SessionPolicy } from './native-policy.js'
import type { NativePolicyRequest, NativeVariables } from './native-surface.js'
import { PromptQueue } from './permissions/prompt.js'
import { RuleStore } from './permissions/rule-store.js'
import { type RequirementSet, type SessionRequirements, unionOf } from './requirements.js'
import type { RegisteredTool } from './run-call.js'
import type { SessionCore } from './session-core.js'
import { SessionDirectory } from './session-directory.js'
import { checkSessionOptions, type SessionOptions } from './session-options.js'
import { webSearchTool } from './tools/web-search.js'
import { chooseProvider } from './web/search-provider.js'
import { SessionWeb } from './web/session-web.js'

/** A session that is about to be opened. */
interface SessionPlan {
  core: SessionCore
  registry: ReadonlyMap<string, RegisteredTool>
  requirements: SessionRequirements
}

/** From what the caller wrote to what calls need: roots resolved, tools registered, capabilities and rules compiled. */
export async function planSession(id: string, options: SessionOptions): Promise<SessionPlan> {
  checkSessionOptions(options)
  const { manifest, tools = [], permissions = {}, host = {}, ceiling, userData, sandbox = {} } = options
  const limits = resolveLimits(options.limits)
  const roots = (typeof options.workspace === 'string' ? [options.workspace] : options.workspace).map(realDirectory)
  const adHoc = (options.adHoc ?? []).map(realDirectory)
  const all = registerTools(tools)
  const provider = chooseProvider(id, host.webSearch)
  const search = all.findIndex((tool) => tool.id === 'web_search')
  // What it requires is the host of the session's own provider.
  if (search !== -1) all[search] = Object.freeze(webSearchTool(provider))
  const [addon, makeCheck] = await Promise.all([loadContractAddon(), loadArgumentChecks()])
  const variables: NativeVariables = { workspace: roots, adHoc, ...(userData === undefined ? {} : { userData: realDirectory(userData) }) }
  const directory = new SessionDirectory()
  try {
    const request = policyRequest(variables, directory, all, options)
    const policy = new SessionPolicy(addon, request)
    const core: SessionCore = {
      id,
      manifest: structuredClone(manifest),
      roots,
      policy,
      rules: new RuleStore(addon, variables, { manifest: manifest.permissions, ...permissions }, directory.base),
      onRule: options.onRule,
      watchdog: options.watchdog,
      host,
      headless: options.headless === true || host.prompt === undefined,
      limits,
      sandbox,
      directory,
      prompts: new PromptQueue(),
      web: new SessionWeb(limits, provider, policy.expanded()),
      todos: [],
    }
    const registry = new Map(
      all.map((tool) => [tool.id, { tool, check: makeCheck(tool.id, tool.parameters), effect: hasEffect(tool) }]),
    )
    return { core, registry, requirements: requirementsOf(policy, all, ceiling, manifest.requires) }
  } catch (error) {
    directory.remove()
    throw error
  }
}

/** The built-in tools and the given ones, each id once. */
function registerTools(given: readonly ContractTool[]): ContractTool[] {
  const byId = new Map(builtInTools.map((tool) => [tool.id, tool]))
  for (const tool of given) {
    checkTool(tool)
    if (isLockedToolId(tool.id)) throw lockedId(tool.id)
    if (byId.has(tool.id)) throw invalid(`Two tools have the id ${tool.id}. Rename one of them.`)
    byId.set(tool.id, frozenTool(tool))
  }
  return [...byId.values()]
}

function policyRequest(
  variables: NativeVariables,
  directory: SessionDirectory,
  tools: readonly ContractTool[],
  { manifest, ceiling, sandbox }: SessionOptions,
): NativePolicyRequest {
  const declared = [
    { source: 'manifest.requires', requires: manifest.requires ?? {} },
    ...tools.map(({ id, requires }) => ({ source: `tool ${id}`, requires })),
  ]
  const bounds = ceiling === undefined ? [] : [[{ source: 'ceiling', requires: ceiling }]]
  const denyWrite = sandbox?.denyWrite
  return {
    variables,
    conjunction: [...bounds, declared],
    implicitRead: [directory.path],
    ...(denyWrite === undefined ? {} : { denyWrite }),
  }
}

function requirementsOf(
  policy: SessionPolicy,
  tools: readonly ContractTool[],
  ceiling: RequirementSet | undefined,
  manifest: RequirementSet = {},
): SessionRequirements {
  const declared = unionOf([manifest, ...tools.map(({ requires }) => requires)])
  const effective = policy.expanded().map((set) => unionOf([set]))
  return Object.freeze(ceiling === undefined ? { declared, effective } : { declared, ceiling, effective })
}

/** A directory without links in its path, so that what is opened below it can be compared with it. */
function realDirectory(path: string): string {
  let real: string
  try {
    real = realpathSync(resolve(path))
  } catch (cause) {
    throw invalid(`There is no directory ${path}.`, { path, cause: String(cause) })
  }
  if (!statSync(real).isDirectory()) throw invalid(`${path} is no directory.`, { path })
  return real
}
