import { actedCodes, type ToolErrorCode, toolErrorCodes } from './codes.js'

/** The parts of a {@link ToolError}. */
export interface ToolErrorOptions {
  /** The stable name of the failure. */
  code: ToolErrorCode
  /** What happened, in a few words, e.g. `File too large (210000 bytes)`. */
  summary: string
  /** The summary with its place. @default summary */
  place?: string | undefined
  /** The next move, as a sentence. */
  hint?: string | undefined
  /** Facts for programs: `path`, `bytes`, `exitCode`, `output`, … */
  details?: Record<string, unknown> | undefined
  /** The error behind this one. */
  cause?: unknown
  /** The whole text, if it has been rendered already. @default place + [code] + hint */
  message?: string | undefined
}

const mark = Symbol.for('toolwright.tool-error')

/**
 * The error of every tool in this package.
 *
 * The AI SDK shows a model only the message, so the message has everything that a model needs: what happened, where, the code
 * in brackets, and the next move.
 */
export class ToolError extends Error {
  override readonly name = 'ToolError'
  /** The stable name of the failure. */
  readonly code: ToolErrorCode
  /** What happened, in a few words, without place, code and hint. */
  readonly summary: string
  /** Facts for programs; `docs/errors.md` lists them by code. */
  readonly details: Record<string, unknown>
  /** The next move, as a sentence; empty if there is none. */
  readonly hint: string

  /** @throws {ToolError} INVALID_INPUT for parts without a code and a summary. */
  constructor(options: ToolErrorOptions) {
    checkParts(options)
    const hint = options.hint ?? ''
    const text = `${options.place ?? options.summary} [${options.code}]${hint === '' ? '' : ` ${hint}`}`
    super(options.message ?? text, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = options.code
    this.summary = options.summary
    this.details = options.details ?? {}
    this.hint = hint
    Object.defineProperty(this, mark, { value: true, enumerable: false })
  }

  /** Whether a value is a `ToolError` of this or any other installed copy of the package. */
  static isInstance(value: unknown): value is ToolError {
    return typeof value === 'object' && value !== null && mark in value
  }
}

/** The same error with another next move. */
export function withHint(error: ToolError, hint: string): ToolError {
  const { code, summary, details, cause, message } = error
  const at = error.hint === '' ? -1 : message.lastIndexOf(error.hint)
  const text = at === -1 ? message : message.slice(0, at).trimEnd()
  return new ToolError({ code, summary, details, cause, hint, message: `${text} ${hint}` })
}

/**
 * A `TypeError` that `ToolError.isInstance` accepts, for functions whose documents ask for one. Its message is the documents'
 * own.
 */
export function toolTypeError(summary: string, cause?: unknown): TypeError {
  const error = new TypeError(summary, cause === undefined ? undefined : { cause })
  const parts = { code: 'INVALID_INPUT', summary, details: {}, hint: 'Correct the value and call again.', [mark]: true }
  for (const name of Reflect.ownKeys(parts)) {
    Object.defineProperty(error, name, { value: parts[name as keyof typeof parts], enumerable: false })
  }
  return error
}

/** Checks the parts, because an error without code and text would say nothing. */
function checkParts(options: ToolErrorOptions): void {
  const { code, summary, place = '', hint = '', message = '' } = options ?? {}
  if ([code, summary, place, hint, message].every((part) => typeof part === 'string')) return
  throw new ToolError({
    code: 'INVALID_INPUT',
    summary: 'A ToolError needs a code and a summary, and its other texts must be strings.',
    hint: 'Give them as strings.',
  })
}

/** Whether a built-in tool that threw this error has done nothing. A retry is not warned of such a call. */
export function wasRefused(error: unknown): boolean {
  if (!ToolError.isInstance(error) || error.details['started'] === true) return false
  return toolErrorCodes.includes(error.code) && !actedCodes.includes(error.code)
}
