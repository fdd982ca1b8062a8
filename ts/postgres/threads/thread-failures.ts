/** The errors of a store of threads. */
import type { ToolErrorCode } from '../../core/codes.js'
import { ToolError } from '../../core/errors.js'
import { threadError } from '../../standard-agents/store/store-checks.js'
import { THREAD_STATES } from './thread-schema.js'

const SUMMARIES: Readonly<Record<string, [summary: string, hint: string, detail: string]>> = {
  THREAD_NOT_FOUND: ['Thread not found', 'Open it first.', 'threadId'],
  THREAD_CALL_NOT_FOUND: ['Call not found', 'Give the id of a call of this thread.', 'callId'],
  THREAD_CALL_STATE: ['Call does not stand as it should', 'Read its status again.', 'callId'],
  THREAD_ATTACHMENT_NOT_FOUND: ['Attachment not found', 'List the attachments of the thread.', 'attachment'],
  THREAD_DUPLICATE_ID: ['Id is taken in this thread', 'Give another id.', 'id'],
  THREAD_LOCKED: ['Another process works on the thread', 'Wait, and ask again.', 'threadId'],
}

/** What a failure of the server means for threads. */
const CODES: Readonly<Record<string, ToolErrorCode>> = {
  JOURNAL_LOCATION_INVALID: 'THREAD_LOCATION_INVALID',
  JOURNAL_OPEN_FAILED: 'THREAD_OPEN_FAILED',
  JOURNAL_READ_ONLY: 'THREAD_READ_ONLY',
  JOURNAL_SCHEMA_MISMATCH: 'THREAD_SCHEMA_MISMATCH',
  JOURNAL_NOT_FOUND: 'THREAD_STORE_NOT_FOUND',
  JOURNAL_DISK_FULL: 'THREAD_DISK_FULL',
  JOURNAL_ROW_TOO_LARGE: 'THREAD_TOO_LARGE',
  JOURNAL_OWNER_FENCED: 'THREAD_LOCKED',
}

/** The texts of the journal that are wrong here. */
const SUMMARY_OF: Readonly<Record<string, string>> = {
  JOURNAL_SCHEMA_MISMATCH: 'The tables of threads have another version',
  JOURNAL_NOT_FOUND: 'Thread store does not exist',
  JOURNAL_LOCATION_INVALID: 'Location of threads is invalid',
}
const HINT_OF: Readonly<Record<string, string>> = {
  JOURNAL_UNREACHABLE: 'Call again when the server can be reached. Whether a write was carried out is unknown: read before you repeat it.',
  JOURNAL_OWNER_FENCED: 'Ask for the thread again.',
}

export const missing = (code: keyof typeof SUMMARIES, where: string): ToolError => {
  const [summary, hint, detail] = SUMMARIES[code] as [string, string, string]
  return threadError(code as ToolErrorCode, summary, `\`${where}\``, hint, { [detail]: where })
}

/** The error of a thread for one of the journal's; others as they are. */
export function threadFailure(error: unknown): unknown {
  if (!ToolError.isInstance(error) || !error.code.startsWith('JOURNAL_')) return error
  const known = THREAD_STATES[String(error.details['sqlState']) as keyof typeof THREAD_STATES]
  if (known !== undefined) return missing(known, String((error.cause as Error | undefined)?.message))
  const { code, details, cause } = error
  const summary = SUMMARY_OF[code] ?? error.summary
  const place = `\`${String(details['path'])}\``
  const where = cause instanceof Error ? `${cause.message} (${place})` : place
  return threadError(CODES[code] ?? 'THREAD_IO_FAILED', summary, where, HINT_OF[code] ?? error.hint ?? '', details, cause)
}
