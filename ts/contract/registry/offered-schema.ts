import type { JsonSchema } from './contract-tool.js'
import { isLockedToolId } from './locked-tools.js'

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
