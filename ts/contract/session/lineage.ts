import type { Access, Host } from '../call/scope.js'
import type { SkillIndex } from '../skills/skill-index.js'
import type { SessionWeb } from '../web/session-web.js'
import type { AgentDefinition, AgentManifest } from '../agents/manifest.js'
import type { RecordPart } from '../journal/session-recorder.js'
import type { ParsedOptions, SessionOptions } from './session-options.js'
import type { Fork } from '../../fork/fork.js'
import type { TaskForks } from './task-forks.js'

export interface RecordPlace {
  runId: string
  nodeId: string
  /** The node of the session at the root of the tree. */
  base: string
}

/** The parts of a session that its subagents share. */
export interface ParentSession {
  readonly host: Host
  readonly access: Access
  readonly web: SessionWeb
  readonly skills: SkillIndex
  readonly depth: number
  /** Shared by all sessions of one tree: how many agents are at work, how many processes run, and the forks of agents, at any depth. */
  readonly tree: { running: number; processes: { count: number }; readonly forks: TaskForks }
  readonly place: RecordPlace
}

export interface Lineage {
  /** The id of the session: its parent's, and the call's. */
  id: string
  parent: ParentSession
  agent: AgentDefinition
  place: RecordPlace
  /** The fork that it works in by itself. */
  fork?: Fork | undefined
}

/**
 * The options of a child's session, from those of its parent: the same workspace, limits and watchdog, its own
 * manifest. Servers, with their credentials, and questions to the user stay with the parent.
 */
export function childOptions(options: ParsedOptions, { id, agent, fork }: Lineage, note: (part: RecordPart) => void): SessionOptions {
  const { tools, permissions: _rules, enabledMcpServers: _servers, ceiling: _ceiling, host, onRecord, ...rest } = options
  // A fork of the parent's is that of the child, too. Checkpoints are of the directory itself.
  const same = { ...rest, fork, ...(fork === undefined ? {} : { checkpoints: undefined }) }
  const { question: _question, ...hostOfAgents } = host
  const { name, requires, permissions, ceiling } = agent
  const manifest: AgentManifest = { name, requires, permissions, agents: options.manifest.agents, skills: options.manifest.skills }
  return {
    ...same,
    id,
    manifest,
    // The parent has only the tools that the host chose, and a child chooses among those.
    tools: tools.own,
    host: hostOfAgents,
    ...(ceiling === undefined ? {} : { ceiling }),
    onRecord: async (part) => {
      note(part)
      await onRecord?.(part)
    },
  }
}
