import { changedSchema, recordOf } from './json-schema.js'
import { envelopeSchema } from './output-schema.js'
import type { Tool, ToolSet } from 'ai'
import { type ContractTool, hasSideEffect, type JsonSchema } from './contract-tool.js'
import type { Envelope } from './envelope.js'
import { outputRequest } from '../../core/model-output-request.js'
import { strictSchema } from '../../core/optional-arguments.js'
import { processToolIds } from '../../core/processes/process-tools.js'
import { readableText } from './readable-result.js'
import { textWithImageData } from '../../documents/model-image.js'
import { apartFromImage } from './result-image.js'
import { isLockedToolId } from './tool-ids.js'
import { toolMetadata } from '../../core/tool-metadata.js'

export interface SdkCallOptions {
  toolCallId?: string | undefined
  abortSignal?: AbortSignal | undefined
  /** The conversation, with the user's answers to questions about calls. */
  messages?: unknown
}

/** Gives the function that the AI SDK calls for a tool. */
export type ExecutorOf = (id: string) => (args: unknown, options?: SdkCallOptions) => Promise<Envelope>

/** How a model reads results: the envelope as JSON, or what a person would read. */
export type ResultForm = 'json' | 'text'

/** Tools for the AI SDK. Each returns the envelope, and the model sees it as text. */
export function modelTools(tools: readonly ContractTool[], executorOf: ExecutorOf, results: ResultForm = 'json'): ToolSet {
  return Object.fromEntries(tools.map((tool) => [tool.id, modelTool(tool, executorOf, results)]))
}

function modelTool(contractTool: ContractTool, executorOf: ExecutorOf, results: ResultForm): Tool {
  const { id, description, parameters } = contractTool
  const sideEffect = hasSideEffect(contractTool)
  const tool = {
    description,
    inputSchema: uncheckedSchema(isBuiltIn(id) ? strictSchema(withoutUnsupportedKeywords(id, parameters)) : parameters),
    // For readers of results. The AI SDK does not send it to a model.
    outputSchema: uncheckedSchema(envelopeSchema(contractTool)),
    // The AI SDK 7 passes it on, to `toolCall.toolMetadata` and the parts of a user interface.
    metadata: toolMetadata({ sideEffect, idempotent: !sideEffect }),
    execute: executorOf(id),
    toModelOutput: (given: unknown) => {
      const { input, output } = outputRequest<Envelope>(given)
      const { rest, image } = apartFromImage(id, forModel(id, input, output))
      const text = results === 'text' ? textOutput(id, rest) : modelOutput(rest)
      return image === undefined ? text : textWithImageData(text.value, image.media_type, image.data)
    },
  }
  return tool as unknown as Tool
}

/** An envelope as text: notes about a cut output come first, and its other notes last. */
export function textOutput(tool: string, envelope: ReturnType<typeof forModel>): { type: 'text' | 'error-text'; value: string } {
  if (envelope.type === 'error') return { type: 'error-text', value: envelope.error_text }
  const { notes = [], truncated } = envelope.metadata as Pick<Envelope['metadata'], 'notes' | 'truncated'>
  const text = readableText(tool, envelope.data)
  const parts = truncated === true ? [...notes, text] : [text.replace(/\n$/u, ''), ...notes]
  return { type: 'text', value: notes.length === 0 ? text : parts.join('\n') }
}

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

const isBuiltIn = (id: string): boolean => isLockedToolId(id) || (processToolIds as readonly string[]).includes(id)

/**
 * The schema of a tool for the model. Built-in schemas are offered without `pattern`: servers that compile a schema to a
 * grammar support few regular expressions, and refuse the whole request for another one. Calls are checked with it.
 */
export function withoutUnsupportedKeywords(id: string, parameters: JsonSchema): JsonSchema {
  return isBuiltIn(id)
    ? changedSchema(parameters, ([keyword, value]) => (keyword === 'pattern' ? undefined : [keyword, value]))
    : parameters
}

/** A model that asks for at most this many bytes probably means lines. */
const LIKELY_LINES = 2_000

/**
 * An envelope for a model, with notes about what a reader would miss in the data. Programs get the envelope without them.
 */
export function forModel(tool: string, args: unknown, envelope: Envelope): Envelope | NotedEnvelope {
  if (envelope.type !== 'output') return envelope
  if (tool === 'read') return readForModel(recordOf(args), envelope)
  // The command has printed them.
  const { changed_files: files, connections, ...metadata } = envelope.metadata
  return files === undefined && connections === undefined ? envelope : { ...envelope, metadata }
}

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
