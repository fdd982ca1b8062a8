/**
 * Copies arguments once when a call comes in, so that the call uses the checked values even if the caller, a watchdog or a
 * recorder changes its own object. A copy stops at the first limit, so arguments of any size and shape take a bounded time.
 */
import { isPlain } from './options.js'

/** Limits of arguments. */
export interface ArgumentLimits {
  /** The most values: objects, arrays, texts, numbers and others together. */
  values: number
  /** The most UTF-16 code units of all texts and names together. */
  characters: number
  /** The deepest nesting of objects and arrays. */
  depth: number
}

/** The error of invalid arguments, with its place. */
export class ArgumentProblem extends Error {
  override readonly name = 'ArgumentProblem'
  /** The exceeded limit; `undefined` for a value that cannot be an argument. */
  readonly limit: keyof ArgumentLimits | undefined

  constructor(path: readonly PropertyKey[], what: string, limit?: keyof ArgumentLimits) {
    super(`${pointerOf(path)}: ${what}`)
    this.limit = limit
  }
}

/** The place of a value within arguments, as a JSON pointer; a long one is cut. */
function pointerOf(path: readonly PropertyKey[]): string {
  if (path.length === 0) return '/'
  const steps = path.slice(0, 8).map((step) => String(step).slice(0, 100).replaceAll('~', '~0').replaceAll('/', '~1'))
  return `/${steps.join('/')}${path.length > steps.length ? '/…' : ''}`
}

export interface ArgumentCopy {
  value: unknown
  values: number
  characters: number
}

/**
 * A frozen copy of JSON values, made as `JSON.stringify` and `JSON.parse` would: it leaves out `undefined` properties and
 * calls `toJSON`.
 *
 * @throws {ArgumentProblem} for a value without JSON, for a getter that throws, and at the first limit.
 */
export const jsonCopy = (value: unknown, limits: ArgumentLimits): ArgumentCopy => new Copier(limits, true).whole(value)

/**
 * A copy of plain objects and arrays, including cycles. Anything else (a date, bytes, an object of a class) is not copied.
 *
 * @throws {ArgumentProblem} for a getter that throws, and at the first limit.
 */
export const structureCopy = (value: unknown, limits: ArgumentLimits): ArgumentCopy => new Copier(limits, false).whole(value)

/** A copy of a {@link jsonCopy} for a receiver that may change it. */
export function ownCopyOf<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(ownCopyOf) as T
  const own = {}
  for (const key of Object.keys(value)) put(own, key, ownCopyOf((value as Record<string, unknown>)[key]))
  return own as T
}

type Indexed = Record<PropertyKey, unknown>

class Copier {
  readonly #limits: ArgumentLimits
  readonly #isJson: boolean
  /** The objects of JSON that the current value is in, to find cycles. */
  readonly #parents: object[] = []
  /** The copies of a structure by their originals, so that an object in two places is one object in the copy too. */
  readonly #copies: Map<object, object> | undefined
  readonly #path: PropertyKey[] = []
  #values = 0
  #characters = 0

  constructor(limits: ArgumentLimits, isJson: boolean) {
    this.#limits = limits
    this.#isJson = isJson
    if (!isJson) this.#copies = new Map()
  }

  whole(value: unknown): ArgumentCopy {
    try {
      return { value: this.#copy(value, ''), values: this.#values, characters: this.#characters }
    } catch (error) {
      if (error instanceof ArgumentProblem) throw error
      throw this.#problem(`it cannot be read: ${error instanceof Error ? error.message : 'it throws'}`)
    }
  }

  #copy(value: unknown, key: PropertyKey): unknown {
    if (typeof value === 'string') this.#countText(value)
    else if (typeof value === 'object' && value !== null) return this.#isJson ? this.#converted(value, key) : this.#object(value)
    else if (this.#isJson) this.#checkScalar(value)
    return value
  }

  #checkScalar(value: unknown): void {
    if (value === null || value === undefined || typeof value === 'boolean' || Number.isFinite(value)) return
    throw this.#problem(typeof value === 'number' ? `${value} is no number that JSON has` : `a ${typeof value} is nothing that JSON has`)
  }

  #converted(value: object, key: PropertyKey): unknown {
    const { toJSON } = value as { toJSON?: unknown }
    if (typeof toJSON !== 'function') return this.#object(value)
    const converted: unknown = Reflect.apply(toJSON, value, [String(key)])
    return typeof converted === 'object' && converted !== null ? this.#object(converted) : this.#copy(converted, key)
  }

  #object(value: object): unknown {
    if (this.#isJson && this.#parents.includes(value)) throw this.#problem('it holds itself')
    const known = this.#copies?.get(value)
    if (known !== undefined) return known
    const isArray = Array.isArray(value)
    if (!isArray && !this.#isRecord(value)) return value
    const hasPrototype = this.#isJson || Object.getPrototypeOf(value) !== null
    const copied = (isArray ? [] : hasPrototype ? {} : Object.create(null)) as Indexed
    if (this.#isJson) this.#parents.push(value)
    else this.#copies?.set(value, copied)
    if (isArray) {
      // Checks the length before reading the first element.
      this.#countValues(value.length)
      for (let index = 0; index < value.length; index += 1) this.#member(copied, index, value)
    } else {
      const names = this.#isJson ? Object.keys(value) : enumerableNames(value)
      this.#countValues(names.length)
      for (const name of names) {
        this.#countText(typeof name === 'string' ? name : String(name))
        this.#member(copied, name, value)
      }
    }
    if (!this.#isJson) return copied
    this.#parents.pop()
    return Object.freeze(copied)
  }

  #member(copied: Indexed, key: PropertyKey, original: object): void {
    this.#path.push(key)
    if (this.#path.length > this.#limits.depth) {
      throw this.#problem(`they are nested more than ${this.#limits.depth} levels deep`, 'depth')
    }
    const copy = this.#copy((original as Indexed)[key], key)
    if (copy !== undefined || !this.#isJson) put(copied, key, copy)
    else if (Array.isArray(copied)) put(copied, key, null)
    this.#path.pop()
  }

  /** Refuses values such as maps and bytes, which JSON would turn into an empty object or an object of numbers. */
  #isRecord(value: object): boolean {
    const prototype: unknown = Object.getPrototypeOf(value)
    if (this.#isJson && (prototype === Object.prototype || prototype === null)) return true
    const kind = Object.prototype.toString.call(value)
    if (kind === '[object Object]') return this.#isJson || isPlain(value)
    if (this.#isJson) throw this.#problem(`a ${kind.slice('[object '.length, -1)} is nothing that JSON has`)
    return false
  }

  #countValues(count: number): void {
    this.#values += count
    if (this.#values <= this.#limits.values) return
    throw this.#problem(`there are more than ${this.#limits.values} values in all`, 'values')
  }

  #countText(text: string): void {
    this.#characters += text.length
    if (this.#characters <= this.#limits.characters) return
    throw this.#problem(`the texts have more than ${this.#limits.characters} characters in all`, 'characters')
  }

  #problem(what: string, limit?: keyof ArgumentLimits): ArgumentProblem {
    return new ArgumentProblem(this.#path, what, limit)
  }
}

/** The names and symbols of what a spread would copy. */
function enumerableNames(value: object): PropertyKey[] {
  const names = Object.keys(value)
  const symbols = Object.getOwnPropertySymbols(value)
  if (symbols.length === 0) return names
  return [...names, ...symbols.filter((symbol) => Object.prototype.propertyIsEnumerable.call(value, symbol))]
}

/** Sets a property, even one named `__proto__`. */
function put(object: Indexed, key: PropertyKey, value: unknown): void {
  if (key !== '__proto__') object[key] = value
  else Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true })
}
