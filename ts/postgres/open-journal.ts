import { boolean, type Checks, oneOf, optional, parseOptions, positive } from '../core/options.js'
import type { Journal } from '../journal/journal.js'
import type { JournalStore } from '../journal/journal-store.js'
import type { PostgresStore } from './postgres-store.js'
import { openJournal as openStore, type OpenJournalOptions } from '../journal/open-journal.js'
import { loadLate } from '../core/late-code.js'

const loadStore = loadLate(() => Promise.all([import('./server-client.js'), import('./postgres-store.js')]))

const URL_OF_SERVER = /^postgres(?:ql)?:\/\//iu

/** A journal at a URL has the options of both. */
const urlChecks = {
  onFailure: optional(oneOf('fail', 'continue')),
  redactKeys: optional(boolean),
  synchronous: optional(oneOf('normal', 'full')),
  maxOutputBytes: optional(positive(), 200_000),
  readOnly: optional(boolean, false),
  busyTimeoutMs: optional(positive(), 10_000),
} satisfies Checks<OpenJournalOptions>

/**
 * Opens a journal of tool calls: an SQLite file that any number of processes of one machine may share, created if it is
 * missing; a journal in memory; or one in PostgreSQL, for which `pg` has to be installed.
 *
 * @example
 * ```ts
 * await using journal = await openJournal('file:runs.db')
 * const tools = createTools({ rootDir: './project', journal })
 * ```
 * @param location `file:runs.db`, `file:///var/runs.db`, a path, `memory:`, `postgres://user@host/database` (with
 * `?schema=NAME` for other tables than those in `public`), or a store: of your own, or of `postgresStore`. To a store, only
 * `onFailure` and `redactKeys` apply.
 * @throws {ToolError} JOURNAL_LOCATION_INVALID, JOURNAL_NOT_FOUND, JOURNAL_OPEN_FAILED,
 * JOURNAL_READ_ONLY, JOURNAL_NOT_A_DATABASE, JOURNAL_CORRUPT, JOURNAL_SCHEMA_MISMATCH,
 * JOURNAL_DISK_FULL, JOURNAL_BUSY, JOURNAL_UNREACHABLE; INVALID_INPUT for an invalid option;
 * NATIVE_UNAVAILABLE.
 */
export async function openJournal(location: string | URL | JournalStore, options: OpenJournalOptions = {}): Promise<Journal> {
  const address = location instanceof URL ? location.href : location
  if (typeof address !== 'string' || !URL_OF_SERVER.test(address)) return openStore(location, options)
  const { onFailure, redactKeys, synchronous: _, busyTimeoutMs, maxOutputBytes, readOnly } = parseOptions('openJournal', options, urlChecks)
  const store = await openServerStore(address, { maxOutputBytes, readOnly, patienceMs: busyTimeoutMs })
  try {
    // A wrong address, a missing right and a foreign schema are told here, not by the first call.
    await store.lastRow()
  } catch (error) {
    await store.close().catch(() => undefined)
    throw error
  }
  return openStore(store, { ...(onFailure && { onFailure }), ...(redactKeys !== undefined && { redactKeys }) })
}

/** How a store at an address is opened. */
export interface ServerStoreOptions {
  readOnly?: boolean
  maxOutputBytes?: number
  patienceMs?: number
  /** Whether missing tables are made. @default true */
  migrates?: boolean
}

/** A store on connections of its own. @throws {ToolError} JOURNAL_LOCATION_INVALID; JOURNAL_OPEN_FAILED without `pg`. */
export async function openServerStore(address: string, options: ServerStoreOptions): Promise<PostgresStore> {
  const { readOnly = false, maxOutputBytes = 200_000, patienceMs = 10_000, migrates = true } = options
  const [{ openServerClient }, { postgresStore }] = await loadStore()
  const { client, schema, shown } = await openServerClient(address, patienceMs)
  return postgresStore(client, { schema, maxOutputBytes, readOnly, patienceMs, migrate: migrates, location: shown })
}

export type { OpenJournalOptions }
