import { ToolError } from '../core/errors.js'
import { boolean, type Checks, oneOf, optional, parseOptions, positive } from '../core/options.js'
import type { Journal } from '../journal/journal.js'
import type { JournalStore } from '../journal/journal-store.js'
import type { PostgresStore } from './postgres-store.js'
import { openJournal as openStore, type OpenJournalOptions } from '../journal/open-journal.js'

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
  const { schema, connection, shown } = parseAddress(address)
  const [{ Pool }, { postgresStore }] = await Promise.all([loadPg(), import('./postgres-store.js')])
  const pool = new Pool({ connectionString: connection, max: 4, connectionTimeoutMillis: patienceMs, allowExitOnIdle: true })
  pool.on('error', () => undefined)
  const client = {
    query: async (query: string, values: readonly (string | null)[], name?: string) =>
      (await pool.query(name === undefined ? { text: query, values: [...values] } : { text: query, values: [...values], name })).rows,
    end: () => pool.end(),
  }
  return postgresStore(client, { schema, maxOutputBytes, readOnly, patienceMs, migrate: migrates, location: shown })
}

/** The connection without our own parameter, and the address without password and parameters. */
function parseAddress(address: string): { schema: string; connection: string; shown: string } {
  // The host of a socket is a parameter, and a URL without one is none.
  const whole = address.replace(/^(postgres(?:ql)?:\/\/[^/?#]*@)(?=[/?#]|$)/iu, '$1socket')
  if (!URL.canParse(whole)) throw locationInvalid(address.replace(/^([a-z]+:\/\/).*@/iu, '$1').replace(/\?.*$/u, ''))
  const { protocol, username, host, pathname, searchParams } = new URL(whole)
  const schema = searchParams.get('schema') ?? 'public'
  const shown = `${protocol}//${username === '' ? '' : `${username}@`}${host}${pathname}`
  if (schema === '') throw locationInvalid(shown)
  return {
    schema,
    connection: address.replace(/([?&])schema=[^&#]*(&|$)/u, (_, first: string, last: string) => (last === '' ? '' : first)),
    shown,
  }
}

function locationInvalid(shown: string): ToolError {
  const summary = 'Journal location is invalid'
  return new ToolError({
    code: 'JOURNAL_LOCATION_INVALID',
    summary,
    place: `${summary}: \`${shown}\``,
    hint: 'Write postgres://user@host:5432/database.',
    details: { path: shown },
  })
}

interface Pg {
  Pool: new (options: object) => {
    query(query: object): Promise<{ rows: Record<string, unknown>[] }>
    on(event: 'error', listener: () => void): unknown
    end(): Promise<void>
  }
}

async function loadPg(): Promise<Pg> {
  const name: string = 'pg'
  try {
    const loaded = (await import(name)) as Partial<Pg> & { default?: Pg }
    return { Pool: (loaded.Pool ?? loaded.default?.Pool) as Pg['Pool'] }
  } catch (error) {
    const summary = 'A journal in PostgreSQL needs the package pg'
    throw new ToolError({ code: 'JOURNAL_OPEN_FAILED', summary, hint: 'Install it: npm install pg', details: {}, cause: error })
  }
}

export type { OpenJournalOptions }
