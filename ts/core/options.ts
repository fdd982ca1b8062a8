import { ToolError, withHint } from './errors.js'
import { beginningOf } from './text.js'

/** The error of an invalid value. */
export function invalid(summary: string, details: Record<string, unknown> = {}): ToolError {
  return new ToolError({ code: 'INVALID_INPUT', summary, details, hint })
}

const hint = 'Correct the value and call again.'

/** The error of a call in a session that has ended. */
export const closedSession = (): ToolError => withHint(invalid('The session has been closed.'), 'Open another session.')

/**
 * Checks the arguments of a public function.
 *
 * @param caller the function's name, for the error of `check`.
 * @throws {ToolError} INVALID_INPUT
 */
export function checked<T>(caller: string, check: () => T): T {
  try {
    return check()
  } catch (error) {
    // An inner check may have named its caller already, and other failures, a TypeError too, name their own source.
    if (!ToolError.isInstance(error) || error instanceof TypeError || error.hint !== hint || error.message.includes(caller)) throw error
    const { code, summary, details } = error
    throw new ToolError({ code, summary, place: `${summary} (${caller})`, details, hint })
  }
}

/**
 * Refuses values that are no objects, and unknown names. A misspelt option must not silently drop a restriction.
 *
 * @param where the prefix of a name: empty, or a path that ends in a dot.
 * @throws {ToolError} INVALID_INPUT
 */
export function checkNames(where: string, options: unknown, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw invalid(`${where === '' ? 'The options' : where.slice(0, -1)} must be an object.`)
  }
  // An object of a class may have fields besides options.
  const unknown = isPlain(options) ? Object.keys(options).find((name) => !known.includes(name)) : undefined
  if (unknown !== undefined) throw invalid(`${where}${unknown} is no option; there are ${known.join(', ')}.`)
}

/** Whether an object is plain. */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype as object) === null
}

/** Checks the value of one option under its name, and returns the value, a copy of it, or its default. */
export type Check<T> = (value: unknown, name: string) => T

/** The checks of an options object. The compiler reports an option without a check, and a check without an option. */
export type Checks<OPTIONS> = { readonly [NAME in keyof Required<OPTIONS>]: Check<OPTIONS[NAME]> }

/** The result of the checks of an options object. */
export type Parsed<CHECKS> = { [NAME in keyof CHECKS]: CHECKS[NAME] extends Check<infer T> ? T : never }

/**
 * Checks and copies the options of a public function, and adds their defaults.
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

/** @param where the prefix of a name: empty, or a path that ends in a dot. */
function parseObject<CHECKS extends Record<string, Check<unknown>>>(where: string, options: unknown, checks: CHECKS): Parsed<CHECKS> {
  const names = Object.keys(checks)
  checkNames(where, options, names)
  const parsed: Record<string, unknown> = {}
  for (const name of names) {
    const value = checks[name]?.((options as Record<string, unknown>)[name], where === '' ? name : `${where}${name}`)
    if (value !== undefined) parsed[name] = value
  }
  return parsed as Parsed<CHECKS>
}

export function group<CHECKS extends Record<string, Check<unknown>>>(checks: CHECKS): Check<Parsed<CHECKS>> {
  return (value, name) => parseObject(`${name}.`, value, checks)
}

export function optional<T>(check: Check<T>): Check<T | undefined>
export function optional<T>(check: Check<T>, fallback: T): Check<T>
export function optional<T>(check: Check<T>, fallback?: T): Check<T | undefined> {
  return (value, name) => (value === undefined ? fallback : check(value, name))
}

/** A value that passes a test; `what` describes the required value. */
export function must<T>(is: (value: unknown) => boolean, what: string): Check<T> {
  return (value, name) => {
    if (!is(value)) throw invalid(`${name} must be ${what}.`)
    return value as T
  }
}

export const oneOf =
  <const WORD extends string>(...words: readonly WORD[]): Check<WORD> =>
  (value, name) => {
    if ((words as readonly unknown[]).includes(value)) return value as WORD
    throw invalid(`${name} must be one of ${words.join(', ')}${notThis(value)}.`)
  }

/** A text that was given in place of one of a few words. */
const notThis = (value: unknown): string => (typeof value === 'string' ? `, not ${JSON.stringify(beginningOf(value, 40))}` : '')

/** A copy of a list with checked items. */
export function listOf<T>(item: Check<T>, what = 'an array'): Check<T[]> {
  return (value, name) => {
    if (!Array.isArray(value)) throw invalid(`${name} must be ${what}.`)
    return (value as unknown[]).map((one, index) => item(one, `${name}[${index}]`))
  }
}

export function wholeNumber(min: number, max = Number.MAX_SAFE_INTEGER): Check<number> {
  const is = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max
  return must(is, `a whole number from ${min}${max === Number.MAX_SAFE_INTEGER ? '' : ` to ${max}`}`)
}

/** A number above 0. NaN and infinity are refused, because they would make the comparisons of a limit useless. */
export function positive(max = Infinity): Check<number> {
  return (value, name) => {
    if (typeof value !== 'number' || !(value > 0)) throw invalid(`${name} must be positive.`)
    if (value > max) throw invalid(`${name} exceeds ${max}.`, { [name]: value, maxAllowed: max })
    return value
  }
}

/** A boolean. A string such as `'false'` is refused, because it counts as true in a condition. */
export const boolean: Check<boolean> = must((value) => typeof value === 'boolean', 'true or false')
export const string: Check<string> = must((value) => typeof value === 'string', 'a string')
/** A non-empty text. */
export const text: Check<string> = must((value) => typeof value === 'string' && value !== '', 'a non-empty string')
export const callable = <T>(): Check<T> => must((value) => typeof value === 'function', 'a function')
/** Any value, checked elsewhere or not at all. */
export const anything = <T>(): Check<T> => must(() => true, '')
/** A path that the system accepts. */
export const path: Check<string> = must((value) => isNames([value]), 'a path')
/** A signal that ends the call. `undefined` never aborts. */
export const abortSignal: Check<AbortSignal | undefined> = must((value) => {
  const { throwIfAborted, addEventListener } = (value ?? {}) as Partial<AbortSignal>
  return value === undefined || (typeof throwIfAborted === 'function' && typeof addEventListener === 'function')
}, 'an AbortSignal')

/** A copy of a list of paths, which the caller can no longer change. */
export const paths: Check<string[]> = (value, name) => [...must<string[]>(isNames, 'an array of paths')(value, name)]

/** Whether a value is an array of non-empty strings that the system accepts. */
export function isNames(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((name) => typeof name === 'string' && name !== '' && !name.includes('\0'))
}
