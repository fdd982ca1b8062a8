import type { CallEnd, JournalTask, NativeJournal, NewCall } from '../../index.js'
import { openNativeJournal, unwrap } from '../core/native.js'
import { invalid } from '../core/options.js'
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
import { parseRows } from './native-rows.js'
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
  const { native, value } = await openNativeJournal(location, {
    full: synchronous === 'full',
    readOnly,
    outputLimitBytes: maxOutputBytes,
    patienceMs: busyTimeoutMs,
  })
  return new NativeStore(native, (value as { path: string }).path)
}

/** How many rows are asked for at once, whatever is in them. */
const SOME = 250

type Told = Awaited<ReturnType<NativeJournal['list']>>

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
      const told = this.#native.record(intent, asEnd({ ...call, status }))
      if (isPromise(told)) return told.then((outcome) => (unwrap(outcome), ref))
      unwrap(told)
      return ref
    }
    const told = this.#native.begin(intent)
    if (isPromise(told)) return told.then((outcome) => ({ ...ref, row: unwrap(outcome).row }))
    return { ...ref, row: unwrap(told).row }
  }

  updateToolCall(call: ToolCallRef, end: ToolCallEnd): Awaitable<void> {
    const { row, startedAtMs, attempt, seq } = call
    if (row === undefined || startedAtMs === undefined) return this.#updateByKey(call, end)
    const told = this.#native.finish(row, attempt, seq, startedAtMs, asEnd(end))
    if (isPromise(told)) return told.then((outcome) => void unwrap(outcome))
    unwrap(told)
  }

  async #updateByKey(call: ToolCallRef, end: ToolCallEnd): Promise<void> {
    const { attempt, seq } = call
    const [found] = await this.#rows(this.#native.find(asTask(call), attempt, seq))
    // A row that is not there has no number, and the addon says so.
    const { row = 0, startedAtMs = 0 } = found ?? {}
    unwrap(await this.#native.finish(row, attempt, seq, startedAtMs, asEnd(end)))
  }

  listToolCalls(runId: string, nodeId: string, iteration: number, { outline = false }: ListOptions = {}): Promise<ToolCallRow[]> {
    return this.#listed(this.#native.list({ runId, nodeId, iteration }, outline), outline)
  }

  listRun(runId: string, { reverse = false, outline = false }: ListRunOptions = {}): Promise<ToolCallRow[]> {
    return this.#listed(this.#native.listRun(runId, reverse, outline), outline)
  }

  async listRuns(): Promise<RunSummary[]> {
    return unwrap(await this.#native.listRuns()).value as RunSummary[]
  }

  async readRows(after: number, limit: number): Promise<ToolCallRow[]> {
    const rows: ToolCallRow[] = []
    // Each may be large, so that they are fetched some at a time.
    while (rows.length < limit) {
      const wanted = Math.min(limit - rows.length, SOME)
      const some = await this.#rows(this.#native.tail(rows.at(-1)?.row ?? after, wanted))
      for (const row of some) rows.push(row)
      if (some.length < wanted) break
    }
    return rows
  }

  async rows(numbers: readonly number[]): Promise<ToolCallRow[]> {
    const rows: ToolCallRow[] = []
    const sorted = [...numbers].sort((a, b) => a - b)
    for (let start = 0; start < sorted.length; start += SOME) {
      for (const row of await this.#rows(this.#native.rows(sorted.slice(start, start + SOME)))) rows.push(row)
    }
    return rows
  }

  async lastRow(): Promise<number> {
    return (unwrap(await this.#native.lastRow()).value as { row: number }).row
  }

  async lastAttempt(task: TaskId): Promise<{ attempt: number; seq: number } | undefined> {
    const { value } = unwrap(await this.#native.lastAttempt(asTask(task)))
    return (value as { attempt: number; seq: number } | null) ?? undefined
  }

  priorEffects(task: TaskId, attempt: number): Promise<ToolCallRow[]> {
    return this.#rows(this.#native.priorEffects(asTask(task), attempt))
  }

  async recordedCall(task: TaskId, toolName: string, argsHash: string, ordinal: number): Promise<ToolCallRow | undefined> {
    const [found] = await this.#rows(this.#native.recorded(asTask(task), toolName, argsHash, ordinal))
    return found
  }

  async lockTask(task: TaskId, attempt: number): Promise<TaskLock> {
    const { lock } = unwrap(await this.#native.lockTask(asTask(task), attempt)).value as { lock: number }
    return { release: () => this.#native.unlockTask(lock) }
  }

  async claimRevert(row: number): Promise<RevertClaim> {
    const { rows, value } = unwrap(await this.#native.claimRevert(row))
    const [won] = await parseRows(rows)
    return won === undefined ? (value as { taken: string } | { nothing: string }) : { won }
  }

  async finishRevert(row: number, errorJson?: string): Promise<boolean> {
    return unwrap(await this.#native.finishRevert(row, errorJson)).value as boolean
  }

  async recover(): Promise<RecoveredCalls> {
    return unwrap(await this.#native.recover()).value as RecoveredCalls
  }

  async flush(): Promise<void> {
    unwrap(await this.#native.flush())
  }

  async close(): Promise<void> {
    unwrap(await this.#native.close())
  }

  /** All of the rows, also where the addon gave their outline because that is what fits one answer. */
  async #listed(asked: Promise<Told>, outline: boolean): Promise<ToolCallRow[]> {
    const { rows, value } = unwrap(await asked)
    const found = await parseRows(rows)
    if (outline || value !== true) return found
    const whole: ToolCallRow[] = []
    for await (const some of wholeRows(this, found)) for (const row of some) whole.push(row)
    return whole
  }

  async #rows(asked: Promise<Told>): Promise<ToolCallRow[]> {
    return parseRows(unwrap(await asked).rows)
  }
}

/** Not by its class: where modules have globals of their own, the addon's promise is another one. */
const isPromise = <T>(told: T | Promise<T>): told is Promise<T> => typeof told === 'object' && told !== null && 'then' in told

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
