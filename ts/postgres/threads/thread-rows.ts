/** Rows of the tables as records of a store. */
import type { AttachmentRef, StoredCall, StoredMessage, StoredThread } from '../../standard-agents/store/thread-store.js'
import type { SqlRow } from '../client.js'
import { asGiven } from './thread-texts.js'

const numberOr = (value: unknown): number | null => (value === null || value === undefined ? null : Number(value))
const textOr = (value: unknown): string | null => (value === null || value === undefined ? null : asGiven(String(value)))
const textAt = (row: SqlRow, column: string): string => asGiven(String(row[column]))

export const threadOf = (row: SqlRow): StoredThread => ({
  threadId: textAt(row, 'thread_id'),
  flowId: textAt(row, 'flow_id'),
  createdAtMs: Number(row['created_at_ms']),
})

export const messageOf = (row: SqlRow): StoredMessage => ({
  id: textAt(row, 'id'),
  seq: Number(row['seq']),
  role: textAt(row, 'role'),
  bodyJson: textAt(row, 'body'),
  callId: textOr(row['call_id']),
  createdAtMs: Number(row['created_at_ms']),
})

export const callOf = (row: SqlRow): StoredCall => ({
  id: textAt(row, 'id'),
  seq: Number(row['seq']),
  name: textAt(row, 'name'),
  argumentsJson: textAt(row, 'arguments'),
  queue: textAt(row, 'queue'),
  forceAllow: row['force_allow'] === true || row['force_allow'] === 't',
  parentCallId: textOr(row['parent_call_id']),
  infoJson: textOr(row['info']),
  status: String(row['status']) as StoredCall['status'],
  attempts: Number(row['attempts']),
  resultJson: textOr(row['result']),
  queuedAtUs: Number(row['queued_at_us']),
  startedAtMs: numberOr(row['started_at_ms']),
  finishedAtMs: numberOr(row['finished_at_ms']),
})

export const attachmentOf = (row: SqlRow): AttachmentRef => ({
  id: String(row['id']),
  type: 'file',
  path: String(row['path']),
  name: textAt(row, 'name'),
  mimeType: textAt(row, 'mime_type'),
  ...(row['width'] === null ? {} : { width: Number(row['width']) }),
  ...(row['height'] === null ? {} : { height: Number(row['height']) }),
  size: Number(row['size']),
})
