/**
 * Values as JSON that gives them back. What JSON has no form for is marked: dates, bytes, numbers that are none. Everything else becomes what
 * JSON makes of it. An object that has the mark itself is wrapped, so that no value can be taken for a marked one.
 */

const MARK = '$toolwright'
/** Deeper values than these no reader of JSON takes. */
const MAX_DEPTH = 500

type Coded = Record<string, unknown>

const marked = (kind: string, value: unknown, more: Coded = {}): Coded => ({ [MARK]: kind, value, ...more })
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')

/** A copy that JSON keeps. A cycle is described, as it is in a record. */
export function toPlain(value: unknown): unknown {
  return plain(value, '', [])
}

function plain(given: unknown, key: string, above: readonly object[]): unknown {
  const special = markedForm(given, above)
  if (special !== undefined) return special
  const value = asJsonSees(given, key)
  if (typeof value === 'number') {
    if (Number.isFinite(value) && !Object.is(value, -0)) return value
    return marked('number', Object.is(value, -0) ? '-0' : String(value))
  }
  if (typeof value === 'bigint') return marked('bigint', String(value))
  if (typeof value === 'function' || typeof value === 'symbol') return undefined
  if (typeof value !== 'object' || value === null) return value
  if (above.includes(value)) return '[Circular]'
  if (above.length >= MAX_DEPTH) return '[Too deep]'
  if (value !== given) {
    const again = markedForm(value, above)
    if (again !== undefined) return again
  }
  const within = [...above, value]
  if (Array.isArray(value)) return Array.from(value, (item: unknown, index) => plain(item, String(index), within) ?? null)
  const entries = Object.entries(value).flatMap(([name, one]) => {
    const kept = plain(one, name, within)
    return kept === undefined ? [] : [[name, kept] as const]
  })
  const object = Object.fromEntries(entries)
  return Object.hasOwn(object, MARK) ? marked('object', object) : object
}

/** What `JSON.stringify` would look at: what `toJSON` gives, and the value in a wrapper. */
function asJsonSees(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null) return value
  const { toJSON } = value as { toJSON?: unknown }
  const seen: unknown = typeof toJSON === 'function' ? toJSON.call(value, key) : value
  const isWrapper = /^\[object (?:Number|String|Boolean)\]$/u.test(Object.prototype.toString.call(seen)) && typeof seen === 'object'
  return isWrapper ? (seen as object).valueOf() : seen
}

/** The marked form of what JSON would lose. A form of its own, which a value has as `toJSON`, goes before. */
function markedForm(value: unknown, above: readonly object[]): Coded | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (value instanceof Date && value.toJSON === Date.prototype.toJSON) {
    return marked('date', Number.isNaN(value.getTime()) ? null : value.toISOString())
  }
  if (value instanceof URL && value.toJSON === URL.prototype.toJSON) return marked('url', value.href)
  if (Buffer.isBuffer(value)) return marked('buffer', base64(value))
  const { toJSON } = value as { toJSON?: unknown }
  if (typeof toJSON === 'function') return undefined
  if (value instanceof Uint8Array && value.constructor === Uint8Array) return marked('bytes', base64(value))
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
    const view = value as unknown as Uint8Array
    return marked('array', base64(new Uint8Array(view.buffer, view.byteOffset, view.byteLength)), { of: view.constructor.name })
  }
  if (value instanceof ArrayBuffer) return marked('arraybuffer', base64(new Uint8Array(value)))
  if (value instanceof Error) return marked('error', value.message, { name: value.name })
  if (above.includes(value) || above.length >= MAX_DEPTH) return undefined
  const within = [...above, value]
  const list = (items: Iterable<unknown>): unknown[] => Array.from(items, (item) => plain(item, '', within) ?? null)
  if (value instanceof Map)
    return marked(
      'map',
      Array.from(value, (entry) => list(entry)),
    )
  if (value instanceof Set) return marked('set', list(value))
  return undefined
}

const ARRAYS: Readonly<Record<string, new (buffer: ArrayBuffer) => unknown>> = {
  Uint8Array,
  Int8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
}

/** The value of such a copy. */
export function fromPlain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(fromPlain)
  if (typeof value !== 'object' || value === null) return value
  const { [MARK]: kind, value: kept, name, of } = value as Coded
  const bytes = (): Uint8Array<ArrayBuffer> => new Uint8Array(Buffer.from(String(kept), 'base64'))
  switch (kind) {
    case 'date':
      return new Date(kept === null ? Number.NaN : String(kept))
    case 'url':
      return new URL(String(kept))
    case 'number':
      return Number(kept)
    case 'bigint':
      return BigInt(String(kept))
    case 'bytes':
      return bytes()
    case 'buffer':
      return Buffer.from(String(kept), 'base64')
    case 'array':
      return new (ARRAYS[String(of)] ?? Uint8Array)(bytes().buffer)
    case 'arraybuffer':
      return bytes().buffer
    case 'error':
      return Object.assign(new Error(String(kept)), { name: String(name) })
    case 'map':
      return new Map((kept as [unknown, unknown][]).map(([one, other]) => [fromPlain(one), fromPlain(other)]))
    case 'set':
      return new Set((kept as unknown[]).map(fromPlain))
    case 'object':
      return entriesOf(kept as object)
    default:
      return entriesOf(value)
  }
}

const entriesOf = (value: object): object => Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fromPlain(one)]))
