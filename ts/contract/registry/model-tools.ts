import type { Tool, ToolSet } from 'ai'
import type { ContractTool, JsonSchema } from './contract-tool.js'
import type { Envelope } from '../call/envelope.js'
import { forModel } from '../call/model-notes.js'
import { offeredSchema } from './offered-schema.js'

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
