/** Records the size and hash of a value that is too large for a row of a journal. They are computed between turns of the event loop. */
import { createHash } from 'node:crypto'
import { beginningOf } from './text.js'

/** The description of a large value in a row. */
export interface LargeValue {
  /** The bytes of its JSON, or of the text itself, in UTF-8. */
  bytes: number
  /** The SHA-256 of these bytes. */
  sha256: string
  /** The beginning of the value. */
  head?: string
  /** Why the value is missing. */
  left_out: string
}

/** The limits of a value that a row holds unchanged: text in UTF-16 code units, and number of values. */
export const MAX_CHARACTERS = 1_000_000
const MAX_VALUES = 50_000
/** The deepest nesting that is written as JSON. `JSON.stringify` itself fails only at a much greater depth. */
const MAX_DEPTH = 200
/** How much is hashed before the event loop gets a turn. */
const TURN = 1 << 19
/** The most values that are read. */
const MAX_STEPS = 5_000_000
const HEAD = 1_000

/** Whether a value is too large or too deep to be written as JSON at once. The check stops at the limit. */
export function isLarge(value: unknown, maxCharacters = MAX_CHARACTERS): boolean {
  const budget = { characters: maxCharacters, values: MAX_VALUES }
  return exceeds(value, budget, [])
}

function exceeds(value: unknown, budget: { characters: number; values: number }, above: object[]): boolean {
  budget.values -= 1
  if (typeof value === 'string') budget.characters -= value.length
  if (budget.values < 0 || budget.characters < 0) return true
  if (typeof value !== 'object' || value === null) return false
  if (above.length > MAX_DEPTH) return true
  // A cycle is counted once.
  if (above.includes(value)) return false
  const bytes = bytesOf(value)
  // In JSON, each byte is a property with a number.
  if (bytes !== undefined) return (budget.characters -= 12 * bytes.byteLength) < 0
  if (Array.isArray(value) && budget.values < value.length) return true
  above.push(value)
  const isOver = Array.isArray(value)
    ? value.some((one) => exceeds(one, budget, above))
    : Object.entries(value).some(([key, one]) => {
        budget.characters -= key.length
        return exceeds(one, budget, above)
      })
  above.pop()
  return isOver
}

function bytesOf(value: object): Uint8Array | undefined {
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
  return value instanceof ArrayBuffer ? new Uint8Array(value) : undefined
}

/** Size and hash of a text. */
export const textDigest = (text: string): Promise<{ bytes: number; sha256: string }> => digestOf(parts(text))

/** Size and hash of a value's JSON with sorted names, or a description of a value without JSON. */
export async function largeValue(value: unknown): Promise<LargeValue> {
  const left_out = 'It is too large for a row.'
  if (typeof value === 'string') return { ...(await textDigest(value)), head: beginningOf(value, HEAD), left_out }
  return { ...(await digestOf(json(value, []))), left_out }
}

async function digestOf(all: Iterable<string | Uint8Array>): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash('sha256')
  let [bytes, sinceTurn, pending] = [0, 0, '']
  const update = (part: string | Uint8Array): void => {
    bytes += Buffer.byteLength(part)
    hash.update(part)
  }
  for (const part of all) {
    // A few large updates are faster than many small ones.
    if (typeof part === 'string') pending += part
    if (typeof part !== 'string' || pending.length > TURN / 8) {
      update(pending)
      pending = ''
    }
    if (typeof part !== 'string') update(part)
    sinceTurn += part.length + 100
    if (sinceTurn < TURN) continue
    sinceTurn = 0
    await new Promise(setImmediate)
  }
  update(pending)
  return { bytes, sha256: hash.digest('hex') }
}

/** The parts of a text. None ends within a character. */
function* parts(text: string): Generator<string> {
  for (let from = 0; from < text.length;) {
    let to = Math.min(from + TURN / 2, text.length)
    const last = text.charCodeAt(to - 1)
    if (to < text.length && last >= 0xd800 && last < 0xdc00) to -= 1
    yield text.slice(from, to)
    from = to
  }
}

/** The JSON of a value, part by part. */
function* json(root: unknown, above: object[], steps = { left: MAX_STEPS }): Generator<string | Uint8Array> {
  steps.left -= 1
  if (steps.left < 0) return yield 'null'
  if (typeof root === 'string') {
    for (const part of parts(root)) yield JSON.stringify(part)
    return
  }
  if (typeof root === 'bigint') return yield JSON.stringify(String(root))
  if (typeof root !== 'object' || root === null) return yield JSON.stringify(root) ?? 'null'
  const bytes = bytesOf(root)
  if (bytes !== undefined) {
    yield '"'
    for (let from = 0; from < bytes.length; from += TURN) yield bytes.subarray(from, from + TURN)
    return yield '"'
  }
  if (typeof (root as { toJSON?: unknown }).toJSON === 'function') return yield JSON.stringify(root) ?? 'null'
  if (above.includes(root) || above.length > MAX_DEPTH) return yield '"[Circular]"'
  above.push(root)
  if (Array.isArray(root)) {
    for (let index = 0; index < root.length; index += 1) {
      yield index === 0 ? '[' : ','
      yield* json(root[index], above, steps)
    }
    yield root.length === 0 ? '[]' : ']'
  } else {
    yield '{'
    for (const key of Object.keys(root).sort()) {
      const value: unknown = (root as Record<string, unknown>)[key]
      if (value === undefined) continue
      yield `${JSON.stringify(key)}:`
      yield* json(value, above, steps)
      yield ','
    }
    yield '}'
  }
  above.pop()
}
