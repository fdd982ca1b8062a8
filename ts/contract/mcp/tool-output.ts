import { ContractFailure } from '../registry/envelope.js'

/** One part of the result of a server's tool. */
export type McpPart =
  | { type: 'text'; text: string }
  /** Bytes are named and not shown. */
  | { type: 'binary'; mime_type: string; bytes: number; uri?: string }
  | { type: 'link'; uri: string; name?: string }

/** The result of a server's tool. */
export interface McpOutput {
  content: McpPart[]
  structured_content?: unknown
}

/**
 * The result of a call in our own shape, without the server's credentials.
 *
 * @throws {ContractFailure} tool_failed if the server reports a failure.
 */
export function toolOutput(server: string, result: unknown, secrets: readonly string[]): McpOutput {
  const clean = cleaned(result, secrets) as Record<string, unknown> | undefined
  const { content, structuredContent, isError, toolResult } = clean ?? {}
  const parts = (Array.isArray(content) ? (content as unknown[]) : []).flatMap(partOf)
  if (isError === true) {
    const text = parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
    throw new ContractFailure('tool_failed', text === '' ? `mcp server ${server} says that the tool failed.` : text.slice(0, 20_000))
  }
  const structured = structuredContent ?? toolResult
  return structured === undefined ? { content: parts } : { content: parts, structured_content: structured }
}

function partOf(part: unknown): McpPart[] {
  if (typeof part !== 'object' || part === null) return []
  const { type, text, data, mimeType, resource, uri, name } = part as Record<string, unknown>
  if (type === 'text' && typeof text === 'string') return [{ type: 'text', text }]
  if (typeof data === 'string') return [binary(mimeType, data)]
  if (type === 'resource_link' && typeof uri === 'string')
    return [typeof name === 'string' ? { type: 'link', uri, name } : { type: 'link', uri }]
  if (type === 'resource' && typeof resource === 'object' && resource !== null) {
    const { text: inner, blob, mimeType: kind, uri: from } = resource as Record<string, unknown>
    if (typeof inner === 'string') return [{ type: 'text', text: inner }]
    if (typeof blob === 'string') return [{ ...binary(kind, blob), ...(typeof from === 'string' ? { uri: from } : {}) }]
  }
  return [{ type: 'text', text: JSON.stringify(part) }]
}

function binary(mimeType: unknown, base64: string): McpPart & { type: 'binary' } {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0
  const bytes = Math.max(0, Math.floor((base64.length * 3) / 4) - padding)
  return { type: 'binary', mime_type: typeof mimeType === 'string' ? mimeType : 'application/octet-stream', bytes }
}

export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((clean, secret) => clean.replaceAll(secret, '[redacted]'), text)
}

/** Removes secrets from the descriptions of a schema. The parts that validate arguments stay, since not every word of a header is secret. */
export function schemaWithoutSecrets(schema: Record<string, unknown>, secrets: readonly string[]): Record<string, unknown> {
  const isText = (key: string, value: unknown): value is string => (key === 'description' || key === 'title') && typeof value === 'string'
  return JSON.parse(JSON.stringify(schema), (key, value: unknown) =>
    isText(key, value) ? withoutSecrets(value, secrets) : value,
  ) as Record<string, unknown>
}

function cleaned(value: unknown, secrets: readonly string[]): unknown {
  if (secrets.length === 0) return value
  if (typeof value === 'string') return withoutSecrets(value, secrets)
  if (Array.isArray(value)) return value.map((one) => cleaned(one, secrets))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [withoutSecrets(key, secrets), cleaned(one, secrets)]))
}
