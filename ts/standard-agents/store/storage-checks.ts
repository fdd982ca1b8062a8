import { ToolError } from '../../core/errors.js'
import { givenOptions, invalid } from '../../core/options.js'
import type { ValueRange } from './thread-store.js'
import { isWellFormed } from '../../core/well-formed.js'

/** The longest key, as for a Durable Object. */
const MOST_KEY_BYTES = 2_048

/** A key that cannot be used, and what to do. */
export function refused(what: string, hint: string): ToolError {
  const summary = 'Key refused'
  return new ToolError({ code: 'THREAD_KEY_REFUSED', summary, place: `${summary}: ${what}`, hint })
}

/** @throws {ToolError} THREAD_KEY_REFUSED for what is no key. */
export function checkKey(key: unknown): asserts key is string {
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
