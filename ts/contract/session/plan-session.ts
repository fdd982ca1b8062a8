import type { ResultForm } from '../registry/model-tools.js'
import { checked } from '../../core/options.js'
import { checkAgentMeaning, unknownPermissions } from '../agents/compile-manifest.js'
import { SessionCheckpoints } from '../call/session-checkpoints.js'
import { SessionDocuments } from '../call/session-documents.js'
import { SessionFormatters } from '../call/session-formatters.js'
import { SessionServers } from '../call/session-servers.js'
import type { MakeCheck } from '../call/argument-checks/argument-checks.js'
import type { RegisteredTool } from '../call/run-call.js'
import type { Host, Scope } from '../call/scope.js'
import { SessionDirectory } from '../call/session-directory.js'
import { SessionProcesses } from '../call/session-processes.js'
import { findShell } from '../call/shell.js'
import { SeenFiles } from '../../journal/seen-files.js'
import { SESSION_NODE } from '../journal/session-recorder.js'
import { McpServers } from '../mcp/mcp-servers.js'
import { type ContractAddon, loadContractAddon, variablesOf } from '../permissions/session-capabilities.js'
import { realDirectory } from '../permissions/workspace-roots.js'
import type { ContractTool } from '../registry/contract-tool.js'
import type { RequirementSet, SessionRequirements } from '../registry/requirements.js'
import { ToolCatalog } from '../registry/tool-catalog.js'
import { SkillIndex } from '../skills/skill-index.js'
import { chooseProvider } from '../web/search-provider.js'
import { callCounters } from '../web/session-web.js'
import { AgentTeam, type OpenChild } from './agent-team.js'
import type { Lineage, ParentSession } from './lineage.js'
import { planAccess, planDirectories, requirementsOf } from './plan-access.js'
import { recordProcesses } from './process-records.js'
import { describeTools, makeRegistry, planTools } from './plan-tools.js'
import { Scratch } from './scratch.js'
import type { Fork } from '../../fork/fork.js'
import { forkOfOptions, forkRecord } from './session-fork.js'
import type { ParsedOptions } from './session-options.js'
import { TaskForks } from './task-forks.js'

export interface SessionPlan {
  self: ParentSession
  /** The fork that the session has made for itself, and closes. */
  ownFork: Fork | undefined
  /** Whether the language servers and the like of its host end with it. */
  ownsHelpers: boolean
  directory: SessionDirectory
  scratch: Scratch
  mcp: McpServers
  processes: SessionProcesses
  team: AgentTeam
  /** How a model reads results. */
  results: ResultForm
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
export async function planSession(id: string, options: ParsedOptions, openChild: OpenChild, lineage?: Lineage): Promise<SessionPlan> {
  const planned = await forkOfOptions(id, options)
  try {
    return await planWith(planned, id, options, openChild, lineage)
  } catch (error) {
    if (planned?.isOwn === true) await planned.fork.discard()
    throw error
  }
}

async function planWith(
  planned: Awaited<ReturnType<typeof forkOfOptions>>,
  id: string,
  options: ParsedOptions,
  openChild: OpenChild,
  lineage: Lineage | undefined,
): Promise<SessionPlan> {
  const { manifest, host, limits } = options
  const directories = planDirectories(options, lineage)
  const fork = planned?.fork
  const parent = lineage?.parent
  // A subagent keeps the provider of its caller, whose access covers that provider's host alone.
  const provider = parent === undefined ? chooseProvider(id, host.webSearch) : parent.web.provider
  const addon = await loadContractAddon()
  // Subagents share those of their parent, unless they have a fork of their own.
  const helpers = (fork === undefined ? parent?.host : undefined) ?? helpersOf({ addon, roots: directories.roots, fork }, options)
  const { tools, isChosen } = planTools(options, provider, lineage, helpers.languageServers)
  if (parent === undefined) {
    checkAgentMeaning(addon, manifest.agents ?? [], variablesOf(directories), realDirectory, tools)
  }
  const { roots } = directories
  const skills =
    parent?.skills ?? (await SkillIndex.find({ ...options.skills, roots, sources: manifest.skills, userData: options.userData }))
  const directory = new SessionDirectory(addon)
  try {
    const scratch = new Scratch(directory, fork ?? parent?.access.fork)
    const access = planAccess(addon, directories, { tools, directory, scratch: scratch.path, fork }, options, lineage)
    const { policy } = access.capabilities
    const writable = [...roots, ...directories.adHoc.directories, ...policy.processGrants().writable]
    const shell = parent?.host.shell ?? checked('createSession', () => findShell(options.shell, writable))
    const place = lineage?.place ?? { runId: id, nodeId: SESSION_NODE, base: SESSION_NODE }
    const self: ParentSession = {
      host: planHost(id, options, shell, place, lineage !== undefined, helpers),
      access,
      web: { ...(parent?.web ?? callCounters(limits)), provider, effective: policy.expanded() as RequirementSet[] },
      skills,
      depth: parent === undefined ? 0 : parent.depth + 1,
      tree: parent?.tree ?? { running: 0, processes: { count: 0 }, forks: new TaskForks(forkRecord(id, options)) },
      place,
    }
    const described = describeTools(tools, shell.name, limits.bashBytes)
    const { registry, makeCheck } = await makeRegistry(described)
    const team = new AgentTeam(self, { spawn: host.spawn, model: options.model }, openChild)
    return {
      self,
      ownFork: planned?.isOwn === true ? fork : undefined,
      ownsHelpers: helpers !== parent?.host,
      directory,
      scratch,
      mcp: new McpServers(manifest.mcpServers ?? {}, options.enabledMcpServers, {
        addon,
        roots,
        sandbox: options.sandbox,
        fork: access.fork,
      }),
      processes: new SessionProcesses(limits, self.tree.processes, recordProcesses(team.background)),
      team,
      results: options.results,
      catalog: new ToolCatalog(described, options.toolSearch),
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

/** What runs beside the calls of a session, in sandboxes of its own. */
type Helpers = Pick<Host, 'languageServers' | 'documents' | 'formatters'>

function helpersOf(
  where: { addon: ContractAddon; roots: readonly string[]; fork: Fork | undefined },
  { languageServers, documents, formatOnEdit, limits, sandbox }: ParsedOptions,
): Helpers {
  const place = { ...where, sandbox }
  return {
    languageServers: languageServers && new SessionServers(languageServers, place),
    documents: documents ? new SessionDocuments(limits.imageBytes, place) : undefined,
    formatters: formatOnEdit === 'project' ? new SessionFormatters(place) : undefined,
  }
}

function planHost(
  sessionId: string,
  options: ParsedOptions,
  shell: Host['shell'],
  { runId, nodeId }: ParentSession['place'],
  isChild: boolean,
  { languageServers, documents, formatters }: Helpers,
): Host {
  const { manifest, limits, sandbox, mask, onTimeout, watchdog, before, after, onRule, host, headless } = options
  const checkpoints = options.checkpoints && new SessionCheckpoints(options.checkpoints)
  const { journal, unseenChanges } = options
  // A session without a given id is new.
  const isContinued = journal !== undefined && (isChild || options.id !== undefined)
  const seen =
    unseenChanges === 'allow'
      ? undefined
      : new SeenFiles({
          unseenChanges,
          hasCheckpoints: checkpoints !== undefined,
          textBytes: limits.outputBytes,
          recorded: isContinued ? { journal, task: { runId, nodeId, iteration: 0 } } : undefined,
        })
  const { prompt, question, lookup, fetch } = host
  const isHeadless = headless === true || prompt === undefined
  return {
    sessionId,
    manifest,
    limits,
    sandbox,
    mask,
    shell,
    onTimeout,
    checkpoints,
    languageServers,
    documents,
    formatters,
    seen,
    watchdog,
    before,
    after,
    onRule,
    prompt,
    question,
    lookup,
    fetch,
    headless: isHeadless,
  }
}

/** Options that an author or a host probably meant otherwise. They hold all the same. */
function warningsOf({ manifest, permissions, ceiling, headless, host }: ParsedOptions, tools: readonly ContractTool[]): string[] {
  const { session, project } = permissions
  const lists = { 'manifest.permissions': manifest.permissions, 'permissions.session': session, 'permissions.project': project }
  const isUnattended = headless === false && host.prompt === undefined
  const noPrompt = 'headless: false says that there is a user, but host.prompt is missing: what a user would be asked for is refused.'
  return [...(isUnattended ? [noPrompt] : []), ...unknownPermissions(lists, { tools, manifest, ceiling })]
}

export function planScope(
  { self, directory, scratch, mcp, processes, team }: SessionPlan,
  approvals: Scope['approvals'],
  searchTools: Scope['searchTools'],
): Scope {
  const { host, access, web, skills } = self
  return {
    host,
    access,
    approvals,
    directory,
    scratch: scratch.path,
    web,
    skills,
    mcp,
    processes,
    todos: { current: [] },
    searchTools,
    runTask: (task, call) => team.run(task, call),
  }
}
