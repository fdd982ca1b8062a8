/** What an error of a client means, and the error that a caller gets. */
import type { ToolErrorCode } from '../core/codes.js'
import { ToolError } from '../core/errors.js'

/** How a failed statement goes on. */
export type FailureKind =
  /** The server may answer later; whether the statement was carried out is unknown. */
  | 'connection'
  /** The transaction was rolled back, for another one's sake. */
  | 'conflict'
  /** Another process has taken over. */
  | 'fenced'
  /** A pooler has given the connection to another client, whose prepared statements it has: the statement was not carried out. */
  | 'unprepared'
  | 'final'

/** The classes of SQLSTATE after which the connection is gone, or was never made, for a while. */
const CONNECTION_STATES = /^(?:08...|57P0[1-5]|53300)$/u
// TW002 and 23514: the day of the call's run is being removed, and another one follows; or the table was partitioned meanwhile.
const CONFLICTS = /^(?:40001|40P01|55P03|TW002|23514)$/u
// A prepared statement that is there already, or is not.
const UNPREPARED = /^(?:42P05|26000)$/u
/** Errors of sockets and of the clients, which have no SQLSTATE. */
const CONNECTION_CODES =
  /^(?:ECONN\w+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN|ENOENT|CONNECTION_(?:CLOSED|ENDED|DESTROYED)|CONNECT_TIMEOUT|ERR_POSTGRES_(?:CONNECTION_\w+|IDLE_TIMEOUT|LIFETIME_TIMEOUT))$/u
const CONNECTION_WORDS =
  /Connection terminated|Connection closed|timeout exceeded when trying to connect|Client has encountered a connection error/u

/** The SQLSTATE of an error, or the code of the system or the client. */
function codeOf(error: unknown): string {
  const { code, errno, cause, errors } = (error ?? {}) as Record<'code' | 'errno' | 'cause' | 'errors', unknown>
  // Bun has the SQLSTATE in `errno`.
  if (typeof errno === 'string' && /^[0-9A-Z]{5}$/u.test(errno)) return errno
  if (typeof code === 'string') return code
  // Node tries every address of a name, and gives what came of each.
  if (Array.isArray(errors) && errors.length > 0) return codeOf(errors[0])
  return cause === undefined ? '' : codeOf(cause)
}

const messageOf = (error: unknown): string => String((error as { message?: unknown } | null)?.message ?? error)

export function failureKind(error: unknown): FailureKind {
  const code = codeOf(error)
  if (code === 'TW001') return 'fenced'
  if (CONFLICTS.test(code)) return 'conflict'
  if (UNPREPARED.test(code)) return 'unprepared'
  if (CONNECTION_STATES.test(code) || CONNECTION_CODES.test(code) || CONNECTION_WORDS.test(messageOf(error))) return 'connection'
  return 'final'
}

/** Whether a row has no partition: its day is being removed, or the table was partitioned after the statement was made. */
export const lacksPartition = (error: unknown): boolean => codeOf(error) === '23514'

/** Whether a statement failed because a table, a column or a function is missing. */
export const lacksSchema = (error: unknown): boolean => /^(?:42P01|42703|42883|3F000)$/u.test(codeOf(error))

const FAILURES: readonly [RegExp, ToolErrorCode, string, string][] = [
  [/^28...$/u, 'JOURNAL_OPEN_FAILED', 'The database server refuses the user', 'Correct user and password of the connection.'],
  [/^3D000$/u, 'JOURNAL_OPEN_FAILED', 'The database does not exist', 'Create it, or correct its name in the connection.'],
  [
    /^42501$/u,
    'JOURNAL_READ_ONLY',
    'The database user may not do this',
    'Grant it the rights that docs/journal-postgres.md lists, or run `npx toolwright journal migrate --print` and apply the output as the owner of the schema.',
  ],
  [
    /^25006$/u,
    'JOURNAL_READ_ONLY',
    'The database is read-only',
    'Connect to the primary server; a replica can only be read (readOnly: true).',
  ],
  [
    /^(?:42P01|42703|42883|3F000)$/u,
    'JOURNAL_SCHEMA_MISMATCH',
    'The tables of the journal are missing or older',
    'Run `npx toolwright journal migrate`.',
  ],
  [
    /^23514$/u,
    'JOURNAL_SCHEMA_MISMATCH',
    'The table of the journal has no partition for the call',
    'Run `npx toolwright journal migrate`. A day whose partition was removed by hand has to go from `_toolwright_days`, too.',
  ],
  [
    /^TW002$/u,
    'JOURNAL_BUSY',
    'The day of the run is being removed from the journal',
    'Call again. If it stays so, a removal has ended halfway: `npx toolwright journal prune` completes it.',
  ],
  [
    UNPREPARED,
    'JOURNAL_OPEN_FAILED',
    'The pooler does not keep prepared statements apart',
    'Open the journal with prepare: false (postgresStore), or with ?prepare=false in its address.',
  ],
  [
    /^57014$/u,
    'JOURNAL_BUSY',
    'The database server has cancelled the statement',
    'Call again. If it stays so, raise statement_timeout for the user of the journal: ALTER ROLE … SET statement_timeout.',
  ],
  [/^53[24]00$/u, 'JOURNAL_BUSY', 'The database server has no memory for the statement', 'Call again when it has less to do.'],
  [
    /^22(?:P05|021)$/u,
    'JOURNAL_IO_FAILED',
    'The database cannot keep a character',
    "Use a database with the encoding UTF8: CREATE DATABASE journal ENCODING 'UTF8' TEMPLATE template0.",
  ],
  [/^53100$/u, 'JOURNAL_DISK_FULL', 'The disk of the database server is full', 'Free space on it.'],
  [/^54000$/u, 'JOURNAL_ROW_TOO_LARGE', 'The call is too large for the journal', 'Lower maxOutputBytes.'],
  [/^ENOTFOUND$/u, 'JOURNAL_UNREACHABLE', 'No server has this name', 'Correct the host of the connection.'],
]

/** The error of a statement that failed for good. */
export function storeError(error: unknown, place: string): ToolError {
  if (ToolError.isInstance(error)) return error
  const state = codeOf(error)
  const [, code, summary, hint] = FAILURES.find(([states]) => states.test(state)) ?? [
    undefined,
    'JOURNAL_IO_FAILED' as const,
    'The database failed',
    'Look at the log of the database server.',
  ]
  const details = { path: place, ...(state !== '' && { sqlState: state }) }
  return new ToolError({ code, summary, place: `${summary}: ${messageOf(error)} (\`${place}\`)`, hint, details, cause: error })
}

export function unreachable(error: unknown, place: string, waitedMs: number): ToolError {
  const summary = 'The database server does not answer'
  return new ToolError({
    code: 'JOURNAL_UNREACHABLE',
    summary,
    place: `${summary}: ${messageOf(error)} (\`${place}\`, after ${Math.round(waitedMs)} ms)`,
    hint: 'Nothing was done. Call again when the server can be reached.',
    details: { path: place, waitedMs: Math.round(waitedMs) },
    cause: error,
  })
}

/** The error of a process whose lease has ended: another one may have taken over its tasks. */
export function fenced(place: string, why: string): ToolError {
  const summary = 'Another process may have taken over'
  return new ToolError({
    code: 'JOURNAL_OWNER_FENCED',
    summary,
    place: `${summary}: ${why} (\`${place}\`)`,
    hint: 'The call was not made. End this attempt; the task goes on where it was taken over, or with a new attempt.',
    details: { path: place },
  })
}

/** A call whose place in its attempt is taken. */
export function duplicate(place: string, columns: Readonly<Record<string, string | number | null>>): ToolError {
  const summary = 'Call is already in the journal'
  const call = `attempt ${columns['attempt']}, call ${columns['seq']} of task \`${columns['node_id']}\` in run \`${columns['run_id']}\``
  const hint = 'Give each call of an attempt its own number.'
  return new ToolError({
    code: 'JOURNAL_DUPLICATE_CALL',
    summary,
    place: `${summary}: ${call} in \`${place}\``,
    hint,
    details: { path: place },
  })
}

export function callError(
  code: 'JOURNAL_CALL_MISSING' | 'JOURNAL_CALL_FINISHED',
  summary: string,
  row: number | string | null | undefined,
  place: string,
): ToolError {
  const hint =
    code === 'JOURNAL_CALL_FINISHED' ? 'Record the outcome of a call once.' : 'The row was removed; its outcome was not recorded.'
  return new ToolError({ code, summary, place: `${summary}: row ${row} in \`${place}\``, hint, details: { path: place, row } })
}
