import { randomUUID } from 'node:crypto'
import type { ListedPart, NewThreadAttachment, ThreadCommit } from '../../../index.js'
import { ToolError } from '../../errors.js'
import { invalid } from '../../option-checks.js'
import type { ListPart, NewAttachment, ReadRange, ThreadChanges } from './thread-store.js'
import { isWellFormed } from '../../well-formed.js'

/**
 * A text that reaches a store as it is. What is not well-formed would be changed on the way to UTF-8.
 *
 * @throws {ToolError} THREAD_NAME_REFUSED
 */
export function checkText(what: string, text: unknown): string {
  if (typeof text !== 'string') throw invalid(`${what} must be a string.`)
  if (isWellFormed(text)) return text
  const summary = 'Name refused'
  throw new ToolError({
    code: 'THREAD_NAME_REFUSED',
    summary,
    place: `${summary}: ${what} has half of a surrogate pair`,
    hint: 'Give a text of whole characters.',
  })
}

const optional = (what: string, text: unknown): string | undefined =>
  text === undefined || text === null ? undefined : checkText(what, text)

/** The options of a list, complete. */
export function checkPart({ after, limit, reverse = false }: ListPart): ListedPart {
  if (after !== undefined && !Number.isSafeInteger(after)) throw invalid('after must be an integer.')
  if (limit !== undefined && !(Number.isInteger(limit) && limit >= 0)) throw invalid('limit must be an integer of at least 0.')
  return { after, limit, reverse } as ListedPart
}

const ends = ['success', 'error', 'cancelled']

/** What is to be committed, complete: ids are given where there are none. */
export function checkChanges({ finish, attachments = [], messages = [], enqueue = [] }: ThreadChanges): ThreadCommit {
  if (finish !== undefined && !ends.includes(finish.status)) throw invalid(`A call ends with ${ends.join(', ')}.`)
  return {
    finish: finish && {
      callId: checkText('callId', finish.callId),
      status: finish.status,
      resultJson: checkText('resultJson', finish.resultJson),
    },
    attachments: attachments.map((path) => checkText('attachment path', path)),
    messages: messages.map((message) => ({
      id: optional('message id', message.id) ?? randomUUID(),
      role: checkText('message role', message.role),
      bodyJson: checkText('bodyJson', message.bodyJson),
      callId: optional('callId', message.callId),
    })),
    enqueue: enqueue.map((call) => ({
      id: optional('call id', call.id) ?? randomUUID(),
      name: checkText('tool name', call.name),
      argumentsJson: checkText('argumentsJson', call.argumentsJson),
      queue: optional('queue', call.queue) ?? 'root',
      forceAllow: call.forceAllow ?? false,
      parentCallId: optional('parentCallId', call.parentCallId),
      infoJson: optional('infoJson', call.infoJson),
    })),
  } as ThreadCommit
}

/** What describes an attachment. */
export function checkAttachment({ name, mimeType, width, height }: NewAttachment): NewThreadAttachment {
  for (const [side, pixels] of Object.entries({ width, height })) {
    if (pixels === undefined || (Number.isInteger(pixels) && pixels > 0 && pixels < 2 ** 31)) continue
    throw invalid(`${side} must be a positive integer.`)
  }
  return {
    name: checkText('attachment name', name),
    mimeType: checkText('MIME type', mimeType),
    width,
    height,
  } as NewThreadAttachment
}

/** A range of bytes, complete. */
export function checkBytes({ start = 0, end }: ReadRange = {}): { start: number; end: number | undefined } {
  for (const at of [start, end]) {
    if (at !== undefined && !(Number.isInteger(at) && at >= 0)) throw invalid('A range of bytes has integers of at least 0.')
  }
  return { start, end }
}
