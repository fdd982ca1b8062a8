import type { Tool, ToolSet } from 'ai'
import type { ContractTool, JsonSchema } from './contract-tool.js'
import type { Envelope } from './envelope.js'
import { isLockedToolId } from './tool-ids.js'

/** The options that the AI SDK passes to a tool. */
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

/** Tools for the AI SDK. Each returns the envelope, and the model sees it as text. */
export function modelTools(tools: readonly ContractTool[], call: CallTool): ToolSet {
  return Object.fromEntries(tools.map((tool) => [tool.id, modelTool(tool, call)]))
}

function modelTool({ id, description, parameters }: ContractTool, call: CallTool): Tool {
  const tool = {
    description,
    inputSchema: uncheckedSchema(withoutUnsupportedKeywords(id, parameters)),
    execute: (args: unknown, { toolCallId, abortSignal }: SdkCallOptions = {}) =>
      call(id, args, { callId: toolCallId, signal: abortSignal }),
    toModelOutput: ({ input, output }: { input?: unknown; output: unknown }) => modelOutput(forModel(id, input, output as Envelope)),
  }
  return tool as unknown as Tool
}

/** The envelope for the model, as JSON text. */
export function modelOutput(envelope: ReturnType<typeof forModel>): { type: 'text' | 'error-text'; value: string } {
  return { type: envelope.type === 'error' ? 'error-text' : 'text', value: JSON.stringify(envelope) }
}

/**
 * A schema of the SDK without validation. The session checks the arguments, so that problems come back in an envelope. The
 * schema is made by its symbol, since importing the SDK takes longer than everything else.
 */
function uncheckedSchema(jsonSchema: JsonSchema): object {
  return { [Symbol.for('vercel.ai.schema')]: true, _type: undefined, validate: undefined, jsonSchema }
}

/** Keywords that hold schemas by name. The names can be anything. */
const byName = new Set(['properties', 'patternProperties', 'definitions', '$defs', 'dependentSchemas'])
/** Keywords that hold values instead of schemas. */
const values = new Set(['const', 'default', 'enum', 'examples'])

/**
 * The schema of a tool for the model. Built-in schemas are offered without `pattern`: servers that compile a schema to a
 * grammar support few regular expressions, and refuse the whole request for another one. Calls are checked with it.
 */
export function withoutUnsupportedKeywords(id: string, parameters: JsonSchema): JsonSchema {
  return isLockedToolId(id) ? (withoutPatterns(parameters) as JsonSchema) : parameters
}

function withoutPatterns(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutPatterns)
  if (typeof schema !== 'object' || schema === null) return schema
  const keywords = Object.entries(schema).filter(([keyword]) => keyword !== 'pattern')
  return Object.fromEntries(
    keywords.map(([keyword, value]: [string, unknown]) => {
      if (values.has(keyword)) return [keyword, value]
      return [keyword, byName.has(keyword) ? mapped(value) : withoutPatterns(value)]
    }),
  )
}

function mapped(schemas: unknown): unknown {
  if (typeof schemas !== 'object' || schemas === null) return schemas
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]: [string, unknown]) => [name, withoutPatterns(schema)]))
}

/** A model that asks for at most this many bytes probably means lines. */
const LIKELY_LINES = 2_000

/**
 * An envelope for a model, with notes about what a reader would miss in the data. Programs get the envelope without them.
 */
export function forModel(tool: string, args: unknown, envelope: Envelope): Envelope | NotedEnvelope {
  return tool === 'read' && envelope.type === 'output' ? readForModel(recordOf(args), envelope) : envelope
}

/** An envelope with notes for the model. */
interface NotedEnvelope {
  type: 'output'
  data: unknown
  metadata: Record<string, unknown>
}

function readForModel({ limit }: Record<string, unknown>, envelope: Extract<Envelope, { type: 'output' }>): Envelope | NotedEnvelope {
  const { content, head, offset = 0, next_offset: next } = recordOf(envelope.data)
  const { output_path: _same, notes = [], ...metadata }: Envelope['metadata'] & { notes?: string[] } = envelope.metadata
  const noted = (note: string): NotedEnvelope => ({ ...envelope, metadata: { ...metadata, notes: [...notes, note] } })
  // The rest is in the file itself, so the path need not be repeated.
  if (typeof head === 'string') return noted(`The file goes on: read it with offset ${String(next)}.`)
  if (content === '' && next === undefined) return noted(offset === 0 ? 'The file is empty.' : `end of file at ${String(offset)}`)
  const isShort = next !== undefined && typeof limit === 'number' && limit <= LIKELY_LINES
  return isShort
    ? noted(`These are bytes ${String(offset)} to ${String(next)}, not lines. Leave out offset and limit to read the whole file.`)
    : envelope
}

const recordOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
