import type { ContractPolicyRequest } from '../../../index.js'
import { resolve } from 'node:path'
import { checked, invalid } from '../../core/options.js'
import { AdHocFiles } from '../permissions/ad-hoc-files.js'
import { AgentTeam, type OpenChild } from './agent-team.js'
import { checkAgentMeaning } from '../agents/compile-manifest.js'
import type { Lineage } from './lineage.js'
import { loadArgumentChecks, type MakeCheck } from '../call/argument-checks/argument-checks.js'
import { builtInTools } from '../tools/built-in-tools.js'
import { checkTool, type ContractTool, frozenTool, hasEffect, lockedId } from '../registry/contract-tool.js'
import { SESSION_NODE } from '../journal/session-recorder.js'
import { resolveLimits } from '../registry/limits.js'
import { isLockedToolId } from '../registry/tool-ids.js'
import { mcpCapability } from '../mcp/mcp-tools.js'
import { McpServers } from '../mcp/mcp-servers.js'
import { loadContractAddon, type SessionPolicy } from '../permissions/session-policy.js'
import { PromptQueue } from '../permissions/prompt.js'
import { ruleLists } from '../permissions/rule.js'
import { delegatedRules, RuleStore } from '../permissions/rule-store.js'
import { unknownPermissions } from '../agents/unknown-permissions.js'
import { type RequirementSet, type SessionRequirements, unionOf } from '../registry/requirements.js'
import type { RegisteredTool } from '../call/run-call.js'
import { type CapabilitySource, SessionCapabilities } from '../permissions/session-capabilities.js'
import type { SessionCore } from './session-core.js'
import { SessionDirectory } from '../call/session-directory.js'
import { Scratch } from './scratch.js'
import type { SessionOptions } from './session-options.js'
import { findShell } from '../call/shell.js'
import { SkillIndex } from '../skills/skill-index.js'
import { ownTools, toolChoice } from '../registry/tool-choice.js'
import { ToolCatalog, resolveToolSearch } from '../registry/tool-catalog.js'
import { bashDescription } from '../tools/bash.js'
import { webSearchTool } from '../tools/web-search.js'
import { chooseProvider } from '../web/search-provider.js'
import { SessionWeb } from '../web/session-web.js'
import { realDirectory, withDeclaredRoots } from '../permissions/workspace-roots.js'

/** A session that is about to be opened. */
interface SessionPlan {
  core: SessionCore
  registry: ReadonlyMap<string, RegisteredTool>
  requirements: SessionRequirements
  makeCheck: MakeCheck
}

/** From what the caller wrote to what calls need: roots resolved, tools registered, capabilities and rules compiled. */
export async function planSession(id: string, options: SessionOptions, openChild: OpenChild, lineage?: Lineage): Promise<SessionPlan> {
  const { manifest, permissions = [], host = {}, ceiling, userData } = options
  // What a host does to its options later is no part of the session.
  const sandbox = checked('createSession', () => structuredClone(options.sandbox ?? {}))
  const limits = resolveLimits(options.limits)
  const roots = rootsOf(options, lineage)
  const adHoc =
    lineage === undefined
      ? new AdHocFiles((options.adHoc ?? []).map((path) => realDirectory('adHoc', path)))
      : new AdHocFiles([], lineage.parent.adHoc)
  const registered = checked('createSession', () => registerTools(options))
  const all = toolsOf(lineage, registered.tools)
  // An agent keeps to the provider of its caller: another one's host its caller may not reach.
  const provider = lineage === undefined ? chooseProvider(id, host.webSearch) : lineage.parent.web.provider
  const search = all.findIndex((tool) => tool.id === 'web_search')
  // What it requires is the host of the session's own provider.
  if (search !== -1) all[search] = Object.freeze(webSearchTool(provider))
  const [addon, makeCheck] = await Promise.all([loadContractAddon(), loadArgumentChecks()])
  const place = userData === undefined ? undefined : realDirectory('userData', userData)
  if (lineage === undefined)
    checkAgentMeaning(addon, { agents: manifest.agents ?? [], tools: all, roots, adHoc: adHoc.directories, userData: place }, realDirectory)
  const skills = lineage?.parent.skills ?? (await SkillIndex.find({ ...options.skills, roots, sources: manifest.skills, userData }))
  const directory = new SessionDirectory(addon)
  try {
    const scratch = new Scratch(directory)
    const parent = lineage?.parent.capabilities
    const request = policyRequest({ directory, scratch }, all, options)
    const capabilities = new SessionCapabilities({ addon, roots, adHoc, userData: place, parent, request })
    const { policy } = capabilities
    const shell =
      lineage?.parent.shell ??
      checked('createSession', () => findShell(options.shell, [...roots, ...adHoc.directories, ...policy.grants.writable]))
    const bash = all.findIndex((tool) => tool.id === 'bash')
    if (bash !== -1)
      all[bash] = Object.freeze({ ...(all[bash] as ContractTool), description: bashDescription(shell.name, limits.bashBytes) })
    const variables = () => capabilities.variables
    const core: SessionCore = {
      id,
      manifest: checked('createSession', () => ownManifest(manifest)),
      roots,
      tools: new Set(all.map((tool) => tool.id)),
      isChosen: registered.isChosen,
      adHoc,
      capabilities,
      get policy() {
        return capabilities.policy
      },
      rules:
        lineage === undefined
          ? new RuleStore(addon, variables, { manifest: manifest.permissions, ...ruleLists(permissions) })
          : new RuleStore(addon, variables, rulesOfChild(lineage), `permissions of the agent ${lineage.agent.name}`, lineage.parent.rules),
      onRule: options.onRule,
      watchdog: options.watchdog,
      host,
      headless: options.headless === true || host.prompt === undefined,
      limits,
      sandbox,
      shell,
      directory,
      scratch,
      // One user answers for all of them, one prompt after the other.
      prompts: lineage?.parent.prompts ?? new PromptQueue(),
      web: new SessionWeb({ limits, provider, effective: policy.expanded(), parent: lineage?.parent.web }),
      warnings: lineage === undefined ? warningsOf(options, all) : [],
      todos: [],
      skills,
      catalog: new ToolCatalog(all, resolveToolSearch(options.toolSearch ?? {})),
      mcp: new McpServers(manifest.mcpServers ?? {}, options.enabledMcpServers ?? []),
      model: options.model,
      depth: lineage === undefined ? 0 : lineage.parent.depth + 1,
      tree: lineage?.parent.tree ?? { running: 0 },
      place: lineage?.place ?? { runId: id, nodeId: SESSION_NODE, base: SESSION_NODE },
      get team() {
        return team
      },
    }
    const team = new AgentTeam(core, openChild)
    const registry = new Map(
      all.map((tool) => {
        const builtIn = isLockedToolId(tool.id)
        return [tool.id, { tool, check: makeCheck(tool.id, tool.parameters, builtIn), effect: hasEffect(tool), builtIn }]
      }),
    )
    return { core, registry, requirements: requirementsOf(policy, all, ceiling, manifest.requires), makeCheck }
  } catch (error) {
    await directory.remove()
    throw error
  }
}

/** The built-in tools and the given ones, each id once, as far as the host wants them. */
function registerTools({ tools = [], manifest }: SessionOptions): { tools: ContractTool[]; isChosen: (id: string) => boolean } {
  const byId = new Map(builtInTools.map((tool) => [tool.id, tool]))
  for (const tool of ownTools(tools)) {
    checkTool(tool)
    if (isLockedToolId(tool.id)) throw lockedId(tool.id)
    if (byId.has(tool.id)) throw invalid(`Two tools have the id ${tool.id}. Rename one of them.`)
    byId.set(tool.id, frozenTool(tool))
  }
  const isChosen = toolChoice(tools, [...byId.keys()], Object.keys(manifest.mcpServers ?? {}))
  return { tools: [...byId.values()].filter(({ id }) => isChosen(id)), isChosen }
}

/** A child has the tools that its definition names, of those that its parent has. */
function toolsOf(lineage: Lineage | undefined, all: ContractTool[]): ContractTool[] {
  if (lineage === undefined) return all
  const { parent, agent } = lineage
  return all.filter(({ id }) => parent.tools.has(id) && (agent.tools?.includes(id) ?? true))
}

/** A copy; the models of agents are objects that live on. */
function ownManifest({ agents, ...plain }: SessionOptions['manifest']): SessionOptions['manifest'] {
  const own = structuredClone(plain)
  if (agents === undefined) return own
  return { ...own, agents: agents.map(({ model, ...agent }) => ({ ...structuredClone(agent), ...(model === undefined ? {} : { model }) })) }
}

/** What an author or a host will have meant otherwise, and what holds all the same. */
function warningsOf({ manifest, permissions, ceiling, headless, host }: SessionOptions, tools: readonly ContractTool[]): string[] {
  const { session, project } = ruleLists(permissions ?? [])
  const lists = { 'manifest.permissions': manifest.permissions, 'permissions.session': session, 'permissions.project': project }
  const alone = headless === false && host?.prompt === undefined
  const nobody = 'headless: false says that there is a user, but host.prompt is missing: what a user would be asked for is refused.'
  return [...(alone ? [nobody] : []), ...unknownPermissions(lists, { tools, manifest, ceiling })]
}

/** Its own rules; without them, its parent's. */
const rulesOfChild = ({ agent, parent }: Lineage): ConstructorParameters<typeof RuleStore>[2] =>
  agent.permissions === undefined ? delegatedRules(parent.rules) : { manifest: agent.permissions }

/** What the host gave, and what the manifest declares in it; a child has its parent's, and what its definition declares in those. */
function rootsOf({ workspace, manifest, manifestRoots = [] }: SessionOptions, lineage: Lineage | undefined): string[] {
  if (lineage !== undefined) {
    const { agent, parent } = lineage
    return withDeclaredRoots(
      { source: `workspace of the agent ${agent.name}`, declared: agent.workspace, roots: parent.roots, within: [] },
      realDirectory,
    )
  }
  const given = (typeof workspace === 'string' ? [workspace] : workspace).map((path) => realDirectory('workspace', path))
  const within = manifestRoots.map((path) => realDirectory('manifestRoots', path))
  return withDeclaredRoots({ source: 'manifest.workspace', declared: manifest.workspace, roots: given, within }, realDirectory)
}

function policyRequest(
  { directory, scratch }: Pick<SessionCore, 'directory' | 'scratch'>,
  tools: readonly ContractTool[],
  options: SessionOptions,
): CapabilitySource['request'] {
  const { manifest, ceiling, sandbox, enabledMcpServers = [] } = options
  const declared = [
    { source: 'manifest.requires', requires: manifest.requires ?? {} },
    ...tools.map(({ id, requires }) => ({ source: `tool ${id}`, requires })),
    { source: 'enabledMcpServers', requires: { capabilities: enabledMcpServers.map(mcpCapability) } },
  ]
  const bounds = ceiling === undefined ? [] : [[{ source: 'ceiling', requires: ceiling }]]
  const denyWrite = sandbox?.denyWrite
  return {
    granted: namesOf(options),
    conjunction: [...bounds, declared],
    implicitRead: [directory.path],
    implicitWrite: [scratch.path],
    // What other sessions keep.
    closed: [directory.base],
    ...(denyWrite === undefined ? {} : { denyWrite }),
  }
}

/** How the host calls its directories, where it does so by a link. */
function namesOf({ workspace, adHoc = [], userData }: SessionOptions): NonNullable<ContractPolicyRequest['granted']> {
  const all = [...(typeof workspace === 'string' ? [workspace] : workspace), ...adHoc, ...(userData === undefined ? [] : [userData])]
  return all.map((path) => ({ path: realDirectory('workspace', path), given: resolve(path) })).filter(({ path, given }) => path !== given)
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
