/** Checks the arguments of the process tools, for doors whose calls come without a check of the schema. */
import {
  boolean,
  type Check,
  type Checks,
  invalid,
  isNames,
  listOf,
  must,
  oneOf,
  optional,
  parseOptions,
  string,
  wholeNumber,
} from '../options.js'
import {
  processKeys,
  type ProcessReadArguments,
  type ProcessStartArguments,
  type ProcessStopArguments,
  type ProcessWriteArguments,
} from './process-report.js'
import {
  MAX_GRACE_MS,
  MAX_INPUT_LENGTH,
  MAX_KEYS,
  MAX_REPORT_BYTES,
  MAX_WAIT_MS,
  MIN_REPORT_BYTES,
  type ProcessToolId,
} from './process-tools.js'

const textUpTo =
  (max: number): Check<string> =>
  (value, name) => {
    const text = string(value, name)
    if (text.length > max) throw invalid(`${name} exceeds ${max} characters.`, { maxLength: max, length: text.length })
    return text
  }

const line: Check<string> = (value, name) => {
  const text = textUpTo(65_536)(value, name)
  if (text.trim() === '') throw invalid(`${name} must be a non-empty string.`)
  if (text.includes('\0')) throw invalid(`${name} holds a NUL byte.`)
  return text
}

const path: Check<string> = (value, name) => must<string>(() => isNames([value]), 'a path')(textUpTo(4096)(value, name), name)
const processId: Check<string> = (value, name) => must<string>(() => value !== '', 'the id of a process')(textUpTo(100)(value, name), name)
const waitMs = optional(wholeNumber(0, MAX_WAIT_MS))

const keys: Check<ProcessWriteArguments['keys']> = (value, name) => {
  const list = listOf(oneOf(...processKeys))(value, name)
  if (list.length > MAX_KEYS) throw invalid(`${name} exceeds ${MAX_KEYS} entries.`)
  return list
}

const checks = {
  process_start: {
    command: line,
    workdir: optional(path),
    terminal: optional(boolean),
    wait_ms: waitMs,
    description: optional(textUpTo(1000)),
  } satisfies Checks<ProcessStartArguments>,
  process_read: {
    process_id: processId,
    from: optional(wholeNumber(Number.MIN_SAFE_INTEGER)),
    stream: optional(oneOf('stdout', 'stderr')),
    max_bytes: optional(wholeNumber(MIN_REPORT_BYTES, MAX_REPORT_BYTES)),
    wait_ms: waitMs,
  } satisfies Checks<ProcessReadArguments>,
  process_write: {
    process_id: processId,
    text: optional(textUpTo(MAX_INPUT_LENGTH)),
    keys: optional(keys),
    close_input: optional(boolean),
    secret: optional(boolean),
    wait_ms: waitMs,
  } satisfies Checks<ProcessWriteArguments>,
  process_stop: {
    process_id: processId,
    grace_ms: optional(wholeNumber(0, MAX_GRACE_MS)),
  } satisfies Checks<ProcessStopArguments>,
}

/** The arguments of each tool. */
export interface ProcessArguments {
  process_start: ProcessStartArguments
  process_read: ProcessReadArguments
  process_write: ProcessWriteArguments
  process_stop: ProcessStopArguments
}

/** @throws {ToolError} INVALID_INPUT */
export function parseProcessArguments<ID extends ProcessToolId>(tool: ID, args: unknown): ProcessArguments[ID] {
  return parseOptions(tool, args, checks[tool]) as unknown as ProcessArguments[ID]
}
