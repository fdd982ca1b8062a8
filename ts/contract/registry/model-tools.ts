import type { Tool, ToolSet } from 'ai'
import type { ContractTool, JsonSchema } from './contract-tool.js'
import type { Envelope } from './envelope.js'
import { isLockedToolId } from './tool-ids.js'

/** What the AI SDK hands to a tool besides its arguments. */
export interface SdkCallOptions {
  toolCallId?: string | undefined
  abortSignal?: AbortSignal | undefined
}

/** Calls a tool of a session. */
export type CallTool = (
  id: string,
  args: unknown,
  options: { callId?: string | undefined; signal?: AbortSignal | undefined },
) => Promise<Envelope>

/** Tools as the AI SDK takes them: each gives the envelope, and the model sees it as text. */
export function modelTools(tools: readonly ContractTool[], call: CallTool): ToolSet {
  return Object.fromEntries(tools.map((tool) => [tool.id, modelTool(tool, call)]))
}

function modelTool({ id, description, parameters }: ContractTool, call: CallTool): Tool {
  const tool = {
    description,
    inputSchema: uncheckedSchema(offeredSchema(id, parameters)),
    execute: (args: unknown, { toolCallId, abortSignal }: SdkCallOptions = {}) =>
      call(id, args, { callId: toolCallId, signal: abortSignal }),
    toModelOutput: ({ input, output }: { input?: unknown; output: unknown }) => modelOutput(forModel(id, input, output as Envelope)),
  }
  return tool as unknown as Tool
}

/** The envelope as the model sees it: as JSON text. */
export function modelOutput(envelope: ReturnType<typeof forModel>): { type: 'text' | 'error-text'; value: string } {
  return { type: envelope.type === 'error' ? 'error-text' : 'text', value: JSON.stringify(envelope) }
}

/**
 * A schema of the SDK that leaves the checking to the session, so that what is wrong comes back in an
 * envelope like everything else. Made by its mark, since importing the SDK takes longer than the rest.
 */
function uncheckedSchema(jsonSchema: JsonSchema): object {
  return { [Symbol.for('vercel.ai.schema')]: true, _type: undefined, validate: undefined, jsonSchema }
}

/** The keywords that hold other schemas by name: a property there may be called anything. */
const byName = new Set(['properties', 'patternProperties', 'definitions', '$defs', 'dependentSchemas'])
/** And those that hold values, which are no schemas. */
const values = new Set(['const', 'default', 'enum', 'examples'])

/**
 * The schema of a tool as a model is offered it. Ours go without `pattern`: servers that make a grammar of a schema take
 * few regular expressions and refuse the whole request for another one. Calls are checked with the pattern all the same.
 */
export function offeredSchema(id: string, parameters: JsonSchema): JsonSchema {
  return isLockedToolId(id) ? (withoutPatterns(parameters) as JsonSchema) : parameters
}

function withoutPatterns(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutPatterns)
  if (typeof schema !== 'object' || schema === null) return schema
  const kept = Object.entries(schema).filter(([keyword]) => keyword !== 'pattern')
  return Object.fromEntries(
    kept.map(([keyword, value]: [string, unknown]) => {
      if (values.has(keyword)) return [keyword, value]
      return [keyword, byName.has(keyword) ? mapped(value) : withoutPatterns(value)]
    }),
  )
}

function mapped(schemas: unknown): unknown {
  if (typeof schemas !== 'object' || schemas === null) return schemas
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]: [string, unknown]) => [name, withoutPatterns(schema)]))
}

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
