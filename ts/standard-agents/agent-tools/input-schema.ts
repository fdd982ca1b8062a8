import type { Schema } from 'ai'
import { toJSONSchema, type $ZodType } from 'zod/v4/core'
import type { AnyTool } from '../tools/tool-definition.js'

/** By which the AI SDK knows a schema of its own; the same in all of its majors. */
const mark = Symbol.for('vercel.ai.schema')

/**
 * The schema of a tool's arguments for the AI SDK: what the model is shown, and no check. The arguments are
 * checked where the tool is executed, so that the model reads the same text of every wrong one.
 *
 * Made by hand, because the SDK's own conversion of a Zod schema forbids every key of a record.
 */
export function inputSchema(tool: AnyTool): Schema<unknown> {
  const validate = (value: unknown): { success: true; value: unknown } => ({ success: true, value })
  return { [mark]: true, _type: undefined, jsonSchema: argumentsSchema(tool), validate } as unknown as Schema<unknown>
}

/**
 * What a model may send, as JSON Schema: fields with a default are optional, and keys that the tool does not
 * know are not allowed.
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

/** Whether it is an object without a word on other keys. */
function isClosed(schema: $ZodType): boolean {
  const { type, catchall } = schema['_zod'].def as { type: string; catchall?: unknown }
  return type === 'object' && catchall === undefined
}
