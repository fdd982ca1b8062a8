import { ToolError } from '../../core/errors.js'
import { isWellFormed } from '../../core/text.js'
import { decodeValue, encodeValue } from './encoded-value.js'
import { checkRange, threadError } from './store-checks.js'
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

/**
 * Values of a thread by key, on disk: a Durable Object's storage without transactions, alarms and SQL, which throw
 * "not supported locally".
 */
export interface DurableObjectStorage extends ThreadStorage {
  transaction(closure: (transaction: unknown) => unknown): Promise<never>
  transactionSync(closure: () => unknown): never
  getAlarm(): Promise<never>
  setAlarm(time: number | Date): Promise<never>
  deleteAlarm(): Promise<never>
  sync(): Promise<never>
  readonly sql: never
}

const unsupported = `transaction() transactionSync() getAlarm() setAlarm() deleteAlarm() sync() getCurrentBookmark()
  getBookmarkForTime() onNextSessionRestoreBookmark() sql kv`.split(/\s+/u)

/** The storage of a thread as its tools see it. */
export function threadStorage(store: ThreadStore, threadId: string): DurableObjectStorage {
  /** Settles when all earlier calls have: calls take effect in their order. */
  let last: Promise<unknown> = Promise.resolve()
  const inOrder = <T>(act: () => Promise<T>): Promise<T> => {
    const result = last.then(act)
    last = result.catch(() => undefined)
    return result
  }
  const storage = {
    async get(key: string | readonly string[]): Promise<unknown> {
      const keys = checkedKeys([key].flat())
      const values = decoded(await inOrder(() => store.readValues(threadId, keys)))
      return typeof key === 'string' ? values.get(key) : values
    },
    async put(key: string | Record<string, unknown>, value?: unknown): Promise<void> {
      const entries = isRecord(key) && value === undefined ? Object.entries(key) : [[key as string, value] as const]
      checkedKeys(entries.map(([name]) => name))
      // The values are copied now: the caller may change them as soon as this has returned.
      const encoded = entries.map(([name, one]) => [name, encodeValue(one, name)] as const)
      await inOrder(() => store.writeValues(threadId, encoded))
    },
    async delete(key: string | readonly string[]): Promise<boolean | number> {
      const keys = checkedKeys([key].flat())
      const count = await inOrder(() => store.deleteValues(threadId, keys))
      return typeof key === 'string' ? count > 0 : count
    },
    deleteAll: async () => inOrder(() => store.deleteAllValues(threadId)),
    async list(options: StorageListOptions = {}): Promise<Map<string, unknown>> {
      const range = checkRange(options)
      return decoded(await inOrder(() => store.listValues(threadId, range)))
    },
  }
  for (const member of unsupported) {
    const refuse = (): never => {
      const hint = 'Use get, put, delete, list and deleteAll; each is one transaction.'
      throw new ToolError({ code: 'INVALID_INPUT', summary: `state.storage.${member} is not supported locally`, hint })
    }
    Object.defineProperty(storage, member.replace('()', ''), member.endsWith('()') ? { value: refuse } : { get: refuse })
  }
  return storage as unknown as DurableObjectStorage
}

const isRecord = (value: unknown): value is object => typeof value === 'object' && value !== null && !Array.isArray(value)

function decoded(entries: [string, string][]): Map<string, unknown> {
  return new Map(entries.map(([key, encoded]) => [key, decodeValue(encoded, key)]))
}

/** The maximum number of keys of one call, as for a Durable Object. */
const MAX_KEYS = 128
/** The maximum size of a key, as for a Durable Object. */
const MAX_KEY_BYTES = 2_048

/** @throws {ToolError} THREAD_KEY_REFUSED for too many keys, and for what is no key. */
function checkedKeys(keys: readonly unknown[]): string[] {
  const { length } = keys
  if (length > MAX_KEYS) throw refusedKey(`${length} keys at once`, `Give at most ${MAX_KEYS} keys, or call it several times.`)
  return keys.map((key) => {
    const hint = `Use a text of at most ${MAX_KEY_BYTES} bytes.`
    if (typeof key !== 'string') throw refusedKey(`a key is a string, and not ${typeof key}`, hint)
    if (key === '') throw refusedKey('the key is empty', hint)
    if (!isWellFormed(key)) throw refusedKey('the key has half of a surrogate pair', hint)
    if (Buffer.byteLength(key) > MAX_KEY_BYTES) throw refusedKey(`a key of ${Buffer.byteLength(key)} bytes`, hint)
    return key
  })
}

const refusedKey = (what: string, hint: string): ToolError => threadError('THREAD_KEY_REFUSED', 'Key refused', what, hint)
