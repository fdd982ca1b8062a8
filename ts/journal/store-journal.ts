import { ToolError } from '../core/errors.js'
import { boolean, checked, type Checks, checkText, invalid, optional, parseOptions } from '../core/options.js'
import { checkCount, checkEnd, checkIds, checkNewCall, checkRef, checkTaskId, tailChecks } from './checks.js'
import type { Journal, OnJournalFailure, TailOptions } from './journal.js'
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
import { tailRows } from './read-rows.js'

const listChecks = { outline: optional(boolean) } satisfies Checks<ListOptions>
const listRunChecks = { reverse: optional(boolean), ...listChecks } satisfies Checks<ListRunOptions>

/** A store with the options of `openJournal`. Arguments are checked here, so that a store need not. */
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
    checked('journal.insertToolCall', () => checkNewCall(call))
    return this.#open().insertToolCall(call)
  }

  updateToolCall(call: ToolCallRef, end: ToolCallEnd): Awaitable<void> {
    checked('journal.updateToolCall', () => {
      checkRef(call)
      checkEnd(end)
    })
    return this.#open().updateToolCall(call, end)
  }

  async listToolCalls(runId: string, nodeId: string, iteration = 0, options?: ListOptions): Promise<ToolCallRow[]> {
    const listed = options === undefined ? undefined : parseOptions('journal.listToolCalls', options, listChecks)
    checked('journal.listToolCalls', () => checkIds(runId, nodeId, iteration))
    return this.#open().listToolCalls(runId, nodeId, iteration, listed)
  }

  async listRun(runId: string, options?: ListRunOptions): Promise<ToolCallRow[]> {
    const listed = options === undefined ? undefined : parseOptions('journal.listRun', options, listRunChecks)
    checked('journal.listRun', () => checkText('runId', runId))
    return this.#open().listRun(runId, listed)
  }

  async listRuns(): Promise<RunSummary[]> {
    return this.#open().listRuns()
  }

  async readRows(after: number, limit: number): Promise<ToolCallRow[]> {
    checked('journal.readRows', () => {
      checkCount('after', after)
      checkCount('limit', limit)
    })
    return this.#open().readRows(after, limit)
  }

  async rows(numbers: readonly number[]): Promise<ToolCallRow[]> {
    checked('journal.rows', () => {
      if (!Array.isArray(numbers)) throw invalid('The numbers of rows must be an array.')
      for (const number of numbers) checkCount('The number of a row', number)
    })
    return this.#open().rows(numbers)
  }

  async lastRow(): Promise<number> {
    return this.#open().lastRow()
  }

  async lastAttempt(task: TaskId): Promise<{ attempt: number; seq: number } | undefined> {
    checked('journal.lastAttempt', () => checkTaskId(task))
    return this.#open().lastAttempt(task)
  }

  async priorEffects(task: TaskId, attempt: number): Promise<ToolCallRow[]> {
    checked('journal.priorEffects', () => {
      checkTaskId(task)
      checkCount('attempt', attempt)
    })
    return this.#open().priorEffects(task, attempt)
  }

  async recordedCall(task: TaskId, tool: string, argsHash: string, ordinal: number): Promise<ToolCallRow | undefined> {
    checked('journal.recordedCall', () => {
      checkTaskId(task)
      checkText('toolName', tool)
      checkText('argsHash', argsHash)
      checkCount('ordinal', ordinal)
    })
    return this.#open().recordedCall(task, tool, argsHash, ordinal)
  }

  async lockTask(task: TaskId, attempt: number): Promise<TaskLock> {
    checked('journal.lockTask', () => {
      checkTaskId(task)
      checkCount('attempt', attempt)
    })
    return this.#open().lockTask(task, attempt)
  }

  async claimRevert(row: number): Promise<RevertClaim> {
    checked('journal.claimRevert', () => checkCount('row', row))
    return this.#open().claimRevert(row)
  }

  async finishRevert(row: number, errorJson?: string): Promise<boolean> {
    checked('journal.finishRevert', () => {
      checkCount('row', row)
      if (errorJson !== undefined) checkText('errorJson', errorJson)
    })
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
    return tailRows(this, parseOptions('journal.tail', options, tailChecks))
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
