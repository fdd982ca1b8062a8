import { checked, must } from '../../core/options.js'
import type { JsonSchema } from '../registry/contract-tool.js'

/**
 * Arguments that do not fit a schema: other types, missing properties, properties of another type, and unknown ones if the
 * schema is closed.
 *
 * @throws {ToolError} INVALID_INPUT for an invalid schema.
 */
export function invalidArguments(schema: JsonSchema): unknown[] {
  checkSchema('invalidArguments', schema)
  const properties = (schema['properties'] ?? {}) as Record<string, JsonSchema>
  const required = (schema['required'] ?? []) as string[]
  const fitting = sampleOf(schema) as Record<string, unknown>
  const wrong: unknown[] = []
  if (schema['type'] === 'object') wrong.push(null, undefined, [], 'text', 7, true)
  for (const name of required) {
    const { [name]: _, ...rest } = fitting
    wrong.push(rest)
  }
  for (const [name, one] of Object.entries(properties)) {
    for (const value of [null, 7.5, true, 'text', [], {}]) {
      // `null` for an optional argument is none.
      if (value === null && !required.includes(name)) continue
      if (!fitsType(value, one)) wrong.push({ ...fitting, [name]: value })
    }
  }
  if (schema['additionalProperties'] === false) wrong.push({ ...fitting, 'no such property': 1 })
  return wrong
}

/** A value that fits a schema, as far as types, counts and enumerations go. @throws {ToolError} INVALID_INPUT */
export function sampleOf(schema: JsonSchema): unknown {
  checkSchema('sampleOf', schema)
  const { type, enum: values, const: only, default: usual, minLength = 1, minimum = 1, minItems = 0 } = schema as Record<string, unknown>
  if (only !== undefined) return only
  if (usual !== undefined) return usual
  if (Array.isArray(values)) return values[0]
  switch (Array.isArray(type) ? type[0] : type) {
    case 'string':
      return 'a'.repeat(Math.max(1, Number(minLength)))
    case 'integer':
    case 'number':
      return Number(minimum)
    case 'boolean':
      return true
    case 'array':
      return Array.from({ length: Number(minItems) }, () => sampleOf((schema['items'] ?? {}) as JsonSchema))
    case 'null':
      return null
    default: {
      const properties = (schema['properties'] ?? {}) as Record<string, JsonSchema>
      const required = (schema['required'] ?? []) as string[]
      return Object.fromEntries(required.map((name) => [name, sampleOf(properties[name] ?? {})]))
    }
  }
}

function checkSchema(caller: string, schema: unknown): void {
  checked(caller, () => must((value) => typeof value === 'object' && value !== null, 'an object')(schema, 'The schema'))
}

/** Whether a value may fit by its type alone. Without a type in the schema, it may. */
function fitsType(value: unknown, schema: JsonSchema): boolean {
  const { type, enum: values } = schema as { type?: string | string[]; enum?: unknown[] }
  if (Array.isArray(values)) return values.includes(value)
  if (type === undefined) return true
  const actual = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
  return [type]
    .flat()
    .some((one) => one === actual || (actual === 'number' && (one === 'number' || (one === 'integer' && Number.isInteger(value)))))
}
