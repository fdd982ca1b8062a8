/**
 * The record of one call. Every pipeline of calls shares it: the row that is written before an effect and completed
 * after it, or written once at the end, and what happens when the journal fails.
 */
import { attempt, type Awaitable } from '../../core/abort.js'
import { traceStep } from '../../core/call-channel.js'
import type { CallDoor } from '../../core/call-message.js'
import type { ReportedPatch } from '../../core/command-patches.js'
import { ToolError } from '../../core/errors.js'
import type { Journal } from '../journal.js'
import { lateOutcomesOf } from '../late-outcomes.js'
import type { SeenFiles } from '../seen-files.js'
import type { NewToolCall, TaskId, ToolCallEnd, ToolCallRef } from '../journal-store.js'
import type { ToolContext } from './context.js'
import type { CallWithPatches } from './patches-in-call.js'

/** What a record holds about the tool of a call. */
export interface RecordedTool {
  name: string
  sideEffect: boolean
  idempotent: boolean
  acceptsIdempotencyKey: boolean
  hasRevert: boolean
  /** Whether it declares that its service acts once for each key. */
  usesIdempotencyKey?: boolean | undefined
}

export interface StartingCall {
  metadata: RecordedTool
  /** What the record shows of the arguments. */
  input: unknown
  /** Whether it is one of our own tools, whose errors say whether anything was done. */
  builtIn: boolean
  ctx: Pick<CallContext, 'idempotencyKey' | 'toolCallId' | 'signal' | 'seq'>
  ambient: ToolContext | undefined
}

/** What the pipeline needs to know of the context of a call. */
export interface CallContext {
  signal?: AbortSignal | undefined
  toolCallId?: string | undefined
  /** Number of calls made before this one. */
  seq: number
  /** The key of the task. */
  idempotencyKey: string | null
  /** The key of the call, set once it is being recorded. */
  callIdempotencyKey: string | null
  /** The directory that the call is confined to. */
  rootDir?: string | undefined
  /** The output of an aborted call until then, for its record. */
  partialOutput?: { output: unknown } | undefined
  /** The patches that its commands have applied, for records of their own. */
  patches?: ReportedPatch[] | undefined
  /** The files that its conversation has seen. */
  seen?: SeenFiles | undefined
}

/** What calls outside any task are recorded as. */
export interface RecordedRun {
  journal?: Journal | undefined
  runId?: string | undefined
  nodeId?: string | undefined
}

/** What the AI SDK hands to `execute` besides the input; all of it is optional in a direct call. */
export interface ToolCallOptions {
  /** The model's name of the call. */
  toolCallId?: string | undefined
  /** Ends the call. */
  abortSignal?: AbortSignal | undefined
}

export interface Call<ARGS, CTX extends CallContext> {
  door: Exclude<CallDoor, 'contract'>
  execute: (args: ARGS, ctx: CTX) => unknown
  metadata: RecordedTool
  /** The journal of the tool set, for calls outside any context that has one. */
  run: RecordedRun
  args: ARGS
  builtIn: boolean
  /** What the record shows of the arguments. @default all of them */
  recordedInput?: ((args: ARGS) => unknown) | undefined
  /** Completes the second argument of `execute`. */
  completeContext: (base: CallContext, ambient: ToolContext | undefined) => CTX
  callOptions: ToolCallOptions
}

/** A call that is being recorded. */
export interface OpenRecord {
  /** Its number within its task. */
  seq: number
  /** Its key; `null` outside a task. */
  key: string | null
  /** The task that it is recorded in; absent if the host keeps its own records. */
  task?: TaskId | undefined
  /** The output of an identical earlier call, which replaces this one. */
  recorded?: { output: unknown } | undefined
  /** When the call reads its idempotency key. It never fails, because the tool has the key. */
  keyRead?(): void
  /** Before the end. It never fails, because the patches have been made. */
  patched?(patches: readonly ReportedPatch[], call: CallWithPatches): Awaitable<void>
  /** `seen` is what the call has made known of files. */
  succeeded(output: unknown, seen?: string): Awaitable<void>
  /** `acted` is false for a call that did nothing; `output` is that of an aborted call until then. */
  failed(error: unknown, ending: { acted: boolean; output?: unknown; seen?: string | undefined }): Awaitable<void>
}

/** Records the calls of a context. It throws for a call that must not be made. */
export interface CallRecorder {
  start(call: StartingCall): Awaitable<OpenRecord>
}

/** The row of one call. A call without a side effect gets its row when it has ended. */
export class CallRow {
  readonly #journal: Journal
  readonly #row: NewToolCall
  /** The call in warnings. */
  readonly #name: string
  #ref: ToolCallRef | undefined
  #keyRead = false

  constructor(journal: Journal, row: NewToolCall) {
    this.#journal = journal
    this.#row = row
    this.#name = `${row.toolName} (call ${row.seq})`
  }

  /** Before the call is made. Fails where it must not be made, because it could not be recorded. */
  begin(): Awaitable<void> {
    if (this.#row.sideEffect !== true) return awaitRecovery(this.#journal)
    return attempt(
      () => traceStep('journal', { operation: 'insert' }, () => this.#journal.insertToolCall(this.#row)),
      (ref) => void (this.#ref = ref),
      (error) => {
        if (this.#journal.onFailure === 'fail') throw error
        warnOnce(this.#journal, error, `${this.#name} is made without a record`)
      },
    )
  }

  /** When the call reads its idempotency key. */
  keyRead(): void {
    this.#keyRead = true
    noteKeyRead(this.#journal, this.#ref)
  }

  /** After the call. It never fails, because the result of the call stands. */
  end(ending: ToolCallEnd): Awaitable<void> {
    const end = this.#keyRead ? { ...ending, keyRead: true } : ending
    return attempt(
      () => {
        const ref = this.#ref
        if (ref === undefined)
          return traceStep('journal', { operation: 'insert' }, () => this.#journal.insertToolCall({ ...this.#row, ...end }))
        return traceStep('journal', { operation: 'update' }, () => lateOutcomesOf(this.#journal).write(ref, end))
      },
      () => undefined,
      (error) => {
        markFailed(this.#journal)
        warnOnce(this.#journal, error, `recording the end of ${this.#name} failed`)
      },
    )
  }
}

/** Notes in the row that a call has read its key, for other processes if this one dies. Its outcome says so too, so a failure is none. */
export function noteKeyRead(journal: Journal, ref: ToolCallRef | undefined): void {
  if (ref === undefined) return
  void attempt(
    () => journal.noteKeyRead?.(ref),
    () => undefined,
    () => undefined,
  )
}

const failedJournals = new WeakSet<Journal>()
const warned = new WeakMap<Journal, Set<string>>()

/** Notes that a journal could not record a call that was made already. */
export function markFailed(journal: Journal): void {
  failedJournals.add(journal)
}

/**
 * Checks that a journal which has failed works again, before a call that is recorded only afterwards.
 * `undefined` when there is nothing to check.
 */
function awaitRecovery(journal: Journal): Promise<void> | undefined {
  return failedJournals.has(journal) || journal.closed ? recheck(journal) : undefined
}

async function recheck(journal: Journal): Promise<void> {
  try {
    await journal.flush()
    failedJournals.delete(journal)
  } catch (error) {
    if (journal.onFailure === 'fail') throw error
    warnOnce(journal, error, 'calls are made without a record')
  }
}

/** Warns on stderr of what went wrong with a journal, once for each kind of failure. */
export function warnOnce(journal: Journal, error: unknown, what: string): void {
  const kind = ToolError.isInstance(error) ? error.code : String((error as { name?: unknown } | null)?.name)
  let kinds = warned.get(journal)
  if (kinds === undefined) warned.set(journal, (kinds = new Set()))
  if (kinds.has(kind)) return
  kinds.add(kind)
  console.warn(`[toolwright] ${what}:`, error)
}
