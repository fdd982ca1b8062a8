import type { Awaitable } from '../core/abort.js'

export type { Awaitable }

/** One task of one run: what is tried again when an attempt fails. */
export interface TaskId {
  /** The run. */
  runId: string
  /** The task within the run. */
  nodeId: string
  /** The iteration, for a task in a loop; counted from 0. */
  iteration: number
}

/** Where a call stands in a journal. */
export interface ToolCallKey extends TaskId {
  /** The attempt of the task, from 1. */
  attempt: number
  /** The number of the call within the attempt, from 1. */
  seq: number
}

/** What identifies the row of a call that was inserted, for its outcome. */
export interface ToolCallRef extends ToolCallKey {
  /** The row's number in its store; looked up by the key when absent. */
  row?: number | undefined
  /** As in the row. */
  startedAtMs?: number | undefined
}

/** `started`, then how the call ended; `unknown` where that is not known. */
export type ToolCallStatus = 'started' | 'success' | 'error' | 'unknown'

/** How a call ended. */
export interface ToolCallEnd {
  status: Exclude<ToolCallStatus, 'started'>
  /** The output as JSON; a store cuts it to its limit. */
  outputJson?: string | null | undefined
  /** The output, where it is text: a store keeps it as JSON, instead of `outputJson`. */
  outputText?: string | undefined
  /** The error as JSON; a store cuts it to its limit. */
  errorJson?: string | null | undefined
  /** When it ended, in milliseconds since 1970. @default now */
  finishedAtMs?: number | undefined
  /** False for a call that was refused before it did anything: no effect to warn of. @default true */
  acted?: boolean | undefined
  /** Whether the store keeps output and error whole, beyond its limit. @default false */
  whole?: boolean | undefined
}

/** A call to insert: one that begins, or with a `status` other than `started` one that is over. */
export interface NewToolCall extends Partial<Omit<ToolCallEnd, 'status'>> {
  runId: string
  nodeId: string
  /** @default 0 */
  iteration?: number | undefined
  attempt: number
  seq: number
  toolName: string
  /** @default 'started' */
  status?: ToolCallStatus | undefined
  /** The arguments as JSON, in the form to record. */
  inputJson?: string | null | undefined
  /** In milliseconds since 1970. @default now */
  startedAtMs?: number | undefined
  /** Whether the tool changes anything outside. @default false */
  sideEffect?: boolean | undefined
  /** Whether calling it again with the same input is safe. @default `!sideEffect` */
  idempotent?: boolean | undefined
  /** Whether the tool can use an idempotency key. @default false */
  acceptsIdempotencyKey?: boolean | undefined
  /** Whether the tool has a `revert` handler. @default false */
  hasRevert?: boolean | undefined
  /** The key that the tool got. */
  idempotencyKey?: string | null | undefined
  /** An identity from outside, such as the AI SDK's `toolCallId`. */
  callToken?: string | null | undefined
  /** The hash of the whole arguments, where `inputJson` is not all of them. */
  argsHash?: string | null | undefined
  /** Which of the attempt's calls with this tool and these arguments it is, from 1. */
  ordinal?: number | null | undefined
}

/** A row of `_smithers_tool_calls`. What an older table has no column for is `null`. */
export interface ToolCallRow extends ToolCallKey {
  /** The row's number: rows written later have a higher one. */
  row: number
  callToken: string | null
  toolName: string
  inputJson: string | null
  /** The output as JSON; the beginning of it, in a frame, when `isCut`. */
  outputJson: string | null
  startedAtMs: number
  /** `null` while the call runs, and where it is not known. */
  finishedAtMs: number | null
  status: ToolCallStatus
  /** The status in the words of the program that wrote the row. */
  statusText: string
  errorJson: string | null
  /** `tool`; `task` for the row that a workflow engine keeps for a whole task. */
  kind: string | null
  sideEffect: boolean | null
  idempotent: boolean | null
  acceptsIdempotencyKey: boolean | null
  hasRevert: boolean | null
  idempotencyKey: string | null
  /** `reverting`, `reverted`, `revert-failed` or `revert-stale`. */
  revertStatus: string | null
  revertedAtMs: number | null
  revertErrorJson: string | null
  forcedPastJson: string | null
  argsHash: string | null
  ordinal: number | null
  /** How many bytes the whole output has. */
  outputBytes: number | null
  /** Whether the output was longer than what the row holds. */
  isCut: boolean
  /** False for a call that was refused before it did anything. */
  acted: boolean
}

/** A run in a few numbers. */
export interface RunSummary {
  runId: string
  /** Its calls; of these without an outcome yet, successful, failed. */
  calls: number
  started: number
  succeeded: number
  failed: number
  /** When the first call began, in milliseconds since 1970. */
  startedAtMs: number
  /** When the last call ended, as far as is known. */
  finishedAtMs: number | null
}

/** What `recover` found. */
export interface RecoveredCalls {
  /** Numbers of rows that were `started` and are `unknown` now, because their process has ended. */
  calls: number[]
  /** Numbers of rows that were `reverting` and are `revert-failed` now. */
  reverts: number[]
  /** How many other journals are open on the same store. */
  alive: number
  /** How many writers cannot be judged from here (other machines), whose rows were left alone. */
  undecided: number
}

/** The right to run an attempt of a task. */
export interface TaskLock {
  /** Releases the lock. The end of the process does so too. */
  release(): void | PromiseLike<void>
}

/** The answer to a claim to undo a call: the call, or why it was refused. */
export type RevertClaim = { won: ToolCallRow } | { taken: string } | { nothing: string }

/** How calls are listed. */
export interface ListOptions {
  /**
   * Without outputs (`outputJson` is `null`), and without what is long of arguments and errors: `rows`
   * gives the whole rows. A store may ignore this option. @default false
   */
  outline?: boolean | undefined
}

/** How the calls of a run are listed. */
export interface ListRunOptions extends ListOptions {
  /** The last call first. @default false */
  reverse?: boolean | undefined
}

/**
 * Where calls are recorded. `openJournal` takes any: `__test__/journal/conformance.ts` has the tests
 * that one must pass.
 *
 * A method that fails throws or rejects, and has then written nothing.
 */
export interface JournalStore {
  /**
   * Adds a row. One that `started`, and one of a side effect, survives the end of every process when
   * this is done; one that is over and has no side effect may be written a little later.
   *
   * @throws {ToolError} JOURNAL_DUPLICATE_CALL when the key is taken.
   */
  insertToolCall(call: NewToolCall): Awaitable<ToolCallRef>
  /**
   * Records the outcome of a call that started; it survives the end of every process when this is
   * done.
   *
   * @throws {ToolError} JOURNAL_CALL_MISSING, JOURNAL_CALL_FINISHED.
   */
  updateToolCall(call: ToolCallRef, end: ToolCallEnd): Awaitable<void>
  /** The calls of a task, by attempt and sequence number. */
  listToolCalls(runId: string, nodeId: string, iteration: number, options?: ListOptions): Promise<ToolCallRow[]>
  /** The calls of a run in the order in which they began; `reverse` reverses it. */
  listRun(runId: string, options?: ListRunOptions): Promise<ToolCallRow[]>
  /** All runs, the earliest first. */
  listRuns(): Promise<RunSummary[]>
  /** At most `limit` rows with a number above `after`, by their number. */
  readRows(after: number, limit: number): Promise<ToolCallRow[]>
  /** The rows with these numbers as they are now, by their number; those that are gone are left out. */
  rows(numbers: readonly number[]): Promise<ToolCallRow[]>
  /** The number of the last row; 0 where there is none. */
  lastRow(): Promise<number>
  /** The latest attempt of a task that made a call, and the highest number of its calls. */
  lastAttempt(task: TaskId): Promise<{ attempt: number; seq: number } | undefined>
  /**
   * The calls of earlier attempts that must not be repeated blindly: side effects that are not
   * idempotent, but for those that were undone or refused. A row that does not say whether it has a
   * side effect is among them. An outline of each is enough (see {@link ListOptions}).
   */
  priorEffects(task: TaskId, attempt: number): Promise<ToolCallRow[]>
  /** The call of a task with this tool, hash of arguments and ordinal that succeeded last. */
  recordedCall(task: TaskId, toolName: string, argsHash: string, ordinal: number): Promise<ToolCallRow | undefined>
  /**
   * Locks a task for one attempt. A lock goes with its process.
   *
   * @throws {ToolError} JOURNAL_TASK_LOCKED at once when another attempt holds it.
   */
  lockTask(task: TaskId, attempt: number): Promise<TaskLock>
  /** Claims a call, to undo it. Of any number of claims one wins, ever. */
  claimRevert(row: number): Promise<RevertClaim>
  /**
   * Records how undoing ended: `reverted`, or with an error `revert-failed`.
   *
   * @returns false when the row is not `reverting` any more, and stays as it is.
   */
  finishRevert(row: number, errorJson?: string): Promise<boolean>
  /** Marks as `unknown` what dead processes left `started`. */
  recover(): Promise<RecoveredCalls>
  /** Waits until everything recorded so far is written. */
  flush(): Promise<void>
  /** Writes what is pending, and closes. Closing again does nothing. */
  close(): Promise<void>
}
