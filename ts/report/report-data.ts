/** The data of a report, independent of its page. */

/** How a call ended; `refused` is an error before the call had done anything. */
export type CallEnding = 'started' | 'success' | 'error' | 'refused' | 'unknown'

/** A file that a call has changed. */
export interface FileChange {
  path: string
  kind: 'created' | 'modified' | 'deleted'
  /** Added and removed lines; `null` if they are not known. */
  added: number | null
  removed: number | null
}

/** Something that a call was refused. */
export interface Refusal {
  layer: 'network' | 'files' | 'limits' | 'permission'
  /** A host with its port, a path, a limit, or the target of the call. */
  subject: string
}

/** What a call says of a fork. */
export interface ForkWork {
  /** The name of the fork. */
  id: string
  /** `changed`: what a subagent has left in it. `conflict`: it could not be applied or undone. */
  what: 'opened' | 'changed' | 'applied' | 'conflict' | 'undone' | 'discarded'
  /** The subagent that worked in it; `null` if the row does not say. */
  agent: string | null
  changes: Pick<FileChange, 'path' | 'kind'>[]
  /** How many more there are. */
  more: number
}

/** One call, as the timeline and the list show it. */
export interface ReportCall {
  /** The number of its row in the journal. */
  row: number
  runId: string
  /** The task within the run. An agent of a contract session has a task of its own. */
  nodeId: string
  iteration: number
  attempt: number
  /** The number of the call within its attempt. */
  seq: number
  tool: string
  /** `task` is a row of a workflow engine for a whole task, not a call of a tool. */
  isTask: boolean
  /** The target of the call: a command, a path, a pattern. */
  target: string
  ending: CallEnding
  /** In milliseconds since 1970. */
  startedAtMs: number
  /** `null` while the call runs, and if it is unknown. */
  finishedAtMs: number | null
  /** How long the call waited for a person or a rule before it acted, if the row says so. */
  waitedMs: number | null
  inputBytes: number | null
  outputBytes: number | null
  sideEffect: boolean | null
  idempotent: boolean | null
  /** An external id, such as the AI SDK's `toolCallId`. */
  callToken: string | null
  /** `reverting`, `reverted`, `revert-failed` or `revert-stale`. */
  revertStatus: string | null
  /** `exit 1`, `SIGKILL`, `timed out`; empty for exit code 0 and for calls that are no commands. */
  exit: string
  /** Why it failed, in one line; empty for a success. */
  reason: string
  /** The agent of a contract session that made it; `null` if the row does not say. */
  agent: string | null
  changes: FileChange[]
  refusals: Refusal[]
  /** `null` for a call that is about no fork. */
  fork: ForkWork | null
}

/** A text of a call, perhaps cut. */
export interface ReportText {
  text: string
  /** How many characters of the text the report leaves out. */
  leftOut: number
  /** How the page shows it. */
  form: 'text' | 'json' | 'diff'
}

/** The arguments and the result of a call. */
export interface CallTexts {
  input: ReportText | null
  output: ReportText | null
  error: ReportText | null
  /** Notes of the tool besides its output. */
  notes: string[]
  /** What it has changed, by the checkpoints before and after it. */
  changed: ReportText | null
  /** The patch in the arguments. */
  diff: ReportText | null
  /** A text and its replacement, if the row has both. */
  replacement: Replacement | null
}

/** A change of a file that is recorded as two texts. */
export interface Replacement {
  path: string
  before: string
  after: string
}

/** Earlier calls that a report leaves out. */
export interface LeftOut {
  /** How many of the runs that were looked at. */
  calls: number
  /** Whether there are more runs, which nobody counted. */
  isMore: boolean
}

/** What a report leaves out, in a sentence. */
export const leftOutText = ({ calls, isMore }: LeftOut): string =>
  `Only the latest calls are shown: ${isMore ? 'more than ' : ''}${calls.toLocaleString('en')} earlier ones are left out.`

/** A whole report. */
export interface ReportData {
  /** The journal that it shows: a file name. */
  source: string
  /** When it was made, in milliseconds since 1970. */
  madeAtMs: number
  calls: ReportCall[]
  /** Earlier calls that are not among them; `null` if all are. */
  leftOut: LeftOut | null
  /** The texts by the number of the row. */
  texts: Record<number, CallTexts>
}
