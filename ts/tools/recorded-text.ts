import { hash } from 'node:crypto'

/**
 * What a record shows of a text that it must not hold: its size and its hash.
 *
 * @param name what the text is called, `content` or `patch`
 */
export function recordedText(name: 'content' | 'patch', text: unknown): Record<string, unknown> {
  if (typeof text !== 'string') return { [name]: typeof text }
  return {
    [`${name}Bytes`]: Buffer.byteLength(text),
    [`${name}Hash`]: hash('sha256', text),
  }
}
