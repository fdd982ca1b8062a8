import { ToolError } from './errors.js'

/** The error of a value that a call cannot be made with. */
export function invalid(summary: string, details: Record<string, unknown> = {}): ToolError {
  return new ToolError({ code: 'INVALID_INPUT', summary, details, hint })
}

const hint = 'Correct the value and call again.'

/**
 * Checks the arguments of a public function.
 *
 * @param caller the function, for the reader of the message.
 * @throws {ToolError} INVALID_INPUT that names the caller: of `check`, and for a getter or a proxy that throws.
 */
export function checked<T>(caller: string, check: () => T): T {
  try {
    return check()
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
  // An inner check may have named its caller already, and failures of another kind say where they come from.
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
 * The options of a public function, each read once.
 *
 * @throws {ToolError} INVALID_INPUT, as {@link checkNames} does.
 */
export function givenOptions<OPTIONS extends object>(caller: string, options: OPTIONS, known: readonly string[]): OPTIONS {
  return checked(caller, () => {
    checkNames('', options, known)
    return takenOptions(options, known)
  })
}

/** The values of these names, each read once. */
export function takenOptions<OPTIONS extends object>(options: OPTIONS, known: readonly string[]): OPTIONS {
  const values = known.map((name) => [name, options[name as keyof OPTIONS]] as const)
  return Object.fromEntries(values.filter(([, value]) => value !== undefined)) as OPTIONS
}

/** Whether an object has no class. An object of a class may have names of its own besides options. */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype as object) === null
}

/** Checks the value of one option under its name, and gives what is used: the value, a copy of it, or its default. */
export type Check<T> = (value: unknown, name: string) => T

/** The checks of an options object. The compiler misses an option that is new, and one that is gone. */
export type Checks<OPTIONS> = { readonly [NAME in keyof Required<OPTIONS>]: Check<OPTIONS[NAME]> }

/** What the checks of an options object give. */
export type Parsed<CHECKS> = { [NAME in keyof CHECKS]: CHECKS[NAME] extends Check<infer T> ? T : never }

/**
 * The options of a public function, checked, copied and with their defaults.
 *
 * @throws {ToolError} INVALID_INPUT that names the caller.
 */
export function parseOptions<CHECKS extends Record<string, Check<unknown>>>(
  caller: string,
  options: unknown,
  checks: CHECKS,
): Parsed<CHECKS> {
  return checked(caller, () => parseObject('', options, checks))
}

/** @param where what stands before a name: nothing, or a path that ends in a dot. */
function parseObject<CHECKS extends Record<string, Check<unknown>>>(where: string, options: unknown, checks: CHECKS): Parsed<CHECKS> {
  checkNames(where, options, Object.keys(checks))
  const parsed: Record<string, unknown> = {}
  for (const [name, check] of Object.entries(checks)) {
    const value = check((options as Record<string, unknown>)[name], `${where}${name}`)
    if (value !== undefined) parsed[name] = value
  }
  return parsed as Parsed<CHECKS>
}

/** An object of options within options. */
export function group<CHECKS extends Record<string, Check<unknown>>>(checks: CHECKS): Check<Parsed<CHECKS>> {
  return (value, name) => parseObject(`${name}.`, value, checks)
}

/** An option that may be left out. */
export function optional<T>(check: Check<T>): Check<T | undefined>
export function optional<T>(check: Check<T>, fallback: T): Check<T>
export function optional<T>(check: Check<T>, fallback?: T): Check<T | undefined> {
  return (value, name) => (value === undefined ? fallback : check(value, name))
}

/** An option that a function checks by name and value. */
export function accepted<T>(check: (name: string, value: unknown) => void): Check<T> {
  return (value, name) => {
    check(name, value)
    return value as T
  }
}

/** One of some words. */
export function oneOf<const WORD extends string>(...words: readonly WORD[]): Check<WORD> {
  return (value, name) => {
    if (!(words as readonly unknown[]).includes(value)) throw invalid(`${name} must be one of ${words.join(', ')}.`)
    return value as WORD
  }
}

/** A whole number. */
export function wholeNumber(min: number): Check<number> {
  return (value, name) => {
    if (!Number.isSafeInteger(value) || Number(value) < min) throw invalid(`${name} must be a whole number from ${min}.`)
    return value as number
  }
}

/** A number above 0. NaN and infinity would switch off the comparisons that a limit is for. */
export function positive(max = Infinity): Check<number> {
  return (value, name) => {
    if (typeof value !== 'number' || !(value > 0)) throw invalid(`${name} must be positive.`)
    if (value > max) throw invalid(`${name} exceeds ${max}.`, { [name]: value, maxAllowed: max })
    return value
  }
}

/** @throws {ToolError} INVALID_INPUT for what is no `AbortSignal`. `undefined` stands for a signal that never aborts. */
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

/** A string such as `'false'` is true in a condition, and would open what it was to close. */
export function checkSwitch(name: string, value: unknown): void {
  if (typeof value !== 'boolean') throw invalid(`${name} must be true or false.`)
}

/** An option that is true or false. */
export const boolean: Check<boolean> = accepted(checkSwitch)
/** A text with something in it. */
export const text: Check<string> = accepted(checkText)
/** Something that can be called. */
export const callable = <T>(): Check<T> => accepted(checkFunction)
/** A signal that ends the call. */
export const abortSignal: Check<AbortSignal | undefined> = accepted((name, value) => checkSignal(value, name))

/** A list of paths, of which the caller can no longer change anything. */
export const paths: Check<readonly string[]> = (value, name) => {
  if (!isNames(value)) throw invalid(`${name} must be an array of paths.`)
  return [...value]
}

/** Whether it is an array of non-empty strings that the system can take. */
export function isNames(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((name) => typeof name === 'string' && name !== '' && !name.includes('\0'))
}
