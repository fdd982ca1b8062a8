/** The errors of a store of threads. */
import type { ToolErrorCode } from '../../core/codes.js'
import { ToolError } from '../../core/errors.js'
import { threadError } from '../../standard-agents/store/store-checks.js'
import { THREAD_STATES } from './thread-schema.js'

const SUMMARIES: Readonly<Record<string, [string, string]>> = {
  THREAD_NOT_FOUND: ['Thread not found', 'Open it first.'],
  THREAD_CALL_NOT_FOUND: ['Call not found', 'Give the id of a call of this thread.'],
  THREAD_CALL_STATE: ['Call does not stand as it should', 'Read its status again.'],
  THREAD_ATTACHMENT_NOT_FOUND: ['Attachment not found', 'List the attachments of the thread.'],
  THREAD_DUPLICATE_ID: ['Id is taken in this thread', 'Give another id.'],
  THREAD_LOCKED: ['Another process works on the thread', 'Wait, and ask again.'],
}

/** What a failure of the server means for threads. */
const CODES: Readonly<Record<string, ToolErrorCode>> = {
  JOURNAL_OPEN_FAILED: 'THREAD_OPEN_FAILED',
  JOURNAL_READ_ONLY: 'THREAD_READ_ONLY',
  JOURNAL_SCHEMA_MISMATCH: 'THREAD_SCHEMA_MISMATCH',
  JOURNAL_NOT_FOUND: 'THREAD_STORE_NOT_FOUND',
  JOURNAL_DISK_FULL: 'THREAD_DISK_FULL',
  JOURNAL_ROW_TOO_LARGE: 'THREAD_TOO_LARGE',
  JOURNAL_OWNER_FENCED: 'THREAD_LOCKED',
}

export const missing = (code: keyof typeof SUMMARIES, where: string): ToolError => {
  const [summary, hint] = SUMMARIES[code] as [string, string]
  return threadError(code as ToolErrorCode, summary, `\`${where}\``, hint)
}

export function threadFailure(error: unknown): unknown {
  if (!ToolError.isInstance(error) || !error.code.startsWith('JOURNAL_')) return error
  const known = THREAD_STATES[String(error.details['sqlState']) as keyof typeof THREAD_STATES]
  if (known !== undefined) return missing(known, String((error.cause as Error | undefined)?.message))
  const { summary, details, cause } = error
  const where = cause instanceof Error ? cause.message : String(details['path'])
  return threadError(CODES[error.code] ?? 'THREAD_IO_FAILED', summary, where, error.hint ?? '', details, cause)
}
