import type { JsonSchema } from '../registry/contract-tool.js'

/** The schema of an object with these properties and no others. */
export function parameters(properties: Record<string, JsonSchema>, required: readonly string[]): JsonSchema {
  return { type: 'object', properties, required: [...required], additionalProperties: false }
}

/** A path as every tool takes it. */
export const pathParameter = (description: string): JsonSchema => ({
  type: 'string',
  minLength: 1,
  // What no system takes: such a call is told so at once.
  pattern: '^[^\\u0000]+$',
  maxLength: 4096,
  description,
})
