import {
  ToolError,
  type CallClaim,
  type ClaimedCall,
  type ClaimOptions,
  type JournalStore,
  type NewToolCall,
  type ReadRows,
  type RevertClaim,
  type RunSummary,
  type TaskId,
  type TaskLock,
  type ToolCallEnd,
  type ToolCallKey,
  type ToolCallRef,
  type ToolCallRow,
} from 'toolwright'

const sameTask = (a: TaskId, b: TaskId): boolean => a.runId === b.runId && a.nodeId === b.nodeId && a.iteration === b.iteration
const byPlace = (a: ToolCallRow, b: ToolCallRow): number => a.attempt - b.attempt || a.seq - b.seq
const failure = (
  code: 'JOURNAL_DUPLICATE_CALL' | 'JOURNAL_CALL_MISSING' | 'JOURNAL_CALL_FINISHED' | 'JOURNAL_TASK_LOCKED' | 'REPLAY_DIFFERS',
) => new ToolError({ code, summary: code })

/** The smallest store that does what one must do: what the tests of `toolwright/journal/testing` are checked by. */
export class ReferenceStore implements JournalStore {
  readonly #rows: ToolCallRow[] = []
  readonly #locked = new Set<string>()
  readonly #claimed = new Map<string, number>()
  #token = 0

  insertToolCall(call: NewToolCall): ToolCallRef {
    const { runId, nodeId, iteration = 0, attempt, seq, status = 'started', sideEffect = false } = call
    const key = { runId, nodeId, iteration, attempt, seq }
    if (this.#find(key) !== undefined) throw failure('JOURNAL_DUPLICATE_CALL')
    const taken = this.#rows.some((row) => row.callToken !== null && row.callToken === call.callToken)
    const row: ToolCallRow = {
      ...key,
      row: this.#rows.length + 1,
      callToken: taken ? `${call.callToken} ${Object.values(key).join('/')}` : (call.callToken ?? null),
      toolName: call.toolName,
      inputJson: call.inputJson ?? null,
      outputJson: null,
      startedAtMs: call.startedAtMs ?? Date.now(),
      finishedAtMs: null,
      status: 'started',
      statusText: 'started',
      errorJson: null,
      kind: 'tool',
      sideEffect,
      idempotent: call.idempotent ?? !sideEffect,
      acceptsIdempotencyKey: call.acceptsIdempotencyKey ?? false,
      hasRevert: call.hasRevert ?? false,
      idempotencyKey: call.idempotencyKey ?? null,
      revertStatus: null,
      revertedAtMs: null,
      revertErrorJson: null,
      forcedPastJson: null,
      argsHash: call.argsHash ?? null,
      ordinal: call.ordinal ?? null,
      outputBytes: null,
      isCut: false,
      acted: true,
    }
    this.#rows.push(row)
    if (status !== 'started') end(row, { ...call, status })
    return { ...key, row: row.row, startedAtMs: row.startedAtMs }
  }

  updateToolCall(call: ToolCallRef, ending: ToolCallEnd): void {
    const row = this.#find(call)
    if (row === undefined) throw failure('JOURNAL_CALL_MISSING')
    if (row.status !== 'started' && row.status !== 'unknown') throw failure('JOURNAL_CALL_FINISHED')
    end(row, ending)
  }

  noteKeyRead(call: ToolCallRef): void {
    const row = this.#find(call)
    if (row?.status === 'started' && row.startedAtMs === call.startedAtMs) row.acceptsIdempotencyKey = true
  }

  async listToolCalls(runId: string, nodeId: string, iteration: number): Promise<ToolCallRow[]> {
    return this.#copies((row) => sameTask(row, { runId, nodeId, iteration })).sort(byPlace)
  }

  async listRun(runId: string, { reverse = false }: { reverse?: boolean | undefined } = {}): Promise<ToolCallRow[]> {
    const rows = this.#copies((row) => row.runId === runId)
    rows.sort((a, b) => a.startedAtMs - b.startedAtMs || byPlace(a, b) || (a.nodeId < b.nodeId ? -1 : 1))
    return reverse ? rows.toReversed() : rows
  }

  async listRuns(): Promise<RunSummary[]> {
    return [...new Set(this.#rows.map((row) => row.runId))].map((runId) => {
      const rows = this.#rows.filter((row) => row.runId === runId)
      const count = (status: string): number => rows.filter((row) => row.status === status).length
      const ends = rows.flatMap((row) => row.finishedAtMs ?? [])
      return {
        runId,
        calls: rows.length,
        started: count('started'),
        succeeded: count('success'),
        failed: count('error'),
        startedAtMs: Math.min(...rows.map((row) => row.startedAtMs)),
        finishedAtMs: ends.length === 0 ? null : Math.max(...ends),
      }
    })
  }

  async readRows(after: number, limit: number): Promise<ToolCallRow[]> {
    return this.#copies((row) => row.row > after).slice(0, limit)
  }

  async readSince(cursor: string | undefined, limit: number): Promise<ReadRows> {
    const after = cursor === 'end' ? this.#rows.length : Number(cursor ?? 0)
    const rows = await this.readRows(after, limit)
    return { rows, cursor: String(rows.at(-1)?.row ?? after) }
  }

  async rows(numbers: readonly number[]): Promise<ToolCallRow[]> {
    return this.#copies((row) => numbers.includes(row.row))
  }

  async lastRow(): Promise<number> {
    return this.#rows.length
  }

  async lastAttempt(task: TaskId): Promise<{ attempt: number; seq: number } | undefined> {
    const last = this.#copies((row) => sameTask(row, task))
      .sort(byPlace)
      .at(-1)
    return last && { attempt: last.attempt, seq: last.seq }
  }

  async priorEffects(task: TaskId, attempt: number): Promise<ToolCallRow[]> {
    return this.#copies(
      (row) =>
        sameTask(row, task) &&
        row.attempt < attempt &&
        row.acted &&
        row.revertStatus !== 'reverted' &&
        (row.sideEffect === null || (row.sideEffect && row.idempotent !== true)),
    ).sort(byPlace)
  }

  async recordedCall(task: TaskId, tool: string, argsHash: string, ordinal: number): Promise<ToolCallRow | undefined> {
    return this.#copies(
      (row) =>
        sameTask(row, task) &&
        row.toolName === tool &&
        row.argsHash === argsHash &&
        row.ordinal === ordinal &&
        row.status === 'success' &&
        row.revertStatus === null,
    )
      .sort(byPlace)
      .at(-1)
  }

  async lockTask({ runId, nodeId, iteration }: TaskId): Promise<TaskLock> {
    const name = JSON.stringify([runId, nodeId, iteration])
    if (this.#locked.has(name)) throw failure('JOURNAL_TASK_LOCKED')
    this.#locked.add(name)
    return { release: () => void this.#locked.delete(name), token: (this.#token += 1), lost: new AbortController().signal }
  }

  /** Everything is in one process, so nobody is ever gone; only a recorded `unknown` is one. */
  async claimCall(call: ClaimedCall, { repeat = false }: ClaimOptions = {}): Promise<CallClaim> {
    const { runId, nodeId, iteration = 0, attempt, callId } = call
    const id = JSON.stringify([runId, nodeId, iteration, callId])
    const row = this.#rows[(this.#claimed.get(id) ?? 0) - 1]
    if (row === undefined) {
      const others = this.#rows.filter((one) => sameTask(one, { runId, nodeId, iteration }) && one.attempt === attempt)
      const claimed = this.insertToolCall({ ...call, seq: Math.max(0, ...others.map(({ seq }) => seq)) + 1 })
      this.#claimed.set(id, this.#rows.length)
      return { claimed }
    }
    if (row.toolName !== call.toolName || row.argsHash !== (call.argsHash ?? null)) throw failure('REPLAY_DIFFERS')
    if (row.status === 'success' || (row.status === 'error' && row.acted)) return { recorded: { ...row } }
    if (row.status === 'started') return { running: { ...row } }
    if (row.status === 'unknown' && !repeat) return { unknown: { ...row } }
    const acceptsIdempotencyKey = call.acceptsIdempotencyKey ?? false
    Object.assign(row, {
      status: 'started',
      statusText: 'started',
      finishedAtMs: null,
      errorJson: null,
      acted: true,
      acceptsIdempotencyKey,
    })
    row.startedAtMs += 1
    return { claimed: { runId, nodeId, iteration, attempt: row.attempt, seq: row.seq, row: row.row, startedAtMs: row.startedAtMs } }
  }

  async claimRevert(number: number): Promise<RevertClaim> {
    const row = this.#rows[number - 1]
    if (row === undefined) throw failure('JOURNAL_CALL_MISSING')
    if (row.revertStatus !== null) return { taken: row.revertStatus }
    if (row.hasRevert !== true) return { nothing: 'its tool cannot undo it' }
    if (row.status === 'started') return { nothing: 'it has no outcome yet' }
    if (!row.acted) return { nothing: 'it was refused before it did anything' }
    row.revertStatus = 'reverting'
    return { won: { ...row } }
  }

  async finishRevert(number: number, errorJson?: string): Promise<boolean> {
    const row = this.#rows[number - 1]
    if (row?.revertStatus !== 'reverting') return false
    row.revertStatus = errorJson === undefined ? 'reverted' : 'revert-failed'
    row.revertedAtMs = errorJson === undefined ? Date.now() : null
    row.revertErrorJson = errorJson ?? null
    return true
  }

  async recover() {
    return { calls: [], reverts: [], alive: 0, undecided: 0 }
  }

  async flush(): Promise<void> {}

  async close(): Promise<void> {}

  #find(key: ToolCallKey): ToolCallRow | undefined {
    return this.#rows.find((row) => sameTask(row, key) && row.attempt === key.attempt && row.seq === key.seq)
  }

  #copies(isWanted: (row: ToolCallRow) => boolean): ToolCallRow[] {
    return this.#rows.filter(isWanted).map((row) => ({ ...row }))
  }
}

function end(row: ToolCallRow, { status, outputText, outputJson, errorJson, finishedAtMs, acted = true, keyRead }: ToolCallEnd): void {
  Object.assign(row, { status, statusText: status, finishedAtMs: finishedAtMs ?? Date.now() })
  if (keyRead === true) row.acceptsIdempotencyKey = true
  row.acted = acted || status !== 'error'
  if (status === 'success') row.outputJson = outputText === undefined ? (outputJson ?? null) : JSON.stringify(outputText)
  else row.errorJson = errorJson ?? null
  row.outputBytes = row.outputJson === null ? null : Buffer.byteLength(row.outputJson)
}
