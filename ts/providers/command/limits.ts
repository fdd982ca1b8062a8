import { invalid, wholeNumber } from '../../core/options.js'
import type { Settings } from '../../toolkit/settings.js'

/** The longest command line. The system takes no argument of 131,072 bytes or more. */
const MAX_LINE_BYTES = 120_000

/** The timeout of a command: the model's, up to the host's limit. */
export function timeoutOf(asked: unknown, { timeoutMs }: Settings, maxTimeoutMs: number): number {
  if (asked === undefined || asked === null) return timeoutMs
  if (typeof asked !== 'number' || !(asked > 0)) throw invalid('timeoutMs must be a positive number.')
  return Math.min(asked, Math.max(maxTimeoutMs, timeoutMs))
}

/** Checks the length of a command line. @throws {ToolError} INVALID_INPUT */
export function commandLine(value: unknown, name: string): string {
  if (typeof value !== 'string') throw invalid(`${name} must be a string.`)
  if (value.includes('\0')) throw invalid(`${name} holds a NUL byte.`)
  const bytes = Buffer.byteLength(value)
  if (bytes <= MAX_LINE_BYTES) return value
  throw invalid(`${name} has ${bytes} bytes, and a command has at most ${MAX_LINE_BYTES}. Write long texts with another tool.`, { bytes })
}

const characters = wholeNumber(0)

/** The number of characters of output that the model asks for. */
export function outputLimit(value: unknown): number | undefined {
  return value === undefined || value === null ? undefined : characters(value, 'maxOutputLength')
}

/**
 * Cuts two streams to a number of characters together. A stream that fits into half of it is kept whole; a longer one keeps
 * its beginning and its end.
 */
export function limitTogether(stdout: string, stderr: string, limit: number): { stdout: string; stderr: string } {
  if (stdout.length + stderr.length <= limit) return { stdout, stderr }
  const half = Math.floor(limit / 2)
  const errors = stderr.length <= half ? stderr.length : Math.max(half, limit - stdout.length)
  return { stdout: shortened(stdout, limit - errors), stderr: shortened(stderr, errors) }
}

/** Cuts a text to `limit` characters: its beginning and its end. */
export function shortened(text: string, limit: number): string {
  if (text.length <= limit) return text
  const note = `\n[${text.length - limit} characters and more left out]\n`
  if (limit < 4 * note.length) return whole(text.slice(0, limit))
  const head = Math.ceil((limit - note.length) / 2)
  const end = text.slice(text.length - (limit - note.length - head))
  return `${whole(text.slice(0, head))}${note}${isLow(end.charCodeAt(0)) ? end.slice(1) : end}`
}

const isLow = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff
const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff
/** Drops half a character at the end. */
const whole = (text: string): string => (isHigh(text.charCodeAt(text.length - 1)) ? text.slice(0, -1) : text)
