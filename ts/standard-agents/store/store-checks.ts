import { randomUUID } from 'node:crypto'
import type { ListedPart, NewThreadAttachment, ThreadCommit } from '../../../index.js'
import { ToolError } from '../../core/errors.js'
import { checked, givenOptions, invalid, takenOptions } from '../../core/options.js'
import type { ListPart, NewAttachment, ReadRange, ThreadChanges, ThreadStore } from './thread-store.js'
import { isWellFormed } from '../../core/text.js'

/**
 * Checks a text that is stored unchanged. Text that is not well-formed would change on its way to UTF-8.
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

/** The options of a list, with defaults. */
export function checkPart(part: ListPart): ListedPart {
  const { after, limit, reverse = false } = givenOptions('The list', part, ['after', 'limit', 'reverse'])
  if (typeof reverse !== 'boolean') throw invalid('reverse must be true or false.')
  if (after !== undefined && !Number.isSafeInteger(after)) throw invalid('after must be an integer.')
  if (limit !== undefined && !(Number.isInteger(limit) && limit >= 0)) throw invalid('limit must be an integer of at least 0.')
  return { after, limit, reverse } as ListedPart
}

const ends = ['success', 'error', 'cancelled']

/** Changes to commit, with an id for each call and message. */
export function checkChanges(changes: ThreadChanges): ThreadCommit {
  const given = givenOptions('store.commit', changes, ['finish', 'attachments', 'messages', 'enqueue'])
  return checked('store.commit', () => commitOf(given))
}

function commitOf({ finish, attachments = [], messages = [], enqueue = [] }: ThreadChanges): ThreadCommit {
  for (const [name, list] of Object.entries({ attachments, messages, enqueue })) {
    if (!Array.isArray(list)) throw invalid(`${name} must be an array.`)
  }
  for (const [name, one] of Object.entries({ finish: finish ?? {}, messages: [...messages], enqueue: [...enqueue] })) {
    for (const part of [one].flat() as unknown[]) {
      if (typeof part !== 'object' || part === null) throw invalid(`${name} must hold objects.`)
    }
  }
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

/** The description of an attachment. */
export function checkAttachment(attachment: NewAttachment): NewThreadAttachment {
  const { name, mimeType, width, height } = checked('An attachment', () => {
    if (typeof attachment !== 'object' || attachment === null) throw invalid('An attachment is an object with name, mimeType and data.')
    checkData(attachment.data)
    return takenOptions(attachment, ['name', 'mimeType', 'width', 'height'])
  })
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

function checkData(data: unknown): void {
  if (typeof data === 'string' || ArrayBuffer.isView(data)) return
  if (typeof data === 'object' && data !== null && Symbol.asyncIterator in data) return
  throw invalid('The data of an attachment is base64, bytes or a stream of bytes.')
}

/** The values to write. */
export function checkEntries(entries: unknown): [keys: string[], values: string[]] {
  return checked('store.writeValues', () => {
    if (!Array.isArray(entries) || !entries.every((entry) => Array.isArray(entry)))
      throw invalid('The entries must be an array of keys with their values.')
    const pairs = entries as unknown[][]
    return [pairs.map(([key]) => checkText('key', key)), pairs.map(([, encoded]) => checkText('value', encoded))]
  })
}

/** The calls to list. */
export function checkCallPart(part: CallPart): { status: string | undefined; queue: string | undefined; part: ListedPart } {
  const { status, queue, ...rest } = givenOptions('store.listCalls', part, ['status', 'queue', 'after', 'limit', 'reverse'])
  const wanted = optional('status', status)
  return { status: wanted, queue: optional('queue', queue), part: checkPart(rest) }
}

type CallPart = NonNullable<Parameters<ThreadStore['listCalls']>[1]>

/** A range of bytes, with defaults. */
export function checkBytes(range: ReadRange = {}): { start: number; end: number | undefined } {
  const { start = 0, end } = givenOptions('A range of bytes', range, ['start', 'end'])
  for (const at of [start, end]) {
    if (at !== undefined && !(Number.isInteger(at) && at >= 0)) throw invalid('A range of bytes has integers of at least 0.')
  }
  return { start, end }
}
