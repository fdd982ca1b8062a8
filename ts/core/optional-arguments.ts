/**
 * Optional arguments as models send them. In the strict mode of OpenAI every argument is required, and a model gives `null`, an empty text
 * or 0 for one that it has no use for.
 */
type Schema = Readonly<Record<string, unknown>>

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * The same arguments without optional ones that say nothing: `null`, an empty text or 0 where the schema has no such value. The arguments
 * themselves, if there are none of these.
 */
export function withoutAbsent<ARGS>(schema: Schema, args: ARGS): ARGS {
  return cleaned(schema, args, MAX_DEPTH) as ARGS
}

/** The same object without `null`, for a tool whose schema its provider has: none of its arguments means anything by it. */
export function withoutNulls<ARGS>(args: ARGS): ARGS {
  if (!isRecord(args) || !Object.values(args).includes(null)) return args
  return Object.fromEntries(Object.entries(args).filter(([, value]) => value !== null)) as ARGS
}

/** Deeper arguments are left as they are. */
const MAX_DEPTH = 8

function cleaned(schema: unknown, value: unknown, levels: number): unknown {
  if (!isRecord(schema) || levels === 0) return value
  if (Array.isArray(value)) {
    const items = value.map((item) => cleaned(schema['items'], item, levels - 1))
    return items.every((item, index) => item === value[index]) ? value : Object.freeze(items)
  }
  const { properties, required } = schema
  if (!isRecord(value) || !isRecord(properties)) return value
  const needed: readonly unknown[] = Array.isArray(required) ? required : []
  let isSame = true
  const kept = Object.entries(value).flatMap(([name, one]): [string, unknown][] => {
    const own = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (own !== undefined && !needed.includes(name) && saysNothing(own, one)) {
      isSame = false
      return []
    }
    const inner = cleaned(own, one, levels - 1)
    isSame &&= inner === one
    return [[name, inner]]
  })
  return isSame ? value : Object.freeze(Object.fromEntries(kept))
}

function saysNothing(schema: unknown, value: unknown): boolean {
  if (value === null || value === '' || value === 0) return isRecord(schema) && !accepts(schema, value)
  return false
}

/** Whether one of the three values that can say nothing is one that a schema has. */
function accepts(schema: Schema, value: '' | 0 | null): boolean {
  const { type, enum: values, const: only, anyOf, oneOf, minLength, pattern, minimum, exclusiveMinimum } = schema
  const choices = [anyOf, oneOf].find(Array.isArray)
  if (choices !== undefined) return choices.some((one) => !isRecord(one) || accepts(one, value))
  if ('$ref' in schema || '$dynamicRef' in schema) return true
  if (only !== undefined) return only === value
  if (Array.isArray(values)) return values.includes(value)
  const types = type === undefined ? [] : [type].flat()
  const names = value === null ? ['null'] : value === '' ? ['string'] : ['number', 'integer']
  if (types.length > 0 && !names.some((name) => types.includes(name))) return false
  if (value === '') return !(typeof minLength === 'number' && minLength > 0) && !(typeof pattern === 'string' && !fits(pattern))
  if (value === 0) return !(typeof minimum === 'number' && minimum > 0) && !(typeof exclusiveMinimum === 'number' && exclusiveMinimum >= 0)
  return true
}

function fits(pattern: string): boolean {
  try {
    return new RegExp(pattern, 'u').test('')
  } catch {
    return true
  }
}

/**
 * The same schema for a model, valid in the strict mode of OpenAI: every argument is required, and one that may be left out is `null`
 * instead. What is checked stays the schema itself.
 */
export function strictSchema(schema: Schema): Schema {
  const { properties, items, required } = schema
  if (isRecord(items)) return { ...schema, items: strictSchema(items) }
  if (!isRecord(properties)) return schema
  const needed: readonly unknown[] = Array.isArray(required) ? required : []
  const fields = Object.entries(properties).map(([name, field]) => {
    const inner = isRecord(field) ? strictSchema(field) : {}
    return [name, needed.includes(name) ? inner : orNull(inner)]
  })
  return { ...schema, properties: Object.fromEntries(fields), required: Object.keys(properties) }
}

function orNull(schema: Schema): Schema {
  const { type, enum: values } = schema
  if (type === undefined || 'const' in schema) return { anyOf: [schema, { type: 'null' }] }
  const types = [type].flat()
  return { ...schema, type: types.includes('null') ? types : [...types, 'null'], ...(Array.isArray(values) && { enum: [...values, null] }) }
}
