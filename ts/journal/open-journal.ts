import { boolean, type Checks, checked, invalid, oneOf, optional, parseOptions, positive } from '../core/options.js'
import { isStore } from './checks.js'
import type { Journal, OnJournalFailure } from './journal.js'
import type { JournalStore } from './journal-store.js'
import { openNativeStore } from './native-store.js'
import { storeJournal } from './store-journal.js'

/** Options of {@link openJournal}. */
export interface OpenJournalOptions {
  /**
   * Which failures a row survives once its call continues. `normal`: the end of every process, including SIGKILL. `full`: a
   * power failure too, for some milliseconds each.
   * @default 'normal'
   */
  synchronous?: 'normal' | 'full' | undefined
  /**
   * What happens when the journal fails. `fail`: the call stops before it has done anything. `continue`: the call is made
   * without a record, with one warning on stderr. After a call has acted, its caller gets its own result or error in both
   * cases.
   * @default 'fail'
   */
  onFailure?: OnJournalFailure | undefined
  /**
   * Whether to replace the values of argument keys that look like secrets (`apiKey`, `password`, …) by `[redacted]`, in calls
   * of tools of your own.
   * @default false
   */
  redactKeys?: boolean | undefined
  /** The most bytes of an output or an error that a row keeps. @default 200000 */
  maxOutputBytes?: number | undefined
  /** Whether the journal is only read. An older file then gets no new columns. @default false */
  readOnly?: boolean | undefined
  /** How long a call waits for other processes that write, in milliseconds. @default 10000 */
  busyTimeoutMs?: number | undefined
}

const openChecks = {
  synchronous: optional(oneOf('normal', 'full'), 'normal'),
  onFailure: optional(oneOf('fail', 'continue'), 'fail'),
  redactKeys: optional(boolean, false),
  maxOutputBytes: optional(positive(), 200_000),
  readOnly: optional(boolean, false),
  busyTimeoutMs: optional(positive(), 10_000),
} satisfies Checks<OpenJournalOptions>

/**
 * Opens a journal of tool calls: an SQLite file that any number of processes may share, created if it is missing, or a
 * journal in memory.
 *
 * @example
 * ```ts
 * await using journal = await openJournal('file:runs.db')
 * const tools = createTools({ rootDir: './project', journal })
 * ```
 * @param location `file:runs.db`, `file:///var/runs.db`, a path, `memory:`, or a store of your own (to which only `onFailure`
 * and `redactKeys` apply).
 * @throws {ToolError} JOURNAL_LOCATION_INVALID, JOURNAL_NOT_FOUND, JOURNAL_OPEN_FAILED,
 * JOURNAL_READ_ONLY, JOURNAL_NOT_A_DATABASE, JOURNAL_CORRUPT, JOURNAL_SCHEMA_MISMATCH,
 * JOURNAL_DISK_FULL, JOURNAL_BUSY; INVALID_INPUT for an invalid option;
 * NATIVE_UNAVAILABLE.
 */
export async function openJournal(location: string | URL | JournalStore, options: OpenJournalOptions = {}): Promise<Journal> {
  const { onFailure, redactKeys, synchronous, maxOutputBytes, ...others } = parseOptions('openJournal', options, openChecks)
  const where = checked('openJournal', () => checkLocation(location))
  if (typeof where !== 'string') return storeJournal(where, 'store', onFailure, redactKeys)
  const store = await openNativeStore(where, { full: synchronous === 'full', outputLimitBytes: maxOutputBytes, ...others })
  return storeJournal(store, store.path, onFailure, redactKeys)
}

function checkLocation(location: unknown): string | JournalStore {
  if (isStore(location)) return location
  if (typeof location === 'string' || location instanceof URL) return String(location)
  throw invalid('A journal is opened by a path, by memory: or by a store.')
}
