import { ToolError } from './errors.js'

/** A value that the call cannot be made with. */
export function invalid(summary: string, details: Record<string, unknown> = {}): ToolError {
  return new ToolError({ code: 'INVALID_INPUT', summary, details, hint })
}

const hint = 'Correct the value and call again.'

/**
 * Looks at what a public function was given.
 *
 * @param caller the function, for whoever reads the message.
 * @throws {ToolError} INVALID_INPUT that names the caller: of `look`, and for what a getter or a proxy throws.
 */
export function checked<T>(caller: string, look: () => T): T {
  try {
    return look()
  } catch (error) {
    throw refusedIn(caller, error)
  }
}

function refusedIn(caller: string, cause: unknown): unknown {
  if (!ToolError.isInstance(cause)) {
    const what = cause instanceof Error ? cause.message : 'it throws'
    const summary = `${caller} was given something that cannot be read: ${what}`
    return new ToolError({ code: 'INVALID_INPUT', summary, hint, cause })
  }
  const { code, summary, details } = cause
  // What another look has named already, and failures of another kind, say where they come from.
  if (code !== 'INVALID_INPUT' || cause.hint !== hint || cause.message.includes(caller)) return cause
  return new ToolError({ code, summary, place: `${summary} (${caller})`, details, hint })
}

/**
 * Refuses what is no object, and names that are no options: a misspelt one would leave open what it was to close.
 *
 * @param where what stands before a name: nothing, or a path that ends in a dot.
 * @throws {ToolError} INVALID_INPUT
 */
export function checkNames(where: string, options: unknown, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw invalid(`${where === '' ? 'The options' : where.slice(0, -1)} must be an object.`)
  }
  const unknown = Object.keys(options).find((name) => !known.includes(name))
  if (unknown !== undefined) throw invalid(`${where}${unknown} is no option; there are ${known.join(', ')}.`)
}

/**
 * The options that a public function was given, each looked at once: what a getter says later may be another thing
 * than what was checked.
 *
 * @throws {ToolError} INVALID_INPUT, as {@link checkNames} does.
 */
export function givenOptions<OPTIONS extends object>(caller: string, options: OPTIONS, known: readonly string[]): OPTIONS {
  return checked(caller, () => {
    checkNames('', options, known)
    return takenOptions(options, known)
  })
}

/** The values of these names, each looked at once. */
export function takenOptions<OPTIONS extends object>(options: OPTIONS, known: readonly string[]): OPTIONS {
  const values = known.map((name) => [name, options[name as keyof OPTIONS]] as const)
  return Object.fromEntries(values.filter(([, value]) => value !== undefined)) as OPTIONS
}

/** Whether an object is of no class: one of a class may have names of its own besides options. */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype as object) === null
}

/** @throws {ToolError} INVALID_INPUT for what is no `AbortSignal`; nothing is one that never aborts. */
export function checkSignal(signal: unknown, name = 'signal'): void {
  if (signal === undefined) return
  const { throwIfAborted, addEventListener } = (signal ?? {}) as Partial<AbortSignal>
  if (typeof throwIfAborted !== 'function' || typeof addEventListener !== 'function') {
    throw invalid(`${name} must be an AbortSignal.`)
  }
}

/** @throws {ToolError} INVALID_INPUT for what is no text with anything in it. */
export function checkText(name: string, value: unknown): void {
  if (typeof value !== 'string' || value === '') throw invalid(`${name} must be a non-empty string.`)
}

/** @throws {ToolError} INVALID_INPUT for what cannot be called. */
export function checkFunction(name: string, value: unknown): void {
  if (typeof value !== 'function') throw invalid(`${name} must be a function.`)
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
