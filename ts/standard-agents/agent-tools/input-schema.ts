import type { Schema } from 'ai'
import { toJSONSchema, type $ZodType } from 'zod/v4/core'
import type { AnyTool } from '../tools/tool-definition.js'

/** The AI SDK's mark of its own schemas, the same in all of its majors. */
const mark = Symbol.for('vercel.ai.schema')

/**
 * The schema of a tool's arguments for the AI SDK. It describes and does not validate: arguments are validated when
 * the tool is executed, so that every failure has the same text for the model.
 *
 * The SDK's own conversion of a Zod schema is not used. It forbids every key of a record.
 */
export const inputSchema = (tool: AnyTool): Schema<unknown> => sdkSchema(argumentsSchema(tool))

/** A JSON Schema for the AI SDK, which validates nothing. */
export function sdkSchema(jsonSchema: Record<string, unknown>): Schema<unknown> {
  const validate = (value: unknown): { success: true; value: unknown } => ({ success: true, value })
  return { [mark]: true, _type: undefined, jsonSchema, validate } as unknown as Schema<unknown>
}

/**
 * The arguments that a model may send, as JSON Schema. Fields with a default are optional, unknown keys are not
 * allowed.
 */
export function argumentsSchema({ args }: AnyTool): Record<string, unknown> {
  if (args === null) return { type: 'object', properties: {}, additionalProperties: false }
  const { $schema: _, ...schema } = toJSONSchema(args, {
    io: 'input',
    target: 'draft-7',
    override: ({ zodSchema, jsonSchema }) => {
      if (isClosed(zodSchema)) jsonSchema.additionalProperties ??= false
    },
  })
  return schema
}

/** Whether a schema is an object that says nothing about other keys. */
function isClosed(schema: $ZodType): boolean {
  const { type, catchall } = schema['_zod'].def as { type: string; catchall?: unknown }
  return type === 'object' && catchall === undefined
}
