import type { CallEnd, JournalTask, ListedCalls, NewCall, NativeJournal, Unfinished } from '../../index.js'
import { openNativeJournal, unwrap } from '../core/native.js'
import { invalid } from '../core/options.js'
import { parseRow, parseRows } from '../core/parse-rows.js'
import { isWellFormed } from '../core/text.js'
import type {
  Awaitable,
  JournalStore,
  ListOptions,
  ListRunOptions,
  NewToolCall,
  RecoveredCalls,
  RevertClaim,
  RunSummary,
  TaskId,
  TaskLock,
  ToolCallEnd,
  ToolCallRef,
  ToolCallRow,
} from './journal-store.js'
import { steadyNow } from '../core/clock.js'
import { wholeRows } from './read-rows.js'

/** How the addon's journal is opened. */
export interface NativeStoreOptions {
  synchronous: 'normal' | 'full'
  readOnly: boolean
  maxOutputBytes: number
  busyTimeoutMs: number
}

/** The journal of the addon: SQLite in a file, which several processes may share, or in memory. */
export async function openNativeStore(
  location: string,
  { synchronous, readOnly, maxOutputBytes, busyTimeoutMs }: NativeStoreOptions,
): Promise<JournalStore & { path: string }> {
  const { native, path } = await openNativeJournal(location, {
    full: synchronous === 'full',
    readOnly,
    outputLimitBytes: maxOutputBytes,
    busyTimeoutMs,
  })
  return new NativeStore(native, path)
}

/** The most rows of one question: each may be large. */
const PAGE_ROWS = 250

class NativeStore implements JournalStore {
  readonly path: string
  readonly #native: NativeJournal

  constructor(native: NativeJournal, path: string) {
    this.#native = native
    this.path = path
  }

  insertToolCall(call: NewToolCall): Awaitable<ToolCallRef> {
    const { runId, nodeId, iteration = 0, attempt, seq, status = 'started' } = call
    const intent = asIntent(call)
    const ref = { runId, nodeId, iteration, attempt, seq, startedAtMs: intent.startedAtMs }
    if (status !== 'started') {
      const recorded = this.#native.record(intent, asEnd({ ...call, status }))
      if (isPromise(recorded)) return recorded.then((outcome) => (unwrap(outcome), ref))
      unwrap(recorded)
      return ref
    }
    const begun = this.#native.begin(intent)
    if (isPromise(begun)) return begun.then((outcome) => ({ ...ref, row: unwrap(outcome) }))
    return { ...ref, row: unwrap(begun) }
  }

  updateToolCall(call: ToolCallRef, end: ToolCallEnd): Awaitable<void> {
    const { row, startedAtMs, attempt, seq } = call
    if (row === undefined || startedAtMs === undefined) return this.#updateByKey(call, end)
    const finished = this.#native.finish(row, attempt, seq, startedAtMs, asEnd(end))
    if (isPromise(finished)) return finished.then((outcome) => void unwrap(outcome))
    unwrap(finished)
  }

  async #updateByKey(call: ToolCallRef, end: ToolCallEnd): Promise<void> {
    const { attempt, seq } = call
    const existing = parseRow<ToolCallRow>(unwrap(await this.#native.find(asTask(call), attempt, seq)))
    // No row has the number 0, so the addon reports a missing one.
    const { row = 0, startedAtMs = 0 } = existing ?? {}
    unwrap(await this.#native.finish(row, attempt, seq, startedAtMs, asEnd(end)))
  }

  listToolCalls(runId: string, nodeId: string, iteration: number, { outline = false }: ListOptions = {}): Promise<ToolCallRow[]> {
    return this.#listed(this.#native.list({ runId, nodeId, iteration }, outline), outline)
  }

  listRun(runId: string, { reverse = false, outline = false }: ListRunOptions = {}): Promise<ToolCallRow[]> {
    return this.#listed(this.#native.listRun(runId, reverse, outline), outline)
  }

  async listRuns(): Promise<RunSummary[]> {
    return parseRows(unwrap(await this.#native.listRuns()))
  }

  async readRows(after: number, limit: number): Promise<ToolCallRow[]> {
    const rows: ToolCallRow[] = []
    while (rows.length < limit) {
      const count = Math.min(limit - rows.length, PAGE_ROWS)
      const page = await this.#rows(this.#native.tail(rows.at(-1)?.row ?? after, count))
      for (const row of page) rows.push(row)
      if (page.length < count) break
    }
    return rows
  }

  async rows(numbers: readonly number[]): Promise<ToolCallRow[]> {
    const rows: ToolCallRow[] = []
    const sorted = [...numbers].sort((a, b) => a - b)
    for (let start = 0; start < sorted.length; start += PAGE_ROWS) {
      for (const row of await this.#rows(this.#native.rows(sorted.slice(start, start + PAGE_ROWS)))) rows.push(row)
    }
    return rows
  }

  async lastRow(): Promise<number> {
    return unwrap(await this.#native.lastRow())
  }

  async lastAttempt(task: TaskId): Promise<{ attempt: number; seq: number } | undefined> {
    return unwrap(await this.#native.lastAttempt(asTask(task))) ?? undefined
  }

  priorEffects(task: TaskId, attempt: number): Promise<ToolCallRow[]> {
    return this.#rows(this.#native.priorEffects(asTask(task), attempt))
  }

  async recordedCall(task: TaskId, toolName: string, argsHash: string, ordinal: number): Promise<ToolCallRow | undefined> {
    return parseRow(unwrap(await this.#native.recorded(asTask(task), toolName, argsHash, ordinal)))
  }

  async lockTask(task: TaskId, attempt: number): Promise<TaskLock> {
    const lock = unwrap(await this.#native.lockTask(asTask(task), attempt))
    return { release: () => this.#native.unlockTask(lock) }
  }

  async claimRevert(row: number): Promise<RevertClaim> {
    const { won, taken, nothing = '' } = unwrap(await this.#native.claimRevert(row))
    if (won !== undefined) return { won: JSON.parse(won) as ToolCallRow }
    return taken === undefined ? { nothing } : { taken }
  }

  async finishRevert(row: number, errorJson?: string): Promise<boolean> {
    return unwrap(await this.#native.finishRevert(row, errorJson))
  }

  async recover(): Promise<RecoveredCalls> {
    return unwrap(await this.#native.recover())
  }

  async flush(): Promise<void> {
    unwrap(await this.#native.flush())
  }

  async close(): Promise<void> {
    unwrap(await this.#native.close())
  }

  /** The rows; where the addon gave outlines because more does not fit one answer, they are completed. */
  async #listed(answer: Promise<ListedCalls | Unfinished>, outline: boolean): Promise<ToolCallRow[]> {
    const { rows, isOutline } = unwrap(await answer)
    const listed = await parseRows<ToolCallRow>(rows)
    if (outline || !isOutline) return listed
    const whole: ToolCallRow[] = []
    for await (const some of wholeRows(this, listed)) for (const row of some) whole.push(row)
    return whole
  }

  async #rows(answer: Promise<string[] | Unfinished>): Promise<ToolCallRow[]> {
    return parseRows(unwrap(await answer))
  }
}

/** Not by its class: where modules have globals of their own, the addon's promise is another one. */
const isPromise = <T>(outcome: T | Promise<T>): outcome is Promise<T> =>
  typeof outcome === 'object' && outcome !== null && 'then' in outcome

const asTask = ({ runId, nodeId, iteration }: TaskId): JournalTask => ({ ...checkedIds({ runId, nodeId }), iteration })

/** Ids of half a surrogate pair would all become the same one on their way to UTF-8. */
function checkedIds<T extends Record<string, string>>(ids: T): T {
  for (const [name, id] of Object.entries(ids)) if (!isWellFormed(id)) throw invalid(`${name} must be a well-formed string.`)
  return ids
}

/** Every field is there, since the addon looks at each. */
function asIntent(call: NewToolCall): NewCall {
  const { sideEffect = false } = call
  return {
    ...checkedIds({ runId: call.runId, nodeId: call.nodeId }),
    iteration: call.iteration ?? 0,
    attempt: call.attempt,
    seq: call.seq,
    toolName: call.toolName,
    inputJson: call.inputJson ?? undefined,
    startedAtMs: call.startedAtMs ?? steadyNow(),
    sideEffect,
    idempotent: call.idempotent ?? !sideEffect,
    acceptsIdempotencyKey: call.acceptsIdempotencyKey ?? false,
    hasRevert: call.hasRevert ?? false,
    idempotencyKey: call.idempotencyKey ?? undefined,
    callToken: call.callToken ?? undefined,
    argsHash: call.argsHash ?? undefined,
    ordinal: call.ordinal ?? undefined,
  } as NewCall
}

function asEnd(end: ToolCallEnd): CallEnd {
  return {
    status: end.status,
    acted: end.acted ?? true,
    outputJson: end.outputJson ?? undefined,
    outputText: end.outputText,
    errorJson: end.errorJson ?? undefined,
    finishedAtMs: end.finishedAtMs ?? steadyNow(),
    whole: end.whole,
  } as CallEnd
}
