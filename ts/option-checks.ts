import { ToolError } from './errors.js'

/** A value that the call cannot be made with. */
export function invalid(summary: string, details: Record<string, unknown> = {}): ToolError {
  return new ToolError({ code: 'INVALID_INPUT', summary, details, hint: 'Correct the value and call again.' })
}

/** Whether it is an array of non-empty strings that the system can take. */
export function isNames(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((name) => typeof name === 'string' && name !== '' && !name.includes('\0'))
}
