import type { JsonSchema } from '../registry/contract-tool.js'

/** The schema of an object with these properties and no others. */
export function parameters(properties: Record<string, JsonSchema>, required: readonly string[]): JsonSchema {
  return { type: 'object', properties, required: [...required], additionalProperties: false }
}

/** The schema of a path, the same in every tool. */
export const pathParameter = (description: string): JsonSchema => ({
  type: 'string',
  minLength: 1,
  // No system accepts a NUL character in a path.
  pattern: '^[^\\u0000]+$',
  maxLength: 4096,
  description,
})
