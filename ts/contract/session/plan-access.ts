import { resolve } from 'node:path'
import type { ContractPolicyRequest } from '../../../index.js'
import type { SessionDirectory } from '../call/session-directory.js'
import { mcpCapability } from '../mcp/mcp-tools.js'
import { AdHocFiles } from '../permissions/ad-hoc-files.js'
import { Slots } from '../../core/abort.js'
import { ruleLists } from '../permissions/rule.js'
import { delegatedRules, type PermissionRules, RuleStore } from '../permissions/rule-store.js'
import { type CapabilitySource, SessionCapabilities } from '../permissions/session-capabilities.js'
import type { ContractAddon, SessionPolicy } from '../permissions/session-policy.js'
import { realDirectory, withDeclaredRoots } from '../permissions/workspace-roots.js'
import type { Access } from '../call/scope.js'
import type { ContractTool } from '../registry/contract-tool.js'
import { type RequirementSet, type SessionRequirements, uniteRequirements } from '../registry/requirements.js'
import type { Lineage } from './lineage.js'
import type { SessionOptions } from './session-options.js'

/** The directories that a session works in, without links in their paths. */
export interface SessionPlaces {
  roots: readonly string[]
  adHoc: AdHocFiles
  userData: string | undefined
}

/** Resolves the directories of the options; a subagent has those of its parent, and the roots that its definition declares in them. */
export function planPlaces(options: SessionOptions, lineage: Lineage | undefined): SessionPlaces {
  const userData = options.userData === undefined ? undefined : realDirectory('userData', options.userData)
  const roots = lineage === undefined ? hostRoots(options) : childRoots(lineage)
  if (lineage !== undefined) return { roots, adHoc: new AdHocFiles([], lineage.parent.access.adHoc), userData }
  return { roots, adHoc: new AdHocFiles((options.adHoc ?? []).map((path) => realDirectory('adHoc', path))), userData }
}

function hostRoots({ workspace, manifest, manifestRoots = [] }: SessionOptions): string[] {
  const roots = (typeof workspace === 'string' ? [workspace] : workspace).map((path) => realDirectory('workspace', path))
  const within = manifestRoots.map((path) => realDirectory('manifestRoots', path))
  return withDeclaredRoots({ source: 'manifest.workspace', declared: manifest.workspace, roots, within }, realDirectory)
}

function childRoots({ agent, parent }: Lineage): string[] {
  const source = `workspace of the agent ${agent.name}`
  return withDeclaredRoots({ source, declared: agent.workspace, roots: parent.access.roots, within: [] }, realDirectory)
}

/** What access is compiled from. */
export interface AccessSource {
  addon: ContractAddon
  places: SessionPlaces
  tools: readonly ContractTool[]
  directory: SessionDirectory
  /** The path of the scratch directory. */
  scratch: string
}

/** Compiles capabilities and rules. */
export function planAccess({ addon, places, tools, directory, scratch }: AccessSource, options: SessionOptions, lineage?: Lineage): Access {
  const { roots, adHoc, userData } = places
  const parent = lineage?.parent.access
  const request = policyRequest({ base: directory.base, path: directory.path, scratch }, tools, options)
  const capabilities = new SessionCapabilities({ addon, roots, adHoc, userData, parent: parent?.capabilities, request })
  return {
    roots,
    adHoc,
    tools: new Set(tools.map(({ id }) => id)),
    capabilities,
    rules: planRules(addon, capabilities, options, lineage),
    // One user answers for all sessions of a tree, one prompt after the other.
    prompts: parent?.prompts ?? new Slots(1),
  }
}

function planRules(addon: ContractAddon, capabilities: SessionCapabilities, options: SessionOptions, lineage?: Lineage): PermissionRules {
  const variables = () => capabilities.variables
  if (lineage === undefined) {
    const { manifest, permissions = [] } = options
    return new RuleStore(addon, variables, { manifest: manifest.permissions, ...ruleLists(permissions) })
  }
  const { agent, parent } = lineage
  const own = agent.permissions === undefined ? delegatedRules(parent.access.rules) : { manifest: agent.permissions }
  return new RuleStore(addon, variables, own, `permissions of the agent ${agent.name}`, parent.access.rules)
}

function policyRequest(
  session: { base: string; path: string; scratch: string },
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
    granted: linkedNames(options),
    conjunction: [...bounds, declared],
    implicitRead: [session.path],
    implicitWrite: [session.scratch],
    // The directories of other sessions.
    closed: [session.base],
    ...(denyWrite === undefined ? {} : { denyWrite }),
  }
}

/** The names by which the host calls its directories, where those are links. */
function linkedNames({ workspace, adHoc = [], userData }: SessionOptions): NonNullable<ContractPolicyRequest['granted']> {
  const all = [...(typeof workspace === 'string' ? [workspace] : workspace), ...adHoc, ...(userData === undefined ? [] : [userData])]
  return all.map((path) => ({ path: realDirectory('workspace', path), given: resolve(path) })).filter(({ path, given }) => path !== given)
}

/** What the session was asked for, and what holds. */
export function requirementsOf(policy: SessionPolicy, tools: readonly ContractTool[], options: SessionOptions): SessionRequirements {
  const { ceiling, manifest } = options
  const declared = uniteRequirements([manifest.requires ?? {}, ...tools.map(({ requires }) => requires)])
  const effective: RequirementSet[] = policy.expanded().map((set) => uniteRequirements([set]))
  return Object.freeze(ceiling === undefined ? { declared, effective } : { declared, ceiling, effective })
}
