import type { Envelope } from './envelope.js'

/** A part of a file that is no longer was probably meant in lines. */
const LIKELY_LINES = 2_000

/**
 * An envelope as its reader, a model, needs it: what is missed in the data is said in `metadata.notes`. Programs have the
 * data as it is.
 */
export function forModel(tool: string, args: unknown, envelope: Envelope): Envelope | NotedEnvelope {
  return tool === 'read' && envelope.type === 'output' ? readForModel(recordOf(args), envelope) : envelope
}

/** An envelope with a word for the model. */
interface NotedEnvelope {
  type: 'output'
  data: unknown
  metadata: Record<string, unknown>
}

function readForModel({ limit }: Record<string, unknown>, envelope: Extract<Envelope, { type: 'output' }>): Envelope | NotedEnvelope {
  const { content, head, offset = 0, next_offset: next } = recordOf(envelope.data)
  const { output_path: _same, notes = [], ...metadata }: Envelope['metadata'] & { notes?: string[] } = envelope.metadata
  const noted = (note: string): NotedEnvelope => ({ ...envelope, metadata: { ...metadata, notes: [...notes, note] } })
  // The rest is in the file that was read: one way to it is enough.
  if (typeof head === 'string') return noted(`The file goes on: read it with offset ${String(next)}.`)
  if (content === '' && next === undefined) return noted(offset === 0 ? 'The file is empty.' : `end of file at ${String(offset)}`)
  const isShort = next !== undefined && typeof limit === 'number' && limit <= LIKELY_LINES
  return isShort
    ? noted(`These are bytes ${String(offset)} to ${String(next)}, not lines. Leave out offset and limit to read the whole file.`)
    : envelope
}

const recordOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
