/** What a report holds: the data that its page shows, without anything of the page. */

/** How a call ended; `refused` is an error before the call had done anything. */
export type CallEnding = 'started' | 'success' | 'error' | 'refused' | 'unknown'

/** One call, as the timeline and the list show it. */
export interface ReportCall {
  /** The number of its row in the journal. */
  row: number
  runId: string
  /** The task within the run; an agent of a contract session has a task of its own. */
  nodeId: string
  iteration: number
  attempt: number
  /** The number of the call within its attempt. */
  seq: number
  tool: string
  /** A row that a workflow engine keeps for a whole task is no call of a tool. */
  isTask: boolean
  /** What the call was about: a command, a path, a pattern. */
  target: string
  ending: CallEnding
  /** In milliseconds since 1970. */
  startedAtMs: number
  /** `null` while the call runs, and where it is not known. */
  finishedAtMs: number | null
  /** How long the call waited for a person or a rule before it acted, where the row says so. */
  waitedMs: number | null
  inputBytes: number | null
  outputBytes: number | null
  sideEffect: boolean | null
  idempotent: boolean | null
  /** An identity from outside, such as the AI SDK's `toolCallId`. */
  callToken: string | null
  /** `reverting`, `reverted`, `revert-failed` or `revert-stale`. */
  revertStatus: string | null
  /** `exit 1`, `SIGKILL`, `timed out`; empty for exit code 0 and what is no command. */
  exit: string
  /** Why it failed, in one line; empty for a success. */
  reason: string
}

/** A text of a call, as far as the report holds it. */
export interface ReportText {
  text: string
  /** How many characters of the text the report leaves out. */
  leftOut: number
  /** How the page shows it. */
  form: 'text' | 'json' | 'diff'
}

/** What a call was given and what it returned. */
export interface CallTexts {
  input: ReportText | null
  output: ReportText | null
  error: ReportText | null
  /** Notes of the tool besides its output. */
  notes: string[]
  /** A patch that the call was given. */
  diff: ReportText | null
  /** A text and what replaced it, where the row holds both. */
  replacement: Replacement | null
}

/** A change of a file that is recorded as two texts. */
export interface Replacement {
  path: string
  before: string
  after: string
}

/** A whole report. */
export interface ReportData {
  /** The journal that it shows: a file name. */
  source: string
  /** When it was made, in milliseconds since 1970. */
  madeAtMs: number
  calls: ReportCall[]
  /** By the number of the row. */
  texts: Record<number, CallTexts>
}
