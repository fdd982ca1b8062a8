import { ToolError } from '../errors.js'

/** A value as JSON: what has none (cycles, big integers) is put into words. */
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

/**
 * What a tool returned, as JSON. What JSON cannot give back as it was (a date, a class) is framed, so
 * that nobody takes it for the output itself.
 */
export function outputAsJson(output: unknown): string | undefined {
  if (output === undefined || isExact(output)) return asJson(output)
  return asJson({ inexact: true, value: output })
}

/** The output of a row, if the row holds all of it. */
export function wholeOutput(row: { outputJson: string | null; isCut: boolean }): { output: unknown } | undefined {
  if (row.isCut) return undefined
  if (row.outputJson === null) return { output: undefined }
  try {
    const output = JSON.parse(row.outputJson) as unknown
    const isFramed = typeof output === 'object' && output !== null && 'inexact' in output
    return isFramed ? undefined : { output }
  } catch {
    return undefined
  }
}

/** How deep a value is looked into: the SDK's own are a few levels deep. */
const DEEPEST = 100

function isExact(value: unknown, depth = 0): boolean {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || depth > DEEPEST || 'toJSON' in value) return false
  if (Array.isArray(value)) return value.every((item) => isExact(item, depth + 1))
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return false
  return Object.values(value).every((item) => item === undefined || isExact(item, depth + 1))
}

/** What was thrown, as JSON; `output` is what an aborted command had printed. */
export function errorAsJson(error: unknown, output?: unknown): string {
  const told = described(error, 0)
  return asJson(output === undefined ? told : { ...told, output }) ?? 'null'
}

function described(error: unknown, depth: number): Record<string, unknown> {
  if (typeof error !== 'object' || error === null) return { name: 'Thrown', message: String(error) }
  const { name, message, code, cause } = error as { [key in 'name' | 'message' | 'code' | 'cause']?: unknown }
  const told: Record<string, unknown> = { name: text(name, 'Error'), message: text(message, '') }
  if (typeof code === 'string') told['code'] = code
  if (ToolError.isInstance(error)) {
    const { summary, hint, details } = error
    Object.assign(told, { summary, hint, details })
  }
  if (cause !== undefined && depth < 3) told['cause'] = described(cause, depth + 1)
  return told
}

const text = (value: unknown, otherwise: string): string => (typeof value === 'string' ? value : otherwise)
