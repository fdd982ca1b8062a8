import type { SessionCore } from '../session/session-core.js'
import type { AgentDefinition } from './agent-definition.js'

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
