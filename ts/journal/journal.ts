import type { JournalStore, ToolCallRow } from './journal-store.js'

/** The treatment of a call that cannot be recorded. */
export type OnJournalFailure = 'fail' | 'continue'

/** Options of {@link Journal.tail}. */
export interface TailOptions {
  /** Only the calls of this run. @default all */
  runId?: string | undefined
  /** The number of the row after which to begin; `'end'` for future rows only. @default 0 */
  after?: number | 'end' | undefined
  /** Whether to wait for further rows. @default true */
  follow?: boolean | undefined
  /** Ends the iteration, which throws the signal's reason. */
  signal?: AbortSignal | undefined
  /** How often to look for new rows, in milliseconds. @default 100 */
  pollMs?: number | undefined
}

/**
 * A journal of tool calls. Close it with `close()` or `await using`.
 *
 * `openJournal` opens it. Pass it to `runTask`, `createTools` or `runWithToolContext` as `journal`.
 */
export interface Journal extends JournalStore, AsyncDisposable {
  beginTask: NonNullable<JournalStore['beginTask']>
  /** The file's path, or `memory:`. */
  readonly location: string
  /** See `openJournal`. */
  readonly onFailure: OnJournalFailure
  /** See `openJournal`. */
  readonly redactKeys: boolean
  /** Whether `close` has been called. */
  readonly closed: boolean
  /**
   * Yields rows in the order in which they were written, and a row without an outcome again once it has one.
   *
   * @throws the signal's reason after an abort.
   */
  tail(options?: TailOptions): AsyncGenerator<ToolCallRow, void, undefined>
}
