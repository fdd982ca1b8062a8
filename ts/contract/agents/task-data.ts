/** Arguments of `task`. */
export interface TaskArguments {
  subagent_type: string
  prompt: string
  /** Whether the caller goes on at once. @default false */
  background?: boolean
  /** Kept by the host. */
  metadata?: Record<string, unknown>
}

/** One call of a subagent, as its caller sees it. */
export interface TranscriptEntry {
  tool: string
  call_id: string
  /** How it ended. */
  type: 'output' | 'error'
  error_text?: string
}

/** What `task` gives: the answer, or the session in which it is being worked out. */
export interface TaskData {
  session_id: string
  /** The agent's final answer. Absent in the background. */
  output?: string
  /** What it called, unless the agent is `inspectable` and keeps a session of its own. */
  transcript?: TranscriptEntry[]
}
