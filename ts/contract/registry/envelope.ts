import { type ContractCode, contractCodeOf, contractCodes } from '../../core/codes.js'
import { ToolError } from '../../core/errors.js'

/** The metadata of an envelope. */
export interface Metadata {
  /** The duration of the call, in whole milliseconds. */
  duration_ms: number
  /** `ok`, or the code of the failure: one of `contractCodes`. */
  code: ContractCode
  /** Whether `data` is incomplete. */
  truncated?: boolean
  /** The path of the whole output, for `read`. */
  output_path?: string
  /**
   * Notes for the model, such as the place of a long output, what the sandbox refused, and what was stopped. Absent if there
   * are none.
   */
  notes?: string[]
  /**
   * The files that patches in a command have changed, by the command's own report. Paths below the first root are relative to
   * it. Absent if there are none. Other changes of a command are unknown.
   */
  changed_files?: string[]
  /**
   * What a command of `bash` has changed, in a session with checkpoints: by paths below the directory of the checkpoints. Absent if it
   * changed nothing.
   */
  changed?: ChangedPath[]
  /** The hosts that a command asked for, in a session with `sandbox.network`. Absent if there are none. */
  connections?: CommandConnection[]
  /** What the sandbox refused a command, as far as that is certain. Absent if there is nothing. */
  denials?: CommandDenial[]
  /** The secrets that are masked in the output of a command, by their names. Absent if there are none. */
  masked?: MaskedSecret[]
}

/** A secret that is masked in an output. */
export interface MaskedSecret {
  /** The name that stands in its places, without brackets. */
  name: string
  /** The number of places. */
  count: number
}

/** A host that a command asked for: one row for each host, port and verdict. */
export interface CommandConnection {
  /** The name, or the address. */
  host: string
  /** Absent if the name was only looked up. */
  port?: number
  /** `refused` by the sandbox; `failed` for another reason. */
  verdict: 'opened' | 'refused' | 'failed'
  /** The number of connections or look-ups. */
  count: number
  /** The bytes that all of them sent, if they were opened and the system tells. */
  sent_bytes?: number
  /** The bytes that all of them received; the end of each stream may count as one. */
  received_bytes?: number
  /** The requests in them that had a credential of `sandbox.network.credentials`, or were to have one. Absent if there are none. */
  requests?: CommandRequest[]
}

/** Requests to the host of a credential: one row for each method, path and outcome. No value is in it. */
export interface CommandRequest {
  /** The variables of the credentials; empty if the request was not understood. */
  credential: string
  method: string
  /** The path without its query. */
  path: string
  /** The status of the host's answer; absent if there was none. */
  status?: number
  /** Why the request did not reach the host. */
  refused?: 'rule' | 'rejected' | 'no value' | 'not understood' | 'HTTP/2 only'
  count: number
  /** The bytes of the bodies to the host. */
  sent_bytes: number
  received_bytes: number
}

/** Something that the sandbox refused a command. */
export interface CommandDenial {
  layer: 'network' | 'files' | 'limits'
  /** A host with its port, a path, or the limit. */
  subject: string
  /** The option, capability or argument that opens it; `null` if there is none. */
  option: string | null
}

/** A path that a command has changed. */
export interface ChangedPath {
  path: string
  kind: 'created' | 'modified' | 'deleted'
}

/** The outcome of every call. */
export type Envelope<T = unknown> =
  | { type: 'output'; data: T; metadata: Metadata }
  | { type: 'error'; error_text: string; metadata: Metadata }

export type Outcome = Omit<Metadata, 'duration_ms' | 'code'>

export function outputEnvelope(
  data: unknown,
  duration: number,
  { truncated, output_path, notes = [], changed_files = [], changed = [], connections = [], denials = [], masked = [] }: Outcome = {},
): Envelope {
  const metadata: Metadata = { duration_ms: wholeMs(duration), code: 'ok' }
  if (truncated === true) metadata.truncated = true
  if (output_path !== undefined) metadata.output_path = output_path
  if (notes.length > 0) metadata.notes = notes
  if (changed_files.length > 0) metadata.changed_files = changed_files
  if (changed.length > 0) metadata.changed = changed
  if (connections.length > 0) metadata.connections = connections
  if (denials.length > 0) metadata.denials = denials
  if (masked.length > 0) metadata.masked = masked
  return { type: 'output', data, metadata }
}

export function errorEnvelope(code: ContractCode, text: string, duration: number): Envelope {
  return { type: 'error', error_text: text, metadata: { duration_ms: wholeMs(duration), code } }
}

const wholeMs = (duration: number): number => Math.max(0, Math.round(duration))

/** The code, and the text for the model, of a thrown value. */
export function failureOf(error: unknown): { code: ContractCode; text: string } {
  if (ContractFailure.isInstance(error)) {
    const code = Object.hasOwn(contractCodes, error.code) && error.code !== 'ok' ? error.code : 'tool_failed'
    return { code, text: error.message }
  }
  if (ToolError.isInstance(error)) return { code: contractCodeOf[error.code] ?? 'tool_failed', text: error.message }
  return { code: 'tool_failed', text: thrownText(error) }
}

/** The text of a thrown value, which can be anything, even a value that cannot be converted to a string. */
export function thrownText(error: unknown): string {
  try {
    const text = error instanceof Error ? error.message || error.name : String(error)
    return text === '' ? 'The tool failed without a message.' : text
  } catch {
    return 'The tool failed with something that has no text.'
  }
}

export { type CodeClass, type ContractCode, contractCodes } from '../../core/codes.js'

/** A failure with its code: what a tool throws to say more than that it failed. */
export class ContractFailure extends Error {
  override readonly name = 'ContractFailure'
  /** The `metadata.code` of the envelope. */
  readonly code: ContractCode

  constructor(code: ContractCode, message: string, options?: ErrorOptions) {
    // Not every value that is thrown with a message can be made a text.
    super(String(message), options)
    this.code = code
    Object.defineProperty(this, mark, { value: true, enumerable: false })
  }

  /** True for a failure of this or any other installed copy of the package. */
  static isInstance(value: unknown): value is ContractFailure {
    return typeof value === 'object' && value !== null && mark in value
  }
}

const mark = Symbol.for('toolwright.contract-failure')
