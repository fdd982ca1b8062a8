/**
 * Values as text. A value is cloned as by `structuredClone`, and the copy is written in the format of `devalue`:
 * JSON with tags for what JSON lacks. Every runtime reads it, and so does a person; Node and Bun write the
 * bytes of `node:v8` in different ways.
 *
 * Kept: `undefined` within objects, holes, -0, NaN, infinities, BigInt, Date, RegExp, Map, Set, ArrayBuffer and
 * its views, boxed primitives, errors (name, message, stack, cause), references from one part of the
 * value to another, cycles included. As in a structured clone, an instance of a class becomes a plain
 * object. Unlike there, a view keeps only its own part of the buffer: small Buffers of Node
 * share one large buffer, whose other contents do not belong to the value.
 */
import { parse, stringify, type StringifyOperations } from 'devalue'
import type { ToolError } from '../../core/errors.js'
import { threadError } from './store-checks.js'

/** Encodes a value. @throws {ToolError} THREAD_VALUE_REFUSED */
export function encodeValue(value: unknown, key: string): string {
  if (value === undefined) throw refusedValue(key, 'it is undefined', undefined)
  try {
    return stringify(structuredClone(value), reducers, { operations })
  } catch (cause) {
    throw refusedValue(key, cause instanceof Error ? cause.message : String(cause), cause)
  }
}

/** Decodes a value. @throws {ToolError} THREAD_CORRUPT for any other text. */
export function decodeValue(encoded: string, key: string): unknown {
  try {
    return parse(encoded, revivers) as unknown
  } catch (cause) {
    const where = `the value of ${JSON.stringify(key)} cannot be read`
    throw threadError('THREAD_CORRUPT', 'Thread store is damaged', where, 'Delete this value, or put it again.', { key }, cause)
  }
}

const operations: Partial<StringifyOperations> = {
  viewInfo: (view: ArrayBufferView & { length?: number }) => {
    const { buffer, byteOffset, byteLength } = view
    const own = byteLength === buffer.byteLength ? buffer : buffer.slice(byteOffset, byteOffset + byteLength)
    return { buffer: own, byteOffset: 0, byteLength, length: view.length ?? byteLength, bufferByteLength: byteLength }
  },
}

/** Compares the tag and not the class: in a realm of its own, a module has another class. */
const isError = (value: unknown): value is Error => Object.prototype.toString.call(value) === '[object Error]'

const reducers = {
  Error: (value: unknown) => isError(value) && [value.name, value.message, value.stack, 'cause' in value ? [value.cause] : []],
}

const errorTypes = { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError }

const revivers = {
  Error: ([name, message, stack, cause]: [string, string, string | undefined, unknown[]]) => {
    const Type = Object.hasOwn(errorTypes, name) ? errorTypes[name as keyof typeof errorTypes] : Error
    const error = new Type(message, cause.length > 0 ? { cause: cause[0] } : undefined)
    Object.defineProperty(error, 'stack', { value: stack, writable: true, configurable: true })
    return error
  },
}

function refusedValue(key: string, why: string, cause: unknown): ToolError {
  const hint = 'Store plain data: no functions, symbols, streams or handles.'
  return threadError('THREAD_VALUE_REFUSED', 'Value refused', `${JSON.stringify(key)}, ${why}`, hint, { key }, cause)
}
