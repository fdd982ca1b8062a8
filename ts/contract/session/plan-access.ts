import { resolve } from 'node:path'
import type { ContractPolicy, ContractPolicyRequest } from '../../../index.js'
import type { SessionDirectory } from '../call/session-directory.js'
import { mcpCapability } from '../mcp/mcp-tools.js'
import { AdHocFiles } from '../permissions/ad-hoc-files.js'
import { Slots } from '../../core/abort.js'
import { delegatedRules, RuleStore } from '../permissions/rule-store.js'
import {
  type CapabilitySource,
  type ContractAddon,
  SessionCapabilities,
  type SessionDirectories,
} from '../permissions/session-capabilities.js'
import { realDirectory, withDeclaredRoots } from '../permissions/workspace-roots.js'
import type { Access } from '../call/scope.js'
import type { ContractTool } from '../registry/contract-tool.js'
import { type RequirementSet, type SessionRequirements, uniteRequirements } from '../registry/requirements.js'
import type { Lineage } from './lineage.js'
import type { ParsedOptions } from './session-options.js'
import type { Fork } from '../../fork/fork.js'
import { checkForkedRoots } from './session-fork.js'

/** Resolves the directories of the options; a subagent has those of its parent, and the roots that its definition declares in them. */
export function planDirectories(options: ParsedOptions, lineage: Lineage | undefined): SessionDirectories {
  const userData = options.userData === undefined ? undefined : realDirectory('userData', options.userData)
  const roots = lineage === undefined ? hostRoots(options) : childRoots(lineage)
  if (lineage !== undefined) return { roots, adHoc: new AdHocFiles([], lineage.parent.access.adHoc), userData }
  return { roots, adHoc: new AdHocFiles(options.adHoc.map((path) => realDirectory('adHoc', path))), userData }
}

function hostRoots({ workspace, manifest, manifestRoots }: ParsedOptions): string[] {
  const roots = workspace.map((path) => realDirectory('workspace', path))
  const within = manifestRoots.map((path) => realDirectory('manifestRoots', path))
  return withDeclaredRoots({ source: 'manifest.workspace', declared: manifest.workspace, roots, within }, realDirectory)
}

function childRoots({ agent, parent }: Lineage): string[] {
  const source = `workspace of the agent ${agent.name}`
  return withDeclaredRoots({ source, declared: agent.workspace, roots: parent.access.roots, within: [] }, realDirectory)
}

/** @param scratch the path of the scratch directory. */
export function planAccess(
  addon: ContractAddon,
  directories: SessionDirectories,
  {
    tools,
    directory,
    scratch,
    fork,
  }: { tools: readonly ContractTool[]; directory: SessionDirectory; scratch: string; fork: Fork | undefined },
  options: ParsedOptions,
  lineage?: Lineage,
): Access {
  const parent = lineage?.parent.access
  const request = policyRequest(directory, scratch, tools, options)
  const seen = fork ?? parent?.fork
  if (seen !== undefined) checkForkedRoots(directories.roots, seen)
  const capabilities = new SessionCapabilities({ ...directories, addon, parent: parent?.capabilities, request, fork })
  return {
    addon,
    roots: directories.roots,
    fork: seen,
    adHoc: directories.adHoc,
    tools: new Set(tools.map(({ id }) => id)),
    capabilities,
    rules: planRules(addon, capabilities, options, lineage),
    // One user answers for all sessions of a tree, one prompt after the other.
    prompts: parent?.prompts ?? new Slots(1),
  }
}

function planRules(addon: ContractAddon, capabilities: SessionCapabilities, options: ParsedOptions, lineage?: Lineage): RuleStore {
  const variables = () => capabilities.variables
  if (lineage === undefined) {
    return new RuleStore(addon, variables, { manifest: options.manifest.permissions, ...options.permissions })
  }
  const { agent, parent } = lineage
  const own = agent.permissions === undefined ? delegatedRules(parent.access.rules) : { manifest: agent.permissions }
  return new RuleStore(addon, variables, own, `permissions of the agent ${agent.name}`, parent.access.rules)
}

function policyRequest(
  directory: SessionDirectory,
  scratch: string,
  tools: readonly ContractTool[],
  options: ParsedOptions,
): CapabilitySource['request'] {
  const { manifest, ceiling, sandbox, enabledMcpServers } = options
  const declared = [
    { source: 'manifest.requires', requires: manifest.requires ?? {} },
    ...tools.map(({ id, requires }) => ({ source: `tool ${id}`, requires })),
    { source: 'enabledMcpServers', requires: { capabilities: enabledMcpServers.map(mcpCapability) } },
  ]
  const bounds = ceiling === undefined ? [] : [[{ source: 'ceiling', requires: ceiling }]]
  const { denyWrite } = sandbox
  return {
    granted: linkedNames(options),
    conjunction: [...bounds, declared],
    implicitRead: [directory.path],
    implicitWrite: [scratch],
    // The directories of other sessions.
    closed: [directory.base],
    ...(denyWrite === undefined ? {} : { denyWrite }),
  }
}

/** The names by which the host calls its directories, where those are links. */
function linkedNames({ workspace, adHoc, userData }: ParsedOptions): NonNullable<ContractPolicyRequest['granted']> {
  const all = [...workspace, ...adHoc, ...(userData === undefined ? [] : [userData])]
  return all
    .map((path) => ({ path: realDirectory('workspace', path), written: resolve(path) }))
    .filter(({ path, written }) => path !== written)
}

/** What the session was asked for, and what holds. */
export function requirementsOf(policy: ContractPolicy, tools: readonly ContractTool[], options: ParsedOptions): SessionRequirements {
  const { ceiling, manifest } = options
  const declared = uniteRequirements([manifest.requires ?? {}, ...tools.map(({ requires }) => requires)])
  const effective = (policy.expanded() as RequirementSet[]).map((set) => uniteRequirements([set]))
  return Object.freeze(ceiling === undefined ? { declared, effective } : { declared, ceiling, effective })
}
