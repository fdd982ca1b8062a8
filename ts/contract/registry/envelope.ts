import { ToolError } from '../../core/errors.js'
import { type ContractCode, contractCodes, ContractFailure } from './codes.js'

/** What an envelope says besides its data. */
export interface Metadata {
  /** How long the call took, in whole milliseconds. */
  duration_ms: number
  /** `ok`, or what went wrong: one of `contractCodes`. */
  code: ContractCode
  /** Whether `data` holds the beginning only. */
  truncated?: boolean
  /** Where all of it is, for `read`. */
  output_path?: string
  /**
   * What there is to know besides the data: where the whole of a long output is, what the sandbox refused, what was
   * stopped. Absent where there is nothing to tell.
   */
  notes?: string[]
}

/** What comes back from every call, whatever became of it. */
export type Envelope<T = unknown> =
  | { type: 'output'; data: T; metadata: Metadata }
  | { type: 'error'; error_text: string; metadata: Metadata }

/** The part of {@link Metadata} that is not measured. */
export type Outcome = Omit<Metadata, 'duration_ms' | 'code'>

/** The envelope of a success. */
export function outputEnvelope(data: unknown, duration: number, { truncated, output_path, notes = [] }: Outcome = {}): Envelope {
  const metadata: Metadata = { duration_ms: wholeMs(duration), code: 'ok' }
  if (truncated === true) metadata.truncated = true
  if (output_path !== undefined) metadata.output_path = output_path
  if (notes.length > 0) metadata.notes = notes
  return { type: 'output', data, metadata }
}

/** The envelope of a failure. */
export function errorEnvelope(code: ContractCode, text: string, duration: number): Envelope {
  return { type: 'error', error_text: text, metadata: { duration_ms: wholeMs(duration), code } }
}

const wholeMs = (duration: number): number => Math.max(0, Math.round(duration))

/** What was thrown, as a code and a text for the model. */
export function failureOf(error: unknown): { code: ContractCode; text: string } {
  if (ContractFailure.isInstance(error)) {
    const code = Object.hasOwn(contractCodes, error.code) && error.code !== 'ok' ? error.code : 'tool_failed'
    return { code, text: error.message }
  }
  if (ToolError.isInstance(error)) return { code: byErrorCode[error.code] ?? 'tool_failed', text: error.message }
  return { code: 'tool_failed', text: thrownText(error) }
}

/** What was thrown in words; anything can be thrown, also what cannot be turned into a string. */
export function thrownText(error: unknown): string {
  try {
    const text = error instanceof Error ? error.message || error.name : String(error)
    return text === '' ? 'The tool failed without a message.' : text
  } catch {
    return 'The tool failed with something that has no text.'
  }
}

const byErrorCode: Readonly<Record<string, ContractCode>> = {
  CAPABILITY_DENIED: 'capability_refused',
  TOOL_FILE_BINARY: 'binary_file',
  TOOL_EDIT_NO_MATCH: 'conflict',
  TOOL_EDIT_AMBIGUOUS: 'ambiguous',
  TOOL_PATH_INVALID: 'invalid_arguments',
  INVALID_INPUT: 'invalid_arguments',
  TOOL_PATH_ESCAPE: 'capability_refused',
  TOOL_FILE_NOT_FOUND: 'not_found',
  TOOL_NOT_A_FILE: 'not_a_file',
  TOOL_NOT_A_DIRECTORY: 'not_a_directory',
  TOOL_PERMISSION_DENIED: 'os_denied',
  TOOL_FILE_TOO_LARGE: 'too_large',
  TOOL_CONTENT_TOO_LARGE: 'too_large',
  TOOL_EDIT_CONFLICT: 'stale',
  TOOL_FILE_BUSY: 'busy',
  TOOL_GREP_FAILED: 'invalid_pattern',
  TOOL_PATH_PROTECTED: 'sandbox_refused',
  TOOL_NETWORK_DISABLED: 'sandbox_refused',
  TOOL_GIT_REMOTE_DISABLED: 'sandbox_refused',
  TOOL_SANDBOX_UNAVAILABLE: 'unavailable',
  TOOL_ROOT_INVALID: 'unavailable',
  TOOL_ROOT_CHANGED: 'unavailable',
  NATIVE_UNAVAILABLE: 'unavailable',
  TOOL_IO_FAILED: 'io_failed',
  TOOL_REPLACE_REFUSED: 'io_failed',
  PROCESS_TIMEOUT: 'timeout',
}
