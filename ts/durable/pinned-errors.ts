/** Errors of calls that are kept, and those that a call may be made again after. */
import { ToolError } from '../core/errors.js'
import { parseObject } from '../core/parse-rows.js'
import { errorAsJson, recordedError } from '../journal/calls/recorded-values.js'

/** Fields of errors that clients fill with whole requests, and with what authorises them. */
const NEVER_KEPT = /^(?:config|request|response|req|res|headers|options|agent|stack)$|auth|token|secret|password|cookie|credential/iu
/** Fields that an error is described by already. */
const DESCRIBED: ReadonlySet<string> = new Set(['name', 'message', 'code', 'cause', 'summary', 'hint', 'details'])
const MAX_FIELDS = 30
const MAX_TEXT = 1_000

/** What was thrown, as JSON, with the class and the plain fields that its catcher may look at. */
export function pinnedErrorAsJson(error: unknown, output?: unknown): string {
  const json = errorAsJson(error, output)
  if (!(error instanceof Error) || ToolError.isInstance(error)) return json
  try {
    const fields = plainFields(error, 2)
    const kind = error.constructor.name
    const more = { ...(kind !== error.name && { class: kind }), ...(fields !== undefined && { fields }) }
    if (Object.keys(more).length === 0) return json
    return JSON.stringify({ ...(JSON.parse(json) as object), ...more })
  } catch {
    return json
  }
}

function plainFields(value: object, depth: number): Record<string, unknown> | undefined {
  const fields: Record<string, unknown> = {}
  for (const [name, one] of Object.entries(value).slice(0, MAX_FIELDS)) {
    if (NEVER_KEPT.test(name) || DESCRIBED.has(name)) continue
    const kept = plainField(one, depth)
    if (kept !== undefined) fields[name] = kept
  }
  // A code that is a number is none of the described ones.
  const { code } = value as { code?: unknown }
  if (typeof code === 'number') fields['code'] = code
  return Object.keys(fields).length === 0 ? undefined : fields
}

function plainField(value: unknown, depth: number): unknown {
  if (value === null || typeof value === 'boolean' || Number.isFinite(value)) return value
  if (typeof value === 'string') return value.length <= MAX_TEXT ? value : undefined
  if (typeof value !== 'object' || depth === 0) return undefined
  if (Array.isArray(value)) return value.length <= MAX_FIELDS ? value.map((one) => plainField(one, depth - 1) ?? null) : undefined
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null ? plainFields(value, depth - 1) : undefined
}

const CLASSES: Readonly<Record<string, new (message: string) => Error>> = {
  TypeError,
  RangeError,
  SyntaxError,
  URIError,
  EvalError,
  ReferenceError,
}

/** The error of such a text: of its class where that is one of the language, else of one with its name. */
export function pinnedError(json: string | null): Error | undefined {
  const error = recordedError(json)
  if (error === undefined || ToolError.isInstance(error)) return error
  const { class: kind, fields } = parseObject(json) ?? {}
  const name = typeof kind === 'string' ? kind : error.name
  const made = Object.hasOwn(CLASSES, name) ? new (CLASSES[name] as new (message: string) => Error)(error.message) : ofClass(name, error)
  const { code, cause } = error as { code?: unknown; cause?: unknown }
  Object.assign(made, code === undefined ? {} : { code }, cause === undefined ? {} : { cause }, typeof fields === 'object' ? fields : {})
  Object.defineProperty(made, 'name', { value: error.name, configurable: true, writable: true, enumerable: false })
  return made
}

function ofClass(name: string, { message }: Error): Error {
  if (name === 'Error' || name === '') return new Error(message)
  const Named = { [name]: class extends Error {} }[name] as new (text: string) => Error
  return new Named(message)
}

/** Whether an error says itself that the same call would fail again. */
export function isVerdict(error: unknown): boolean {
  const { isRetryable, retryable, nonRetryable, status, statusCode } = (error ?? {}) as Record<string, unknown>
  if (isRetryable === true || retryable === true) return false
  if (isRetryable === false || retryable === false || nonRetryable === true) return true
  const answer = typeof status === 'number' ? status : statusCode
  return typeof answer === 'number' && answer >= 400 && answer < 500 && ![408, 409, 423, 425, 429].includes(answer)
}
