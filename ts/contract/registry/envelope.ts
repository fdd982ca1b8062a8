import { type ContractCode, contractCodeOf, contractCodes } from '../../core/codes.js'
import { ToolError } from '../../core/errors.js'
import { ContractFailure } from './codes.js'

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
  if (ToolError.isInstance(error)) return { code: contractCodeOf[error.code] ?? 'tool_failed', text: error.message }
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
