/**
 * Copies of arguments, made once when a call comes in: the call uses what was checked, even if the caller, a watchdog
 * or a recorder changes its own object meanwhile. A copy stops at the first limit, so that arguments of any size and
 * shape take a bounded time.
 */

/** How large arguments may be. */
export interface ArgumentLimits {
  /** Objects, arrays, texts, numbers and what else there is, all together. */
  values: number
  /** All texts and names together, in UTF-16 code units. */
  characters: number
  /** How many objects and arrays may be inside one another. */
  depth: number
}

/** What is wrong with arguments, and where. */
export class ArgumentProblem extends Error {
  override readonly name = 'ArgumentProblem'
  /** The limit that is exceeded; `undefined` for a value that cannot be an argument at all. */
  readonly limit: keyof ArgumentLimits | undefined

  constructor(path: readonly (string | number)[], what: string, limit?: keyof ArgumentLimits) {
    super(`${pointerOf(path)}: ${what}`)
    this.limit = limit
  }
}

/** The place of a value within arguments, as a JSON pointer; a long one is cut. */
function pointerOf(path: readonly (string | number)[]): string {
  if (path.length === 0) return '/'
  const steps = path.slice(0, 8).map((step) => String(step).slice(0, 100).replaceAll('~', '~0').replaceAll('/', '~1'))
  return `/${steps.join('/')}${path.length > steps.length ? '/…' : ''}`
}

/** A copy and its size. */
export interface ArgumentCopy {
  value: unknown
  values: number
  characters: number
}

/**
 * A frozen copy of what JSON can hold, made as `JSON.stringify` and `JSON.parse` would: a property that is `undefined` is
 * left out, and `toJSON` is asked.
 *
 * @throws {ArgumentProblem} for what has no JSON, for what throws when it is looked at, and at the first limit.
 */
export function jsonCopy(value: unknown, limits: ArgumentLimits): ArgumentCopy {
  const copier = new JsonCopier(limits)
  const copied = copier.readable(() => copier.copy(value, ''))
  return { value: copied, values: copier.values, characters: copier.characters }
}

/**
 * A copy of plain objects and arrays, cycles included; anything else (a date, bytes, an object of a class) is what it was.
 *
 * @throws {ArgumentProblem} for what throws when it is looked at, and at the first limit.
 */
export function structureCopy(value: unknown, limits: ArgumentLimits): ArgumentCopy {
  const copier = new StructureCopier(limits)
  const copied = copier.readable(() => copier.copy(value))
  return { value: copied, values: copier.values, characters: copier.characters }
}

/** A copy of a {@link jsonCopy} for a receiver that may change it. */
export function ownCopyOf<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(ownCopyOf) as T
  const own = {}
  for (const key of Object.keys(value)) put(own, key, ownCopyOf((value as Record<string, unknown>)[key]))
  return own as T
}

/** Counts what a copy holds. */
class Counter {
  values = 0
  characters = 0
  /** The path of the current value. */
  protected readonly path: (string | number)[] = []
  protected readonly limits: ArgumentLimits

  constructor(limits: ArgumentLimits) {
    this.limits = limits
  }

  /** Reports what a getter or a proxy throws as a problem of the arguments. */
  readable<T>(look: () => T): T {
    try {
      return look()
    } catch (error) {
      if (error instanceof ArgumentProblem) throw error
      throw this.problem(`it cannot be read: ${error instanceof Error ? error.message : 'it throws'}`)
    }
  }

  protected problem(what: string, limit?: keyof ArgumentLimits): ArgumentProblem {
    return new ArgumentProblem(this.path, what, limit)
  }

  protected countValues(count: number): void {
    this.values += count
    if (this.values <= this.limits.values) return
    throw this.problem(`there are more than ${this.limits.values} values in all`, 'values')
  }

  protected countText(text: string): void {
    this.characters += text.length
    if (this.characters <= this.limits.characters) return
    throw this.problem(`the texts have more than ${this.limits.characters} characters in all`, 'characters')
  }

  protected enter(key: string | number): void {
    this.path.push(key)
    if (this.path.length <= this.limits.depth) return
    throw this.problem(`they are nested more than ${this.limits.depth} levels deep`, 'depth')
  }
}

class JsonCopier extends Counter {
  /** The objects around the current value. */
  readonly #above: unknown[] = []

  copy(value: unknown, key: string): unknown {
    switch (typeof value) {
      case 'string':
        this.countText(value)
        return value
      case 'number':
        if (!Number.isFinite(value)) throw this.problem(`${value} is no number that JSON has`)
        return value
      case 'boolean':
      case 'undefined':
        return value
      case 'object':
        return value === null ? null : this.#converted(value, key)
      default:
        throw this.problem(`a ${typeof value} is nothing that JSON has`)
    }
  }

  #converted(value: object, key: string): unknown {
    const { toJSON } = value as { toJSON?: unknown }
    if (typeof toJSON !== 'function') return this.#object(value)
    const converted: unknown = Reflect.apply(toJSON, value, [key])
    return typeof converted === 'object' && converted !== null ? this.#object(converted) : this.copy(converted, key)
  }

  #object(value: object): unknown {
    if (this.#above.includes(value)) throw this.problem('it holds itself')
    this.#above.push(value)
    const copied = Array.isArray(value) ? this.#array(value) : this.#record(value as Record<string, unknown>)
    this.#above.pop()
    return Object.freeze(copied)
  }

  #array(array: readonly unknown[]): unknown[] {
    const { length } = array
    // Before the first element is read, since the length is enough.
    this.countValues(length)
    const copied = Array.from<unknown>({ length })
    for (let index = 0; index < length; index += 1) {
      this.enter(index)
      copied[index] = this.copy(array[index], String(index)) ?? null
      this.path.pop()
    }
    return copied
  }

  #record(record: Record<string, unknown>): Record<string, unknown> {
    this.#checkKind(record)
    const keys = Object.keys(record)
    this.countValues(keys.length)
    const copied: Record<string, unknown> = {}
    for (const key of keys) {
      this.countText(key)
      this.enter(key)
      const one = this.copy(record[key], key)
      if (one !== undefined) put(copied, key, one)
      this.path.pop()
    }
    return copied
  }

  /** Refuses what JSON would turn into an empty object or an object of numbers, such as a map or bytes. */
  #checkKind(record: object): void {
    const prototype: unknown = Object.getPrototypeOf(record)
    if (prototype === Object.prototype || prototype === null) return
    const kind = Object.prototype.toString.call(record).slice('[object '.length, -1)
    if (kind !== 'Object') throw this.problem(`a ${kind} is nothing that JSON has`)
  }
}

class StructureCopier extends Counter {
  /** Copies by their originals: an object in two places is one object in the copy too. */
  readonly #known = new Map<object, unknown>()

  copy(value: unknown): unknown {
    if (typeof value === 'string') this.countText(value)
    if (typeof value !== 'object' || value === null) return value
    const known = this.#known.get(value)
    if (known !== undefined) return known
    if (Array.isArray(value)) return this.#array(value)
    const prototype: unknown = Object.getPrototypeOf(value)
    // Another realm's `Object.prototype` is no class either.
    const isPlain = prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype as object) === null
    if (!isPlain || Object.prototype.toString.call(value) !== '[object Object]') return value
    return this.#record(value as Record<PropertyKey, unknown>, prototype)
  }

  #array(array: readonly unknown[]): unknown[] {
    const { length } = array
    this.countValues(length)
    const copied = Array.from<unknown>({ length })
    this.#known.set(array, copied)
    for (let index = 0; index < length; index += 1) {
      this.enter(index)
      copied[index] = this.copy(array[index])
      this.path.pop()
    }
    return copied
  }

  #record(record: Record<PropertyKey, unknown>, prototype: unknown): Record<PropertyKey, unknown> {
    const copied: Record<PropertyKey, unknown> = prototype === null ? (Object.create(null) as Record<PropertyKey, unknown>) : {}
    this.#known.set(record, copied)
    const keys = Reflect.ownKeys(record)
    this.countValues(keys.length)
    for (const key of keys) {
      if (!Object.prototype.propertyIsEnumerable.call(record, key)) continue
      const name = String(key)
      this.countText(name)
      this.enter(name)
      put(copied, key, this.copy(record[key]))
      this.path.pop()
    }
    return copied
  }
}

/** Sets a property, also by a name that has a meaning of its own. */
function put(object: Record<PropertyKey, unknown>, key: PropertyKey, value: unknown): void {
  if (key !== '__proto__') object[key] = value
  else Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true })
}
