import { hash } from 'node:crypto'
import type { Awaitable } from '../../journal/journal-store.js'
import { MOST_CHARACTERS, textDigest } from '../../core/large-values.js'

/**
 * What a record shows of a change to a file: of its text, which it must not hold, the size and the hash.
 *
 * @param name what the text is called, `content` or `patch`
 */
export function recordedChange(path: unknown, name: 'content' | 'patch', text: unknown): Awaitable<Record<string, unknown>> {
  if (typeof text !== 'string') return { path, [name]: typeof text }
  const told = (bytes: number, sha256: string) => ({ path, [`${name}Bytes`]: bytes, [`${name}Hash`]: sha256 })
  if (text.length <= MOST_CHARACTERS) return told(Buffer.byteLength(text), hash('sha256', text))
  return textDigest(text).then(({ bytes, sha256 }) => told(bytes, sha256))
}
