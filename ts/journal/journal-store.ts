import type { Awaitable } from '../core/abort.js'

export type { Awaitable }

/** One task of one run: the unit that is retried when an attempt fails. */
export interface TaskId {
  /** The run. */
  runId: string
  /** The task within the run. */
  nodeId: string
  /** The iteration, for a task in a loop; counted from 0. */
  iteration: number
}

/** The position of a call in a journal. */
export interface ToolCallKey extends TaskId {
  /** The attempt of the task, from 1. */
  attempt: number
  /** The number of the call within the attempt, from 1. */
  seq: number
}

/** Identifies the row of an inserted call, for its outcome. */
export interface ToolCallRef extends ToolCallKey {
  /** The row's number in its store. If it is absent, the store looks the row up by the key. */
  row?: number | undefined
  /** As in the row. */
  startedAtMs?: number | undefined
}

/** `started`, then how the call ended; `unknown` if that is not known. */
export type ToolCallStatus = 'started' | 'success' | 'error' | 'unknown'

/** How a call ended. */
export interface ToolCallEnd {
  status: Exclude<ToolCallStatus, 'started'>
  /** The output as JSON. A store cuts it to its limit. */
  outputJson?: string | null | undefined
  /** An output that is text, in place of `outputJson`. A store keeps it as JSON. */
  outputText?: string | undefined
  /** The error as JSON. A store cuts it to its limit. */
  errorJson?: string | null | undefined
  /** When it ended, in milliseconds since 1970. @default now */
  finishedAtMs?: number | undefined
  /** False for a call that was refused before it did anything, and so has no effect. @default true */
  acted?: boolean | undefined
  /** Whether the store keeps output and error whole, even beyond its limit. @default false */
  whole?: boolean | undefined
  /** What the call has made known of files, as JSON. A store keeps it as it is. */
  seen?: string | undefined
  /** Whether the call has read its idempotency key: then `acceptsIdempotencyKey` becomes true, and else it stays. @default false */
  keyRead?: boolean | undefined
}

/** A call to insert: one that begins, or, with a `status` other than `started`, one that is over. */
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
  /** Whether the tool has a side effect. @default false */
  sideEffect?: boolean | undefined
  /** Whether a repeated call with the same input is safe. @default `!sideEffect` */
  idempotent?: boolean | undefined
  /** Whether an idempotency key protects the call, as its tool declares. See also {@link ToolCallEnd.keyRead}. @default false */
  acceptsIdempotencyKey?: boolean | undefined
  /** Whether the tool has a `revert` handler. @default false */
  hasRevert?: boolean | undefined
  /** The key that the tool got. */
  idempotencyKey?: string | null | undefined
  /** An external id, such as the AI SDK's `toolCallId`. */
  callToken?: string | null | undefined
  /** The hash of the whole arguments, if `inputJson` is not all of them. */
  argsHash?: string | null | undefined
  /** The number among the attempt's calls with this tool and these arguments, from 1. Of a call of `durable`, that of its object. */
  ordinal?: number | null | undefined
}

/** How runs are listed. */
export interface ListRunsOptions {
  /** At most so many, the latest. @default all */
  limit?: number | undefined
  /** Only runs that began before this time, in milliseconds since 1970. @default all */
  beforeMs?: number | undefined
  /** Only runs before this one in the list: the first of the page after it. @default all */
  before?: Pick<RunSummary, 'startedAtMs' | 'runId'> | undefined
}

/** A row of `_smithers_tool_calls`. Fields without a column in an older table are `null`. */
export interface ToolCallRow extends ToolCallKey {
  /** The row's number. Later rows have higher numbers. */
  row: number
  callToken: string | null
  toolName: string
  inputJson: string | null
  /** The output as JSON; if `isCut`, its beginning in a frame. */
  outputJson: string | null
  startedAtMs: number
  /** `null` while the call runs, and if it is unknown. */
  finishedAtMs: number | null
  status: ToolCallStatus
  /** The status in the words of the program that wrote the row. */
  statusText: string
  errorJson: string | null
  /** `tool`, or `task` for a workflow engine's row of a whole task. */
  kind: string | null
  sideEffect: boolean | null
  idempotent: boolean | null
  /** Whether an idempotency key protects the call: its tool declares it, or the call has read its key. */
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
  /** The bytes of the whole output. */
  outputBytes: number | null
  /** Whether the output was longer than the part in the row. */
  isCut: boolean
  /** False for a call that was refused before it did anything. */
  acted: boolean
  /** What the call has made known of files, as JSON: the hash of each, by its path. Absent in a store that does not keep it. */
  seen?: string | null | undefined
}

/** A run in a few numbers. */
export interface RunSummary {
  runId: string
  /** The number of calls; and of those without an outcome, successful, failed. */
  calls: number
  started: number
  succeeded: number
  failed: number
  /** When the first call began, in milliseconds since 1970. */
  startedAtMs: number
  /** When the last call ended, if known. */
  finishedAtMs: number | null
}

/** The result of `recover`. */
export interface RecoveredCalls {
  /** The numbers of rows that changed from `started` to `unknown`, because their process has ended. */
  calls: number[]
  /** The numbers of rows that changed from `reverting` to `revert-failed`. */
  reverts: number[]
  /** The number of other journals that are open on the same store. */
  alive: number
  /** The number of writers on other machines, which cannot be checked from here and whose rows did not change. */
  undecided: number
}

/** The right to run an attempt of a task. */
export interface TaskLock {
  /** Releases the lock. The end of the process does so too. */
  release(): void | PromiseLike<void>
  /** Higher than the token of every earlier lock of the task: for services that refuse an older one. */
  readonly token: number
  /**
   * Aborted, with a JOURNAL_OWNER_FENCED as its reason, when another process may take the lock. The lock of a file never is: the
   * kernel keeps it as long as the process.
   */
  readonly lost: AbortSignal
}

/** An attempt that begins: its lock, and what a journal knows of the attempts before it. */
export interface TaskStart {
  lock: TaskLock
  attempt: number
  /** The latest attempt that made a call until now, and the highest number of its calls. */
  last: { attempt: number; seq: number } | undefined
  /** See {@link JournalStore.priorEffects}; of an attempt that is continued, its own too. */
  priorEffects: ToolCallRow[]
  /** The calls that this attempt has made already, as outlines. */
  made: ToolCallRow[]
}

/** How a call is claimed. */
export interface ClaimOptions {
  /** Whether a call whose outcome is unknown may be made again. @default false */
  repeat?: boolean | undefined
}

/** A call to claim. Its number within the attempt is assigned by the store. */
export interface ClaimedCall extends Omit<NewToolCall, 'seq' | 'status' | keyof ToolCallEnd> {
  /** The identity of the call in its task, from outside: an engine's own id, for example. */
  callId: string
}

/** The answer to a claim: one of the four. */
export type CallClaim =
  /** The caller alone may make the call, until `lost` is aborted. */
  | { claimed: ToolCallRef; lost?: AbortSignal | undefined }
  /** It was made: it succeeded, or failed after it acted. */
  | { recorded: ToolCallRow }
  /** It was begun by a process that is gone, and nobody knows how it ended. */
  | { unknown: ToolCallRow }
  /** It is being made, by this process or by another one. */
  | { running: ToolCallRow }

/** Rows, and where to go on reading. */
export interface ReadRows {
  rows: ToolCallRow[]
  /** For the next call of `readSince`. Its form belongs to the store. */
  cursor: string
}

/** The result of a claim to undo a call: the call, or why the claim was refused. */
export type RevertClaim = { won: ToolCallRow } | { taken: string } | { nothing: string }

/** How calls are listed. */
export interface ListOptions {
  /**
   * Whether to leave out outputs (`outputJson` is `null`) and long arguments and errors. `rows` returns the whole rows. A
   * store may ignore this option.
   * @default false
   */
  outline?: boolean | undefined
}

/** How the calls of a run are listed. */
export interface ListRunOptions extends ListOptions {
  /** The last call first. @default false */
  reverse?: boolean | undefined
}

/**
 * A store of calls. `openJournal` takes any store that passes the tests of `toolwright/journal/testing`.
 *
 * A method that fails throws or rejects, and writes nothing.
 */
export interface JournalStore {
  /**
   * Adds a row. When this is done, a `started` row, and a row of a side effect, survives the end of every process. The row of
   * an ended call without a side effect may be written a little later.
   *
   * @throws {ToolError} JOURNAL_DUPLICATE_CALL if the key is taken.
   */
  insertToolCall(call: NewToolCall): Awaitable<ToolCallRef>
  /**
   * Records the outcome of a started call. When this is done, the outcome survives the end of every process.
   *
   * @throws {ToolError} JOURNAL_CALL_MISSING, JOURNAL_CALL_FINISHED.
   */
  updateToolCall(call: ToolCallRef, end: ToolCallEnd): Awaitable<void>
  /**
   * Notes that a call which runs has read its idempotency key, so that its row says so even if its process dies. A call that has ended does
   * not change. A store may write it a little later, or not at all where the outcome comes first.
   */
  noteKeyRead?(call: ToolCallRef): Awaitable<void>
  /** The calls of a task, by attempt and sequence number. */
  listToolCalls(runId: string, nodeId: string, iteration: number, options?: ListOptions): Promise<ToolCallRow[]>
  /** The calls of a run in the order in which they began; `reverse` reverses it. */
  listRun(runId: string, options?: ListRunOptions): Promise<ToolCallRow[]>
  /** All runs, the earliest first. A store may ignore the options. */
  listRuns(options?: ListRunsOptions): Promise<RunSummary[]>
  /** At most `limit` rows with a number above `after`, by their number. */
  readRows(after: number, limit: number): Promise<ToolCallRow[]>
  /**
   * At most `limit` rows that became visible after a cursor, so that a reader who goes on from the last cursor misses none:
   * the numbers of rows need not be in the order in which their transactions end. Without a cursor from the beginning; from
   * `end`, only future rows; a number stands for the row with it.
   */
  readSince(cursor: string | undefined, limit: number): Promise<ReadRows>
  /** The current rows with these numbers, in the order of their numbers. Missing rows are left out. */
  rows(numbers: readonly number[]): Promise<ToolCallRow[]>
  /** The number of the last row; 0 if there is none. */
  lastRow(): Promise<number>
  /** The latest attempt of a task that made a call, and the highest number of its calls. */
  lastAttempt(task: TaskId): Promise<{ attempt: number; seq: number } | undefined>
  /**
   * The calls of earlier attempts that must not be repeated blindly: side effects that are not idempotent, without those that
   * were undone or refused. They include rows that do not say whether they have a side effect. An outline of each is enough
   * (see {@link ListOptions}).
   */
  priorEffects(task: TaskId, attempt: number): Promise<ToolCallRow[]>
  /** The last successful call of a task with this tool, hash of arguments and ordinal. */
  recordedCall(task: TaskId, toolName: string, argsHash: string, ordinal: number): Promise<ToolCallRow | undefined>
  /**
   * Locks a task for one attempt. A lock ends with its process.
   *
   * @throws {ToolError} JOURNAL_TASK_LOCKED, without waiting, if another attempt holds the lock.
   */
  lockTask(task: TaskId, attempt: number): Promise<TaskLock>
  /**
   * Begins an attempt: locks the task, marks what dead processes left as unknown, and collects what is known of earlier
   * attempts. A store has it if it can do so at once.
   *
   * @param attempt the number of the attempt. @default one more than the last that made a call
   * @throws {ToolError} JOURNAL_TASK_LOCKED
   */
  beginTask?(task: TaskId, attempt?: number): Promise<TaskStart>
  /**
   * Claims a call by an id, so that it is made once however many processes are asked to make it. `updateToolCall` records the
   * outcome of a claimed call. A call that was refused before it did anything (`acted: false`) is claimed again.
   *
   * @throws {ToolError} REPLAY_DIFFERS if the id belongs to a call with another tool or other arguments.
   */
  claimCall(call: ClaimedCall, options?: ClaimOptions): Promise<CallClaim>
  /** Claims a call to undo it. Only one claim of a call ever succeeds. */
  claimRevert(row: number): Promise<RevertClaim>
  /**
   * Records the outcome of an undo: `reverted`, or with an error `revert-failed`.
   *
   * @returns `false` if the row is no longer `reverting`; then it does not change.
   */
  finishRevert(row: number, errorJson?: string): Promise<boolean>
  /** The numbers of rows that are `started` while their process is known to be gone. Nothing is marked. */
  leftOpen?(): Promise<number[]>
  /** Marks the `started` rows of dead processes as `unknown`. */
  recover(): Promise<RecoveredCalls>
  /** Waits until everything recorded so far is written. */
  flush(): Promise<void>
  /** Writes pending rows, and closes. Closing again does nothing. */
  close(): Promise<void>
}
