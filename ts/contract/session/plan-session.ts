import { checked } from '../../core/options.js'
import { checkAgentMeaning, unknownPermissions } from '../agents/compile-manifest.js'
import type { MakeCheck } from '../call/argument-checks/argument-checks.js'
import type { RegisteredTool } from '../call/run-call.js'
import type { Host, Scope } from '../call/scope.js'
import { SessionDirectory } from '../call/session-directory.js'
import { findShell } from '../call/shell.js'
import { SESSION_NODE } from '../journal/session-recorder.js'
import { McpServers } from '../mcp/mcp-servers.js'
import { ruleLists } from '../permissions/rule.js'
import { loadContractAddon } from '../permissions/session-policy.js'
import { realDirectory } from '../permissions/workspace-roots.js'
import type { ContractTool } from '../registry/contract-tool.js'
import { resolveLimits } from '../registry/limits.js'
import type { SessionRequirements } from '../registry/requirements.js'
import { resolveToolSearch, ToolCatalog } from '../registry/tool-catalog.js'
import { SkillIndex } from '../skills/skill-index.js'
import { chooseProvider } from '../web/search-provider.js'
import { SessionWeb } from '../web/session-web.js'
import { AgentTeam, type OpenChild } from './agent-team.js'
import type { Lineage, ParentSession } from './lineage.js'
import { planAccess, planPlaces, requirementsOf } from './plan-access.js'
import { describeTools, makeRegistry, planTools } from './plan-tools.js'
import { Scratch } from './scratch.js'
import type { SessionOptions } from './session-options.js'

/** Everything that a session is made of. */
export interface SessionPlan {
  self: ParentSession
  directory: SessionDirectory
  scratch: Scratch
  mcp: McpServers
  team: AgentTeam
  catalog: ToolCatalog
  isChosen: (id: string) => boolean
  registry: ReadonlyMap<string, RegisteredTool>
  makeCheck: MakeCheck
  requirements: SessionRequirements
  /** Options that cannot mean what they say. */
  warnings: readonly string[]
}

/**
 * Resolves the options of a session: first its directories and tools, then what it may do, then what its host provides,
 * and last its team, which needs all of these.
 */
export async function planSession(id: string, options: SessionOptions, openChild: OpenChild, lineage?: Lineage): Promise<SessionPlan> {
  const { manifest, host = {} } = options
  const limits = resolveLimits(options.limits)
  const places = planPlaces(options, lineage)
  const parent = lineage?.parent
  // A subagent keeps the provider of its caller, whose access covers that provider's host alone.
  const provider = parent === undefined ? chooseProvider(id, host.webSearch) : parent.web.provider
  const { tools, isChosen } = planTools(options, provider, lineage)
  const addon = await loadContractAddon()
  if (parent === undefined) {
    const { roots, adHoc, userData } = places
    checkAgentMeaning(addon, { agents: manifest.agents ?? [], tools, roots, adHoc: adHoc.directories, userData }, realDirectory)
  }
  const { roots } = places
  const skills =
    parent?.skills ?? (await SkillIndex.find({ ...options.skills, roots, sources: manifest.skills, userData: options.userData }))
  const directory = new SessionDirectory(addon)
  try {
    const scratch = new Scratch(directory)
    const access = planAccess({ addon, places, tools, directory, scratch: scratch.path }, options, lineage)
    const { policy } = access.capabilities
    const writable = [...roots, ...places.adHoc.directories, ...policy.grants.writable]
    const shell = parent?.host.shell ?? checked('createSession', () => findShell(options.shell, writable))
    const self: ParentSession = {
      host: planHost(id, options, { limits, shell }),
      access,
      web: new SessionWeb({ limits, provider, effective: policy.expanded(), parent: parent?.web }),
      skills,
      depth: parent === undefined ? 0 : parent.depth + 1,
      tree: parent?.tree ?? { running: 0 },
      place: lineage?.place ?? { runId: id, nodeId: SESSION_NODE, base: SESSION_NODE },
    }
    const described = describeTools(tools, shell.name, limits.bashBytes)
    const { registry, makeCheck } = await makeRegistry(described)
    return {
      self,
      directory,
      scratch,
      mcp: new McpServers(manifest.mcpServers ?? {}, options.enabledMcpServers ?? []),
      team: new AgentTeam(self, { spawn: host.spawn, model: options.model }, openChild),
      catalog: new ToolCatalog(described, resolveToolSearch(options.toolSearch ?? {})),
      isChosen,
      registry,
      makeCheck,
      requirements: requirementsOf(policy, described, options),
      warnings: parent === undefined ? warningsOf(options, tools) : [],
    }
  } catch (error) {
    await directory.remove()
    throw error
  }
}

/** What the host provides. The session keeps copies, which later changes of the options do not reach. */
function planHost(sessionId: string, options: SessionOptions, resolved: Pick<Host, 'limits' | 'shell'>): Host {
  const { host = {}, watchdog, onRule } = options
  const bound = <NAME extends 'prompt' | 'question' | 'lookup' | 'fetch'>(name: NAME): Host[NAME] => host[name]?.bind(host) as Host[NAME]
  return {
    ...resolved,
    sessionId,
    manifest: checked('createSession', () => copyManifest(options.manifest)),
    headless: options.headless === true || host.prompt === undefined,
    sandbox: checked('createSession', () => structuredClone(options.sandbox ?? {})),
    watchdog,
    onRule,
    prompt: bound('prompt'),
    question: bound('question'),
    lookup: bound('lookup'),
    fetch: bound('fetch'),
  }
}

/** A copy of a manifest. Models of agents are live objects, and are not copied. */
function copyManifest({ agents, ...plain }: SessionOptions['manifest']): SessionOptions['manifest'] {
  const copy = structuredClone(plain)
  if (agents === undefined) return copy
  return {
    ...copy,
    agents: agents.map(({ model, ...agent }) => ({ ...structuredClone(agent), ...(model === undefined ? {} : { model }) })),
  }
}

/** Options that an author or a host probably meant otherwise. They hold all the same. */
function warningsOf({ manifest, permissions, ceiling, headless, host }: SessionOptions, tools: readonly ContractTool[]): string[] {
  const { session, project } = ruleLists(permissions ?? [])
  const lists = { 'manifest.permissions': manifest.permissions, 'permissions.session': session, 'permissions.project': project }
  const isUnattended = headless === false && host?.prompt === undefined
  const noPrompt = 'headless: false says that there is a user, but host.prompt is missing: what a user would be asked for is refused.'
  return [...(isUnattended ? [noPrompt] : []), ...unknownPermissions(lists, { tools, manifest, ceiling })]
}

/** The parts of a scope that the plan has. */
export function planScope({ self, directory, scratch, mcp, team }: SessionPlan, searchTools: Scope['searchTools']): Scope {
  const { host, access, web, skills } = self
  return {
    host,
    access,
    directory,
    scratch: scratch.path,
    web,
    skills,
    mcp,
    todos: { current: [] },
    searchTools,
    runTask: (task, call) => team.run(task, call),
  }
}
