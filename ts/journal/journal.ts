import type { JournalStore, ToolCallRow } from './journal-store.js'

/** What happens to a call that cannot be recorded. */
export type OnJournalFailure = 'fail' | 'continue'

/** How {@link Journal.tail} reads. */
export interface TailOptions {
  /** Only the calls of this run. @default all */
  runId?: string | undefined
  /** The number of the row after which it begins; `'end'` for rows to come. @default 0 */
  after?: number | 'end' | undefined
  /** Whether it waits for rows to come. @default true */
  follow?: boolean | undefined
  /** Ends it: it then throws the signal's reason. */
  signal?: AbortSignal | undefined
  /** How often it looks for new rows, in milliseconds. @default 100 */
  pollMs?: number | undefined
}

/**
 * Recorded tool calls, and how calls are recorded. Closed by `close()` or by `await using`.
 *
 * Opened by `openJournal`, and passed to `runTask`, to `createTools` or, as `journal`, to
 * `runWithToolContext`.
 */
export interface Journal extends JournalStore, AsyncDisposable {
  /** The file's path, or `memory:`. */
  readonly location: string
  /** See `openJournal`. */
  readonly onFailure: OnJournalFailure
  /** See `openJournal`. */
  readonly redactKeys: boolean
  /** Whether `close` has been called. */
  readonly closed: boolean
  /**
   * Rows in the order in which they were written, and again those that had no outcome yet, once
   * they have one.
   *
   * @throws the signal's reason when it is aborted.
   */
  tail(options?: TailOptions): AsyncGenerator<ToolCallRow, void, undefined>
}
