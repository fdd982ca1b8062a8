import type { CallEnd, JournalOpenOptions, JournalTask, ListedCalls, NativeJournal, NewCall, Unfinished } from '../../index.js'
import { andThen } from '../core/abort.js'
import { openNativeJournal, unwrap } from '../core/native.js'
import { invalid } from '../core/options.js'
import { parseRow, parseRows } from '../core/parse-rows.js'
import { callRow } from './call-row.js'
import { isWellFormed } from '../core/text.js'
import type { JournalStore, NewToolCall, TaskId, ToolCallEnd, ToolCallRef, ToolCallRow } from './journal-store.js'
import { steadyNow } from '../core/clock.js'
import { cursorNumber, wholeRows } from './read-rows.js'

/** The most rows of one question: each may be large. */
const PAGE_ROWS = 250

/** The journal of the addon: SQLite in a file, which several processes may share, or in memory. */
export async function openNativeStore(location: string, options: JournalOpenOptions): Promise<JournalStore & { path: string }> {
  const { native, path } = await openNativeJournal(location, options)
  return { path, ...nativeStore(native) }
}

function nativeStore(native: NativeJournal): JournalStore {
  return {
    insertToolCall(call) {
      const { runId, nodeId, iteration = 0, attempt, seq, status = 'started' } = call
      const intent = asIntent(call)
      const ref = { runId, nodeId, iteration, attempt, seq, startedAtMs: intent.startedAtMs }
      if (status !== 'started') return andThen(native.record(intent, asEnd({ ...call, status })), (outcome) => (unwrap(outcome), ref))
      return andThen(native.begin(intent), (outcome) => ({ ...ref, row: unwrap(outcome) }))
    },
    updateToolCall(call, end) {
      const { row, startedAtMs, attempt, seq } = call
      if (row === undefined || startedAtMs === undefined) return updateByKey(native, call, end)
      return andThen(native.finish(row, attempt, seq, startedAtMs, asEnd(end)), (outcome) => void unwrap(outcome))
    },
    noteKeyRead({ row, startedAtMs, attempt, seq }) {
      if (row === undefined || startedAtMs === undefined) return undefined
      return andThen(native.noteKeyRead(row, attempt, seq, startedAtMs), (outcome) => void unwrap(outcome))
    },
    async listToolCalls(runId, nodeId, iteration, { outline = false } = {}) {
      return listed(this, await native.list({ runId, nodeId, iteration }, outline), outline)
    },
    async listRun(runId, { reverse = false, outline = false } = {}) {
      return listed(this, await native.listRun(runId, reverse, outline), outline)
    },
    listRuns: async () => parseRows(unwrap(await native.listRuns())),
    async readRows(after, limit) {
      const rows: ToolCallRow[] = []
      while (rows.length < limit) {
        const count = Math.min(limit - rows.length, PAGE_ROWS)
        const page = await callRows(native.tail(rows.at(-1)?.row ?? after, count))
        for (const row of page) rows.push(row)
        if (page.length < count) break
      }
      return rows
    },
    async rows(numbers) {
      const rows: ToolCallRow[] = []
      const sorted = [...numbers].sort((a, b) => a - b)
      for (let start = 0; start < sorted.length; start += PAGE_ROWS) {
        for (const row of await callRows(native.rows(sorted.slice(start, start + PAGE_ROWS)))) rows.push(row)
      }
      return rows
    },
    lastRow: async () => unwrap(await native.lastRow()),
    // One process writes at a time, so rows become visible in the order of their numbers.
    async readSince(cursor, limit) {
      if (cursor === 'end') return { rows: [], cursor: String(await this.lastRow()) }
      const after = cursorNumber(cursor)
      const rows = await this.readRows(after, limit)
      return { rows, cursor: String(rows.at(-1)?.row ?? after) }
    },
    lastAttempt: async (task) => unwrap(await native.lastAttempt(asTask(task))) ?? undefined,
    priorEffects: async (task, attempt) => callRows(native.priorEffects(asTask(task), attempt)),
    recordedCall: async (task, toolName, argsHash, ordinal) =>
      optionalCallRow(unwrap(await native.recorded(asTask(task), toolName, argsHash, ordinal))),
    async lockTask(task, attempt) {
      const lock = unwrap(await native.lockTask(asTask(task), attempt))
      return { release: () => native.unlockTask(lock), token: lockToken(), lost: neverLost }
    },
    async claimCall(call, { repeat = false } = {}) {
      const intent = asIntent({ ...call, seq: 0 })
      const answer = unwrap(await native.claimCall(intent, checkedIds({ callId: call.callId }).callId, repeat))
      const rowOf = (text: string): ToolCallRow => callRow(JSON.parse(text) as unknown[])
      if (answer.recorded !== undefined) return { recorded: rowOf(answer.recorded) }
      if (answer.unknown !== undefined) return { unknown: rowOf(answer.unknown) }
      if (answer.running !== undefined) return { running: rowOf(answer.running) }
      const [row, attempt = 0, seq = 0, startedAtMs] = answer.claimed ?? []
      const { runId, nodeId, iteration = 0 } = call
      return { claimed: { runId, nodeId, iteration, attempt, seq, row, startedAtMs } }
    },
    async claimRevert(row) {
      const { won, taken, nothing = '' } = unwrap(await native.claimRevert(row))
      if (won !== undefined) return { won: callRow(JSON.parse(won) as unknown[]) }
      return taken === undefined ? { nothing } : { taken }
    },
    finishRevert: async (row, errorJson) => unwrap(await native.finishRevert(row, errorJson)),
    leftOpen: async () => unwrap(await native.leftOpen()),
    recover: async () => unwrap(await native.recover()),
    flush: async () => unwrap(await native.flush()),
    close: async () => unwrap(await native.close()),
  }
}

/** The kernel keeps the lock of a file as long as the process. */
const neverLost = new AbortController().signal

let lastToken = 0

/** Of one machine, whose clock orders its locks. */
function lockToken(): number {
  lastToken = Math.max(lastToken + 1, steadyNow() * 1_000)
  return lastToken
}

async function updateByKey(native: NativeJournal, call: ToolCallRef, end: ToolCallEnd): Promise<void> {
  const { attempt, seq } = call
  const existing = optionalCallRow(unwrap(await native.find(asTask(call), attempt, seq)))
  // No row has the number 0, so the addon reports a missing one.
  const { row = 0, startedAtMs = 0 } = existing ?? {}
  unwrap(await native.finish(row, attempt, seq, startedAtMs, asEnd(end)))
}

/** The rows; where the addon gave outlines because more does not fit one answer, they are completed. */
async function listed(store: JournalStore, answer: ListedCalls | Unfinished, outline: boolean): Promise<ToolCallRow[]> {
  const { rows, isOutline } = unwrap(answer)
  const outlines = await parseRows(rows, callRow)
  if (outline || !isOutline) return outlines
  const whole: ToolCallRow[] = []
  for await (const some of wholeRows(store, outlines)) for (const row of some) whole.push(row)
  return whole
}

const callRows = async (answer: Promise<string[] | Unfinished>): Promise<ToolCallRow[]> => parseRows(unwrap(await answer), callRow)

function optionalCallRow(text: string | null): ToolCallRow | undefined {
  const fields = parseRow<unknown[]>(text)
  return fields === undefined ? undefined : callRow(fields)
}

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
    seen: end.seen,
    keyRead: end.keyRead,
  } as CallEnd
}
