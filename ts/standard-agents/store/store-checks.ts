import { randomUUID } from 'node:crypto'
import type { ListedPart, NewThreadAttachment, ThreadCommit, ValuesRange } from '../../../index.js'
import type { ToolErrorCode } from '../../core/codes.js'
import { ToolError } from '../../core/errors.js'
import {
  boolean,
  type Check,
  type Checks,
  invalid,
  listOf,
  must,
  oneOf,
  optional,
  parseOptions,
  type Parsed,
  string,
  wholeNumber,
} from '../../core/options.js'
import { isWellFormed } from '../../core/text.js'
import type { ListPart, ReadRange, StoredCall, ThreadChanges, ThreadStore, ValueRange } from './thread-store.js'

/** An error of a thread or its store, whose message is `SUMMARY: WHERE [CODE] HINT`. */
export function threadError(
  code: ToolErrorCode,
  summary: string,
  where: string,
  hint: string,
  details: Record<string, unknown> = {},
  cause?: unknown,
): ToolError {
  return new ToolError({ code, summary, place: `${summary}: ${where}`, hint, details, cause })
}

/** A text that is stored unchanged. Text that is not well-formed would change on its way to UTF-8. */
export const storedText: Check<string> = (value, name) => {
  const text = string(value, name)
  if (isWellFormed(text)) return text
  throw threadError('THREAD_NAME_REFUSED', 'Name refused', `${name} has half of a surrogate pair`, 'Give a text of whole characters.')
}

/** A number of at least 0, infinity included. */
export const notNegative: Check<number> = must((value) => typeof value === 'number' && value >= 0, 'a number of at least 0')

/** A text that may be missing, or `null` as it is in a stored record. */
const nullableText: Check<string | undefined> = (text, name) => (text === null ? undefined : optional(storedText)(text, name))

const id: Check<string> = (text, name) => nullableText(text, name) ?? randomUUID()

/** The addon's numbers of pixels have 32 bits. */
const pixels = wholeNumber(1, 2 ** 31 - 1)

/** The fields of a record. Other fields are ignored: a stored record may be written to another thread. */
function record<CHECKS extends Record<string, Check<unknown>>>(checks: CHECKS): Check<Parsed<CHECKS>> {
  return (value, name) => {
    if (typeof value !== 'object' || value === null) throw invalid(`${name} must be an object.`)
    const fields = Object.entries(checks).map(([field, check]) => [
      field,
      check((value as Record<string, unknown>)[field], `${name}.${field}`),
    ])
    return Object.fromEntries(fields) as Parsed<CHECKS>
  }
}

export const keyList: Check<string[]> = listOf(storedText)

const callEnd = record({ callId: storedText, status: oneOf('success', 'error', 'cancelled'), resultJson: storedText })
const message = record({ id, role: storedText, bodyJson: storedText, callId: nullableText })
const queuedCall = record({
  id,
  name: storedText,
  argumentsJson: storedText,
  queue: (text, name) => nullableText(text, name) ?? 'root',
  forceAllow: optional(boolean, false),
  parentCallId: nullableText,
  infoJson: nullableText,
})
const changeChecks = {
  finish: optional(callEnd),
  attachments: optional(keyList, []),
  messages: optional(listOf(message), []),
  enqueue: optional(listOf(queuedCall), []),
}

/** Changes to commit, with an id for each call and message. */
export const checkChanges = (changes: ThreadChanges): ThreadCommit => parseOptions('store.commit', changes, changeChecks) as ThreadCommit

/** The description of an attachment, without its bytes. */
export const attachmentFields = record({
  name: storedText,
  mimeType: storedText,
  width: optional(pixels),
  height: optional(pixels),
}) as Check<NewThreadAttachment>

/** Values to write, as keys and their values. */
export function checkEntries(entries: unknown): [keys: string[], values: string[]] {
  if (!Array.isArray(entries) || !entries.every((entry) => Array.isArray(entry)))
    throw invalid('The entries must be an array of keys with their values.')
  const pairs = entries as unknown[][]
  return [pairs.map(([key]) => storedText(key, 'key')), pairs.map(([, encoded]) => storedText(encoded, 'value'))]
}

/** The checks of a part of a list. */
export const listChecks = {
  after: optional(must<number>(Number.isSafeInteger, 'an integer')),
  limit: optional(wholeNumber(0)),
  reverse: optional(boolean, false),
} satisfies Checks<ListPart>

/** The options of `listMessages`. */
export const checkPart = (part: ListPart): ListedPart => parseOptions('store.listMessages', part, listChecks) as ListedPart

const callListChecks = { status: nullableText, queue: nullableText, ...listChecks }

/** The options of `listCalls`. */
export function checkCallPart(options: Parameters<ThreadStore['listCalls']>[1]) {
  const { status, queue, ...part } = parseOptions('store.listCalls', options, callListChecks)
  return { status: status as StoredCall['status'] | undefined, queue, part: part as ListedPart }
}

const byteChecks = { start: optional(wholeNumber(0), 0), end: optional(wholeNumber(0)) } satisfies Checks<ReadRange>

/** A range of bytes, with defaults. */
export const checkBytes = (range: ReadRange): { start: number; end?: number | undefined } =>
  parseOptions('store.readAttachment', range, byteChecks)

const bound = optional(must<string>((value) => typeof value === 'string' && isWellFormed(value), 'a well-formed string'))
const rangeChecks = {
  prefix: bound,
  start: bound,
  startAfter: bound,
  end: bound,
  reverse: optional(boolean, false),
  limit: optional(wholeNumber(1)),
} satisfies Checks<ValueRange>

/** A range of values, copied. */
export function checkRange(range: ValueRange): ValuesRange {
  const checked = parseOptions('storage.list', range, rangeChecks)
  if (checked.start !== undefined && checked.startAfter !== undefined) throw invalid('start and startAfter exclude each other.')
  return checked as ValuesRange
}
