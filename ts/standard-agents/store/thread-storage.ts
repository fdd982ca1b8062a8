import { ToolError } from '../../core/errors.js'
import { givenOptions, invalid } from '../../core/options.js'
import { isWellFormed } from '../../core/text.js'
import { decodeValue, encodeValue } from './encoded-value.js'
import type { ThreadStore, ValueRange } from './thread-store.js'

/** Which values {@link ThreadStorage.list} gives. */
export type StorageListOptions = ValueRange

/**
 * Values of a thread by key, with the shape of a Durable Object's storage: a copy of a value is kept,
 * made as by `structuredClone`. When a promise settles, its effect is on disk. Each call is one transaction, and
 * calls take effect in the order in which they are made.
 *
 * Every method throws THREAD_KEY_REFUSED for a key that is empty, longer than 2,048 bytes of UTF-8, or
 * not well-formed, and for more than 128 keys at once.
 */
export interface ThreadStorage {
  /** The value, or `undefined`. Its type is not checked. */
  // oxlint-disable-next-line typescript/no-explicit-any -- the document's examples use a value as what it is
  get<T = any>(key: string): Promise<T | undefined>
  /** The existing values, by key in ascending order of UTF-8. */
  // oxlint-disable-next-line typescript/no-explicit-any -- the same
  get<T = any>(keys: readonly string[]): Promise<Map<string, T>>
  /**
   * Sets a value.
   *
   * @throws {ToolError} THREAD_VALUE_REFUSED for `undefined` and for what cannot be cloned (a function,
   * a symbol) or stored (a `SharedArrayBuffer`, a `Blob`); THREAD_TOO_LARGE.
   */
  put<T>(key: string, value: T): Promise<void>
  /** Sets every entry at once, or none. */
  put<T>(entries: Record<string, T>): Promise<void>
  /** Removes a value and returns whether there was one. */
  delete(key: string): Promise<boolean>
  /** Removes values and returns how many there were. */
  delete(keys: readonly string[]): Promise<number>
  /** Removes every value of the thread. */
  deleteAll(): Promise<void>
  /** The values of a range, by key in ascending order of UTF-8, or descending with `reverse`. */
  // oxlint-disable-next-line typescript/no-explicit-any -- the same
  list<T = any>(options?: StorageListOptions): Promise<Map<string, T>>
}

/** The values of a thread. */
export function threadStorage(store: ThreadStore, threadId: string): ThreadStorage {
  /** Begun one after the other, so that they take effect in the order of the calls. */
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(act: () => Promise<T>): Promise<T> => {
    const result = last.then(act)
    last = result.catch(() => undefined)
    return result
  }
  const read = async (keys: string[]): Promise<Map<string, unknown>> => decoded(await inTurn(() => store.readValues(threadId, keys)))

  async function get(key: string | readonly string[]): Promise<unknown> {
    const keys = asKeys(key)
    const found = await read(keys)
    return typeof key === 'string' ? found.get(key) : found
  }
  async function put(key: string | Record<string, unknown>, ...values: unknown[]): Promise<void> {
    // The values are copied now: the caller may change them as soon as this has returned.
    const entries = asEntries(key, values).map(([name, value]) => [name, encodeValue(value, name)] as const)
    await inTurn(() => store.writeValues(threadId, entries))
  }
  async function remove(key: string | readonly string[]): Promise<boolean | number> {
    const keys = asKeys(key)
    const removed = await inTurn(() => store.deleteValues(threadId, keys))
    return typeof key === 'string' ? removed > 0 : removed
  }
  return {
    get: get as ThreadStorage['get'],
    put: put as ThreadStorage['put'],
    delete: remove as ThreadStorage['delete'],
    deleteAll: async () => inTurn(() => store.deleteAllValues(threadId)),
    async list<T>(options: StorageListOptions = {}) {
      const range = checkRange(options)
      return decoded(await inTurn(() => store.listValues(threadId, range))) as Map<string, T>
    },
  }
}

/** The most keys of one call, as for a Durable Object. */
const MOST_KEYS = 128

function asKeys(key: unknown): string[] {
  const keys = Array.isArray(key) ? [...(key as unknown[])] : [key]
  checkCount(keys.length)
  for (const one of keys) checkKey(one)
  return keys as string[]
}

function asEntries(key: unknown, values: unknown[]): [string, unknown][] {
  if (typeof key === 'object' && key !== null && !Array.isArray(key) && values.length === 0) {
    const entries = Object.entries(key)
    checkCount(entries.length)
    for (const [name] of entries) checkKey(name)
    return entries
  }
  checkKey(key)
  return [[key as string, values[0]]]
}

function checkCount(count: number): void {
  if (count > MOST_KEYS) throw refused(`${count} keys at once`, `Give at most ${MOST_KEYS} keys, or call it several times.`)
}

function decoded(entries: [string, string][]): Map<string, unknown> {
  return new Map(entries.map(([key, encoded]) => [key, decodeValue(encoded, key)]))
}

/** The longest key, as for a Durable Object. */
const MOST_KEY_BYTES = 2_048

/** A key that cannot be used, and what to do. */
function refused(what: string, hint: string): ToolError {
  const summary = 'Key refused'
  return new ToolError({ code: 'THREAD_KEY_REFUSED', summary, place: `${summary}: ${what}`, hint })
}

/** @throws {ToolError} THREAD_KEY_REFUSED for what is no key. */
function checkKey(key: unknown): asserts key is string {
  const hint = `Use a text of at most ${MOST_KEY_BYTES} bytes.`
  if (typeof key !== 'string') throw refused(`a key is a string, and not ${typeof key}`, hint)
  if (key === '') throw refused('the key is empty', hint)
  if (!isWellFormed(key)) throw refused('the key has half of a surrogate pair', hint)
  if (Buffer.byteLength(key) > MOST_KEY_BYTES) throw refused(`a key of ${Buffer.byteLength(key)} bytes`, hint)
}

/** The range as it was when `list` was called. @throws {ToolError} INVALID_INPUT */
export function checkRange(range: unknown): ValueRange {
  const names = ['prefix', 'start', 'startAfter', 'end', 'reverse', 'limit']
  const { prefix, start, startAfter, end, reverse, limit } = givenOptions('storage.list', range as ValueRange, names)
  for (const [name, bound] of Object.entries({ prefix, start, startAfter, end })) {
    if (bound === undefined) continue
    if (typeof bound !== 'string' || !isWellFormed(bound)) throw invalid(`${name} must be a well-formed string.`)
  }
  if (start !== undefined && startAfter !== undefined) throw invalid('start and startAfter exclude each other.')
  if (reverse !== undefined && typeof reverse !== 'boolean') throw invalid('reverse must be true or false.')
  if (limit !== undefined && !(Number.isInteger(limit) && limit > 0)) throw invalid('limit must be a positive integer.')
  return { prefix, start, startAfter, end, reverse, limit }
}
