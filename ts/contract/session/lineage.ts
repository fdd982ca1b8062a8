import type { SessionCore } from './session-core.js'
import type { AgentDefinition, AgentManifest } from '../agents/manifest.js'
import type { RecordPart } from '../journal/session-recorder.js'
import type { SessionOptions } from './session-options.js'
import { ownTools } from '../registry/tool-choice.js'

/** Where the calls of a session stand in a journal. */
export interface RecordPlace {
  runId: string
  nodeId: string
  /** The node of a session that nobody has called. */
  base: string
}

/** Where a child comes from. */
export interface Lineage {
  /** The child's id: its parent's, and the call's. */
  id: string
  parent: SessionCore
  agent: AgentDefinition
  place: RecordPlace
}

/** What all sessions that come from one share. */
export interface SessionTree {
  /** How many agents are at work, at any depth. */
  running: number
}

/**
 * The options of a child's session, from those of its parent: the same workspace, limits and watchdog, its own
 * manifest. Servers, with their credentials, and questions to the user stay with the parent.
 */
export function childOptions(options: SessionOptions, { id, agent }: Lineage, note: (part: RecordPart) => void): SessionOptions {
  const { tools = [], permissions: _rules, enabledMcpServers: _servers, ceiling: _ceiling, host = {}, onRecord, ...same } = options
  const { question: _question, ...hostOfAgents } = host
  const { name, requires, permissions, ceiling } = agent
  const manifest: AgentManifest = { name, requires, permissions, agents: options.manifest.agents, skills: options.manifest.skills }
  return {
    ...same,
    id,
    manifest,
    // What the host leaves out its parent does not have.
    tools: ownTools(tools),
    host: hostOfAgents,
    ...(ceiling === undefined ? {} : { ceiling }),
    onRecord: async (part) => {
      note(part)
      await onRecord?.(part)
    },
  }
}
