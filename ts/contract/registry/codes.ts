import { checked } from '../../core/options.js'

/** Which side a failure comes from, and so what the model can do about it. */
export type CodeClass = 'ok' | 'input' | 'refused' | 'unavailable' | 'backend' | 'stopped'

/**
 * Every `metadata.code` of an envelope, with its class:
 *
 * - `input`: the arguments are wrong; other arguments may work;
 * - `refused`: somebody does not want the call to be made;
 * - `unavailable`: what the call needs is not there, whatever its arguments are;
 * - `backend`: the call was made and went wrong;
 * - `stopped`: it was given up from outside.
 */
export const contractCodes = {
  /** The call did what it should. */
  ok: 'ok',

  /** The arguments do not fit the tool's schema, or contradict each other. */
  invalid_arguments: 'input',
  /** No tool of the session has this id. */
  unknown_tool: 'input',
  /** Nothing exists at the path. */
  not_found: 'input',
  /** The path is a directory, a pipe, a device. */
  not_a_file: 'input',
  /** A component of the path is a file. */
  not_a_directory: 'input',
  /** The file is no text. */
  binary_file: 'input',
  /** More text than the host lets a call take or give. */
  too_large: 'input',
  /** The text to replace is not in the file. */
  conflict: 'input',
  /** The text to replace is in the file more than once. */
  ambiguous: 'input',
  /** A pattern that is none. */
  invalid_pattern: 'input',

  /** Outside of the capabilities of the session. */
  capability_refused: 'refused',
  /** A permission rule says no. */
  permission_denied: 'refused',
  /** It would have to be asked for, and nobody is there. */
  permission_unattended: 'refused',
  /** The user said no. */
  permission_rejected: 'refused',
  /** The user did not answer in time. */
  permission_timeout: 'refused',
  /** The watchdog says no, failed, or did not answer in time. */
  watchdog_denied: 'refused',
  /** The sandbox of the operating system says no. */
  sandbox_refused: 'refused',

  /** The host does not offer what the tool needs. */
  unavailable: 'unavailable',
  /** The session's calls of this tool are used up. */
  limit_reached: 'unavailable',
  /** There is nobody to answer a question. */
  question_unavailable: 'unavailable',
  /** The session has been closed. */
  session_closed: 'unavailable',
  /** The call could not be recorded, and so was not made. */
  recording_failed: 'unavailable',

  /** The tool failed. */
  tool_failed: 'backend',
  /** The system failed to read or write. */
  io_failed: 'backend',
  /** A host could not be reached, or what it answers cannot be used. */
  network_failed: 'backend',
  /** The user that runs the session may not do this. */
  os_denied: 'backend',
  /** The file was changed by somebody else meanwhile. */
  stale: 'backend',
  /** Too many calls wait for the same file. */
  busy: 'backend',
  /** The tool gave something that JSON cannot hold. */
  invalid_output: 'backend',
  /** The host's answer to a question does not fit the question. */
  invalid_answer: 'backend',

  /** It took too long. */
  timeout: 'stopped',
  /** It was aborted. */
  aborted: 'stopped',
  /** The process died during the call: nobody knows how far it had come. */
  interrupted: 'stopped',
} as const satisfies Record<string, CodeClass>

/** The `metadata.code` of an envelope. */
export type ContractCode = keyof typeof contractCodes

/** A failure with its code: what a tool throws to say more than that it failed. */
export class ContractFailure extends Error {
  override readonly name = 'ContractFailure'
  /** The `metadata.code` of the envelope. */
  readonly code: ContractCode

  constructor(code: ContractCode, message: string, options?: ErrorOptions) {
    super(...checked('ContractFailure', () => [message && String(message), options === undefined ? {} : { ...options }] as const))
    this.code = code
    Object.defineProperty(this, mark, { value: true, enumerable: false })
  }

  /** True for a failure of this or any other installed copy of the package. */
  static isInstance(value: unknown): value is ContractFailure {
    return typeof value === 'object' && value !== null && mark in value
  }
}

const mark = Symbol.for('toolwright.contract-failure')
