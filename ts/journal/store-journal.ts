import { ToolError } from '../errors.js'
import type { Journal, OnJournalFailure, TailOptions } from './journal.js'
import type {
  Awaitable,
  JournalStore,
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
import { tailRows } from './tail-rows.js'

/** A store with what `openJournal` was told besides. */
export class StoreJournal implements Journal {
  readonly location: string
  readonly onFailure: OnJournalFailure
  readonly redactKeys: boolean
  readonly #store: JournalStore
  #closed = false

  constructor(store: JournalStore, location: string, onFailure: OnJournalFailure, redactKeys: boolean) {
    this.#store = store
    this.location = location
    this.onFailure = onFailure
    this.redactKeys = redactKeys
  }

  get closed(): boolean {
    return this.#closed
  }

  insertToolCall(call: NewToolCall): Awaitable<ToolCallRef> {
    return this.#open().insertToolCall(call)
  }

  updateToolCall(call: ToolCallRef, end: ToolCallEnd): Awaitable<void> {
    return this.#open().updateToolCall(call, end)
  }

  async listToolCalls(runId: string, nodeId: string, iteration = 0): Promise<ToolCallRow[]> {
    return this.#open().listToolCalls(runId, nodeId, iteration)
  }

  async listRun(runId: string, options?: { reverse?: boolean | undefined }): Promise<ToolCallRow[]> {
    return this.#open().listRun(runId, options)
  }

  async listRuns(): Promise<RunSummary[]> {
    return this.#open().listRuns()
  }

  async readRows(after: number, limit: number): Promise<ToolCallRow[]> {
    return this.#open().readRows(after, limit)
  }

  async rows(numbers: readonly number[]): Promise<ToolCallRow[]> {
    return this.#open().rows(numbers)
  }

  async lastRow(): Promise<number> {
    return this.#open().lastRow()
  }

  async lastAttempt(task: TaskId): Promise<{ attempt: number; seq: number } | undefined> {
    return this.#open().lastAttempt(task)
  }

  async priorEffects(task: TaskId, attempt: number): Promise<ToolCallRow[]> {
    return this.#open().priorEffects(task, attempt)
  }

  async recordedCall(task: TaskId, tool: string, argsHash: string, ordinal: number): Promise<ToolCallRow | undefined> {
    return this.#open().recordedCall(task, tool, argsHash, ordinal)
  }

  async lockTask(task: TaskId, attempt: number): Promise<TaskLock> {
    return this.#open().lockTask(task, attempt)
  }

  async claimRevert(row: number): Promise<RevertClaim> {
    return this.#open().claimRevert(row)
  }

  async finishRevert(row: number, errorJson?: string): Promise<boolean> {
    return this.#open().finishRevert(row, errorJson)
  }

  async recover(): Promise<RecoveredCalls> {
    return this.#open().recover()
  }

  async flush(): Promise<void> {
    return this.#open().flush()
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#store.close()
  }

  tail(options: TailOptions = {}): AsyncGenerator<ToolCallRow, void, undefined> {
    return tailRows(this, options)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #open(): JournalStore {
    if (!this.#closed) return this.#store
    const summary = 'Journal is closed'
    throw new ToolError({
      code: 'JOURNAL_CLOSED',
      summary,
      place: `${summary}: \`${this.location}\``,
      hint: 'Open it again, or close it only after the last call.',
      details: { path: this.location },
    })
  }
}
