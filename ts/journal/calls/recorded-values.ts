import { hash } from 'node:crypto'
import { type ToolErrorCode, toolErrorCodes } from '../../core/codes.js'
import { ToolError } from '../../core/errors.js'
import { parseObject } from '../../core/parse-rows.js'
import { beginningOf } from '../../core/text.js'
import { checked } from '../../core/options.js'
import { andThen, type Awaitable } from '../../core/abort.js'
import type { ToolCallEnd } from '../journal-store.js'
import { fromPlain, toPlain } from './kept-values.js'
import { isLarge, type LargeValue, largeValue, MAX_CHARACTERS, textDigest } from '../../core/large-values.js'

/** A value as JSON; cycles and big integers, which have none, are described. */
export function asJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    return JSON.stringify(value, describingOddities())
  }
}

function describingOddities(): (key: string, value: unknown) => unknown {
  const above: unknown[] = []
  return function (this: unknown, _key: string, value: unknown): unknown {
    if (typeof value === 'bigint') return String(value)
    if (typeof value !== 'object' || value === null) return value
    while (above.length > 0 && above.at(-1) !== this) above.pop()
    if (above.includes(value)) return '[Circular]'
    above.push(value)
    return value
  }
}

/** Arguments as a row shows them, and the text that identifies them. */
export interface RecordedInput {
  inputJson: string | undefined
  identity: string
}

/** Arguments for their row: all of them, or the size and hash of what is too large for one. */
export function recordedInput(input: unknown): Awaitable<RecordedInput> {
  return checked('The record of a call', () => {
    if (isLarge(input)) return largeValue(input).then(largeInput)
    const inputJson = asJson(input)
    return { inputJson, identity: inputJson ?? 'null' }
  })
}

/** The identity differs from what is shown, because that is not the arguments themselves. */
export function largeInput(large: LargeValue): RecordedInput {
  const { bytes, sha256 } = large
  return { inputJson: JSON.stringify(large), identity: JSON.stringify({ bytes, sha256 }) }
}

/**
 * What a tool returned, for its row. What JSON cannot give back as it was (a date, a class), and what is too large
 * for a row, is framed, so that it is not mistaken for the output itself.
 */
export function recordedOutput(output: unknown): Awaitable<Pick<ToolCallEnd, 'outputJson' | 'outputText'>> {
  try {
    if (isLarge(output)) return largeValue(output).then(framed, () => framed(unreadable))
    if (typeof output === 'string') return { outputText: output }
    return { outputJson: asJson(output === undefined || isPlain(output) ? output : { inexact: true, value: output }) }
  } catch {
    // The tool has done its work even if its output cannot be read.
    return framed(unreadable)
  }
}

/**
 * The same for a row from which the output is given back as it was: what JSON would bend is beside what it makes of it, in the form of
 * `toPlain`.
 */
export function keptOutput(output: unknown): Awaitable<Pick<ToolCallEnd, 'outputJson' | 'outputText'>> {
  try {
    if (isLarge(output) || output === undefined || typeof output === 'string' || isPlain(output)) return recordedOutput(output)
    return framed({ value: JSON.parse(asJson(output) ?? 'null'), kept: toPlain(output) })
  } catch {
    return framed(unreadable)
  }
}

/** The output that a person gives for a call, and who it was. It is given back like any other. */
export const settledOutput = (output: unknown, settled: object): { outputJson: string } =>
  framed({
    value: output === undefined ? null : JSON.parse(asJson(output) ?? 'null'),
    ...(output !== undefined && { kept: toPlain(output) }),
    settled,
  })

/** The output as every execution gets it. @throws if it cannot be read */
export function sameInEveryExecution(output: unknown): unknown {
  return output === undefined || isLarge(output) || isExact(output) ? output : fromPlain(toPlain(output))
}

/** Whether JSON gives a value back, and nobody takes it for a frame. */
const isPlain = (value: unknown): boolean => isExact(value) && !(typeof value === 'object' && value !== null && 'inexact' in value)

const framed = (content: object): { outputJson: string } => ({ outputJson: JSON.stringify({ inexact: true, ...content }) })

const unreadable = { left_out: 'It cannot be read.' }

/** The output of a row, if the row holds all of it. */
export function wholeOutput(row: { outputJson: string | null; isCut: boolean }): { output: unknown } | undefined {
  if (row.isCut) return undefined
  if (row.outputJson === null) return { output: undefined }
  try {
    const output = JSON.parse(row.outputJson) as unknown
    if (typeof output !== 'object' || output === null || !('inexact' in output)) return { output }
    if ('kept' in output) return { output: fromPlain(output.kept) }
    return 'settled' in output ? { output: undefined } : undefined
  } catch {
    return undefined
  }
}

/** How deep a value is checked; the SDK's own are a few levels deep. */
const MAX_DEPTH = 100

function isExact(value: unknown, depth = 0): boolean {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || depth > MAX_DEPTH || 'toJSON' in value) return false
  if (Array.isArray(value)) return value.every((item) => isExact(item, depth + 1))
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return false
  return Object.values(value).every((item) => item === undefined || isExact(item, depth + 1))
}

/** What was thrown, as JSON; `output` is what an aborted command had printed. */
export function errorAsJson(error: unknown, output?: unknown): string {
  const description = described(withoutQuotes(error), 0)
  const whole = output === undefined ? description : { ...description, output }
  return asJson(isLarge(whole) ? cutError(whole) : whole) ?? 'null'
}

/** The limit of each text of an error that is too large for a row. */
const MAX_TEXT_LENGTH = 100_000

/** The texts of an error, each up to a limit, without its other fields. */
function cutError(error: Record<string, unknown>): Record<string, unknown> {
  const texts = Object.entries(error).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  const cut = texts.map(([name, text]) => [name, text.length > MAX_TEXT_LENGTH ? `${beginningOf(text, MAX_TEXT_LENGTH)} […]` : text])
  return { ...Object.fromEntries(cut), left_out: 'The rest is too large for a row.' }
}

/** An error with the name, message, code and details of the one that was recorded, if all is there. */
export function recordedError(json: string | null): Error | undefined {
  const description = parseObject(json)
  if (description === undefined || typeof description['message'] !== 'string') return undefined
  const { name, message, code, summary, hint, cause, outputAt } = description
  if (name === 'ToolError' && isToolErrorCode(code)) {
    const details = { ...(description['details'] as Record<string, unknown> | undefined) }
    // The output is a part of the message, and the row holds it once.
    if (Array.isArray(outputAt)) details['output'] = message.slice(Number(outputAt[0]), Number(outputAt[1]))
    return new ToolError({ code, summary: textOr(summary, message), hint: textOr(hint, ''), message, details, cause })
  }
  const error = Object.assign(new Error(message), code === undefined ? {} : { code })
  error.name = textOr(name, 'Error')
  return error
}

const isToolErrorCode = (code: unknown): code is ToolErrorCode => (toolErrorCodes as readonly unknown[]).includes(code)

function described(error: unknown, depth: number): Record<string, unknown> {
  if (typeof error !== 'object' || error === null) return { name: 'Thrown', message: String(error) }
  const { name, message, code, cause } = error as { [key in 'name' | 'message' | 'code' | 'cause']?: unknown }
  const description: Record<string, unknown> = { name: textOr(name, 'Error'), message: textOr(message, '') }
  if (typeof code === 'string') description['code'] = code
  if (ToolError.isInstance(error)) {
    const { summary, hint, details } = error
    Object.assign(description, { summary, hint }, withoutOutput(error.message, details))
  }
  if (cause !== undefined && depth < 3) description['cause'] = described(withoutQuotes(cause), depth + 1)
  return description
}

/** A long output is a part of the message, and would not fit a row twice. */
function withoutOutput(message: string, details: Record<string, unknown>): Record<string, unknown> {
  const { output, ...rest } = details
  if (typeof output !== 'string' || output === '') return { details }
  const start = message.indexOf(output)
  return start === -1 ? { details } : { details: rest, outputAt: [start, start + output.length] }
}

const textOr = (value: unknown, otherwise: string): string => (typeof value === 'string' ? value : otherwise)

/** The details of a refused edit that locate the failure without quoting the file. */
const recordedDetails = new Set([
  'path',
  'reason',
  'hunk',
  'line',
  'otherLine',
  'patchLine',
  'column',
  'nearestLines',
  'lines',
  'count',
  'patchHash',
  'patchBytes',
])

/** Codes of errors that quote the file or the text of the change. */
const quoting: ReadonlySet<string> = new Set(['TOOL_PATCH_FAILED', 'TOOL_EDIT_NO_MATCH', 'TOOL_EDIT_AMBIGUOUS', 'TOOL_FILE_CHANGED'])

/**
 * An error as it may be recorded. A refused edit shows its caller lines of the patch and of the file; a
 * record holds neither, as it holds no contents of a call that succeeds.
 */
export function withoutQuotes(error: unknown): unknown {
  if (!ToolError.isInstance(error) || !quoting.has(error.code)) return error
  const { code, summary } = error
  const details = Object.fromEntries(Object.entries(error.details).filter(([name]) => recordedDetails.has(name)))
  const { path, reason, ...numbers } = details
  const where = [
    ...(typeof reason === 'string' ? [reason.replaceAll(/[-_]/gu, ' ')] : []),
    ...Object.entries(numbers).flatMap(([name, value]) => (typeof value === 'number' ? [`${words[name] ?? name} ${value}`] : [])),
  ]
  // A patch of several files need not have got as far as one of them.
  const place = [summary, ...(path === undefined ? [] : [`\`${String(path)}\``]), ...(where.length === 0 ? [] : [where.join(', ')])].join(
    ': ',
  )
  return new ToolError({ code, summary, place, hint: '', details })
}

const words: Readonly<Record<string, string>> = {
  otherLine: 'other line',
  patchLine: 'line of the patch',
  patchBytes: 'bytes of the patch',
}

/** The same for the text of a session's `edit` or `apply_patch`, which shows lines of the file, or of the patch in quotes. */
export function textWithoutQuotes(text: string): string {
  const lines = text.startsWith('Failed to apply patch')
    ? text.indexOf('"')
    : text.startsWith('File changed since it was read')
      ? text.indexOf('\n')
      : text.indexOf('; near line ')
  return lines === -1 ? text : `${text.slice(0, lines)} (the lines that were shown are not kept)`
}

/**
 * The record of a change to a file, with size and hash in place of the text, which a record must not hold.
 *
 * @param name the argument that holds the text
 */
export function recordedChange(path: unknown, name: 'content' | 'patch', text: unknown): Awaitable<Record<string, unknown>> {
  if (typeof text !== 'string') return { path, [name]: typeof text }
  const recorded = (bytes: number, sha256: string) => ({ path, [`${name}Bytes`]: bytes, [`${name}Hash`]: sha256 })
  if (text.length <= MAX_CHARACTERS) return recorded(Buffer.byteLength(text), hash('sha256', text))
  return textDigest(text).then(({ bytes, sha256 }) => recorded(bytes, sha256))
}

/**
 * The record of a patch: size, hash, and which files it changes, in place of its text.
 *
 * @param filesOf the files, or nothing for what is no patch. They have to be the same at every call.
 */
export function recordedPatch(patch: unknown, filesOf: (patch: string) => Awaitable<unknown>): Awaitable<Record<string, unknown>> {
  if (typeof patch !== 'string') return { patch: typeof patch }
  return andThen(filesOf(patch), (files) =>
    andThen(recordedChange(undefined, 'patch', patch), (size) => ({ ...size, ...(files !== undefined && { files }) })),
  )
}
