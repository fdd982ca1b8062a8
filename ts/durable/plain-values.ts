/** Values as JSON that an engine can keep: dates, bytes and addresses are marked. */

const MARK = '$toolwright'

/** A copy that JSON keeps. */
export function toPlain(value: unknown): unknown {
  if (value instanceof Date) return { [MARK]: 'date', value: value.toISOString() }
  if (value instanceof URL) return { [MARK]: 'url', value: value.href }
  if (value instanceof Uint8Array) return { [MARK]: 'bytes', value: Buffer.from(value).toString('base64') }
  if (value instanceof Error) return { [MARK]: 'error', value: value.message, name: value.name }
  if (Array.isArray(value)) return value.map(toPlain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).flatMap(([name, one]) => (one === undefined ? [] : [[name, toPlain(one)]])))
}

/** The value of such a copy. */
export function fromPlain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(fromPlain)
  if (typeof value !== 'object' || value === null) return value
  const { [MARK]: kind, value: text } = value as Record<string, unknown>
  if (kind === 'date') return new Date(String(text))
  if (kind === 'url') return new URL(String(text))
  if (kind === 'bytes') return new Uint8Array(Buffer.from(String(text), 'base64'))
  if (kind === 'error') return Object.assign(new Error(String(text)), { name: String((value as { name?: unknown }).name) })
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fromPlain(one)]))
}
