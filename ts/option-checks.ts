import { ToolError } from './errors.js'

/** A value that the call cannot be made with. */
export function invalid(summary: string, details: Record<string, unknown> = {}): ToolError {
  return new ToolError({ code: 'INVALID_INPUT', summary, details, hint: 'Correct the value and call again.' })
}

/**
 * Refuses what is no object, and names that are no options: a misspelt one would leave open what it was to close.
 *
 * @param where what stands before a name: nothing, or a path that ends in a dot.
 * @throws {ToolError} INVALID_INPUT
 */
export function checkNames(where: string, options: unknown, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null) {
    throw invalid(`${where === '' ? 'The options' : where.slice(0, -1)} must be an object.`)
  }
  const unknown = Object.keys(options).find((name) => !known.includes(name))
  if (unknown !== undefined) throw invalid(`${where}${unknown} is no option; there are ${known.join(', ')}.`)
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
