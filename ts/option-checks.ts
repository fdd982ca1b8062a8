import { ToolError } from './errors.js'

/** A value that the call cannot be made with. */
export function invalid(summary: string, details: Record<string, unknown> = {}): ToolError {
  return new ToolError({ code: 'INVALID_INPUT', summary, details, hint: 'Correct the value and call again.' })
}

/** Whether it is an array of non-empty strings that the system can take. */
export function isNames(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((name) => typeof name === 'string' && name !== '' && !name.includes('\0'))
}

/** A copy of options that are lists and objects of plain values, which no caller can change afterwards. */
export function ownCopy<OPTIONS extends object>(options: OPTIONS): OPTIONS {
  const copies = Object.entries(options).map(([name, value]: [string, unknown]) => {
    if (Array.isArray(value)) return [name, [...value]]
    return [name, typeof value === 'object' && value !== null ? { ...value } : value]
  })
  return Object.fromEntries(copies) as OPTIONS
}
