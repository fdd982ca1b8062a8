/** A value that is too large for a row of a journal is recorded by its size and hash, which are computed between turns of the event loop. */
import { createHash, type Hash } from 'node:crypto'
import { beginningOf } from './text.js'

/** What a row holds in place of a large value. */
export interface LargeValue {
  /** Of its JSON, or of a text itself, in UTF-8. */
  bytes: number
  /** The SHA-256 of the same. */
  sha256: string
  /** How it begins. */
  head?: string
  /** Why the value itself is missing. */
  left_out: string
}

/** The limits of a value that a row holds as it is: text in UTF-16 code units, and values of any kind. */
export const MOST_CHARACTERS = 1_000_000
const MAX_VALUES = 50_000
/** How deep values are written as JSON, which would itself fail at a much greater depth. */
const MAX_DEPTH = 200
/** How much is hashed before the event loop has its turn. */
const TURN = 1 << 19
/** How many values are read at all. */
const MAX_STEPS = 5_000_000
const HEAD = 1_000

/** Whether a value is too large, or too deep, to be written as JSON in one go. It stops at the limit. */
export function isLarge(value: unknown, maxCharacters = MOST_CHARACTERS): boolean {
  const left = { characters: maxCharacters, values: MAX_VALUES }
  return exceeds(value, left, [])
}

function exceeds(value: unknown, left: { characters: number; values: number }, above: object[]): boolean {
  left.values -= 1
  if (typeof value === 'string') left.characters -= value.length
  if (left.values < 0 || left.characters < 0) return true
  if (typeof value !== 'object' || value === null) return false
  if (above.length > MAX_DEPTH) return true
  // A cycle is counted once.
  if (above.includes(value)) return false
  const bytes = bytesOf(value)
  if (bytes !== undefined) {
    // As JSON each byte is a number with its name.
    left.characters -= 12 * bytes.byteLength
    return left.characters < 0
  }
  if (Array.isArray(value) && left.values < value.length) return true
  above.push(value)
  const isOver = Array.isArray(value)
    ? value.some((one) => exceeds(one, left, above))
    : recordExceeds(value as Record<string, unknown>, left, above)
  above.pop()
  return isOver
}

function recordExceeds(record: Record<string, unknown>, left: { characters: number; values: number }, above: object[]): boolean {
  for (const key of Object.keys(record)) {
    left.characters -= key.length
    if (exceeds(record[key], left, above)) return true
  }
  return false
}

function bytesOf(value: object): Uint8Array | undefined {
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
  return value instanceof ArrayBuffer ? new Uint8Array(value) : undefined
}

/** Size and hash of a text. */
export async function textDigest(text: string): Promise<{ bytes: number; sha256: string }> {
  const digest = new Digest()
  for (const part of parts(text)) if (digest.add(part)) await turn()
  return digest.end()
}

/** Size and hash of a value's JSON with sorted names; a value without JSON is described. */
export async function largeValue(value: unknown): Promise<LargeValue> {
  const left_out = 'It is too large for a row.'
  if (typeof value === 'string') return { ...(await textDigest(value)), head: beginningOf(value, HEAD), left_out }
  const digest = new Digest()
  for (const part of json(value, [])) if (digest.add(part)) await turn()
  return { ...digest.end(), left_out }
}

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

class Digest {
  readonly #hash: Hash = createHash('sha256')
  #bytes = 0
  #waiting = ''
  #sinceTurn = 0

  /** Returns whether the event loop should get a turn. */
  add(part: string | Uint8Array): boolean {
    this.#sinceTurn += part.length + 100
    if (typeof part === 'string' && part.length < TURN / 8) {
      // A few large updates are faster than many small ones.
      this.#waiting += part
      if (this.#waiting.length > TURN / 8) this.#flush()
    } else {
      this.#flush()
      this.#update(part)
    }
    if (this.#sinceTurn < TURN) return false
    this.#sinceTurn = 0
    return true
  }

  end(): { bytes: number; sha256: string } {
    this.#flush()
    return { bytes: this.#bytes, sha256: this.#hash.digest('hex') }
  }

  #flush(): void {
    const waiting = this.#waiting
    this.#waiting = ''
    if (waiting !== '') this.#update(waiting)
  }

  #update(part: string | Uint8Array): void {
    const bytes = typeof part === 'string' ? Buffer.from(part, 'utf8') : part
    this.#bytes += bytes.byteLength
    this.#hash.update(bytes)
  }
}

/** A text in parts, none of which ends within a character. */
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
  if (bytes !== undefined) return yield* binary(bytes)
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

function* binary(bytes: Uint8Array): Generator<string | Uint8Array> {
  yield '"'
  for (let from = 0; from < bytes.length; from += TURN) yield bytes.subarray(from, from + TURN)
  yield '"'
}
