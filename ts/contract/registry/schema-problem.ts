/** Keywords whose values are schemas, by their form. */
const oneSchema = ['additionalProperties', 'additionalItems', 'contains', 'propertyNames', 'not', 'if', 'then', 'else']
const listOfSchemas = ['allOf', 'anyOf', 'oneOf', 'prefixItems']
const mapOfSchemas = ['properties', 'patternProperties', 'definitions', '$defs', 'dependentSchemas']
const newerKeywords = ['unevaluatedProperties', 'unevaluatedItems', 'contentSchema']

const types = new Set(['null', 'boolean', 'object', 'array', 'number', 'string', 'integer'])
const counts = ['maxLength', 'minLength', 'maxItems', 'minItems', 'maxProperties', 'minProperties', 'minContains', 'maxContains']
const numbers = ['maximum', 'minimum', 'exclusiveMaximum', 'exclusiveMinimum', 'multipleOf']

/** The maximum depth of a schema. */
const MAX_DEPTH = 64

/**
 * The problem of a value that is not a JSON Schema for arguments; `undefined` if it is one. With a misspelt type, for
 * example, the validator would refuse every call.
 */
export function findSchemaProblem(value: unknown): string | undefined {
  if (!isRecord(value)) return 'it is no object'
  if (value['type'] !== undefined && value['type'] !== 'object') return 'the type of the arguments must be object'
  return problemAt(value, '', 0)
}

function problemAt(schema: unknown, at: string, depth: number): string | undefined {
  if (typeof schema === 'boolean') return undefined
  if (!isRecord(schema)) return `${at || '/'} is neither an object nor a boolean`
  if (depth > MAX_DEPTH) return `${at} is nested too deeply`
  return typeProblem(schema, at) ?? valueProblem(schema, at) ?? innerProblem(schema, at, depth)
}

function typeProblem({ type }: Record<string, unknown>, at: string): string | undefined {
  if (type === undefined) return undefined
  const named = Array.isArray(type) ? (type as unknown[]) : [type]
  const wrong = named.find((one) => typeof one !== 'string' || !types.has(one))
  return wrong === undefined ? undefined : `${at}/type: ${JSON.stringify(wrong)} is no type`
}

function valueProblem(schema: Record<string, unknown>, at: string): string | undefined {
  const { required, pattern, patternProperties, enum: values, $ref } = schema
  const isNames = (value: unknown): boolean => Array.isArray(value) && value.every((name) => typeof name === 'string')
  if (required !== undefined && !isNames(required)) return `${at}/required must be names`
  if (values !== undefined && !Array.isArray(values)) return `${at}/enum must be an array`
  if ($ref !== undefined && (typeof $ref !== 'string' || !$ref.startsWith('#'))) return `${at}/$ref must lead into the schema itself`
  const count = counts.find((name) => schema[name] !== undefined && !(Number.isInteger(schema[name]) && Number(schema[name]) >= 0))
  if (count !== undefined) return `${at}/${count} must be a whole number`
  const number = numbers.find((name) => schema[name] !== undefined && typeof schema[name] !== 'number')
  if (number !== undefined) return `${at}/${number} must be a number`
  const patterns = [pattern, ...(isRecord(patternProperties) ? Object.keys(patternProperties) : [])]
  const wrong = patterns.find((one) => one !== undefined && !isPattern(one))
  return wrong === undefined ? undefined : `${at}: ${JSON.stringify(wrong)} is no regular expression`
}

function innerProblem(schema: Record<string, unknown>, at: string, depth: number): string | undefined {
  const inner: [string, unknown][] = []
  for (const name of [...oneSchema, ...newerKeywords]) if (schema[name] !== undefined) inner.push([name, schema[name]])
  const { items } = schema
  if (Array.isArray(items)) inner.push(...items.map((one, index): [string, unknown] => [`items/${index}`, one]))
  else if (items !== undefined) inner.push(['items', items])
  for (const name of listOfSchemas) {
    const list = schema[name]
    if (list === undefined) continue
    if (!Array.isArray(list) || list.length === 0) return `${at}/${name} must be an array of schemas`
    inner.push(...list.map((one, index): [string, unknown] => [`${name}/${index}`, one]))
  }
  for (const name of mapOfSchemas) {
    const map = schema[name]
    if (map === undefined) continue
    if (!isRecord(map)) return `${at}/${name} must be an object of schemas`
    inner.push(...Object.entries(map).map(([key, one]): [string, unknown] => [`${name}/${key}`, one]))
  }
  for (const [where, one] of inner) {
    const problem = problemAt(one, `${at}/${where}`, depth + 1)
    if (problem !== undefined) return problem
  }
  return undefined
}

function isPattern(value: unknown): boolean {
  if (typeof value !== 'string') return false
  try {
    return new RegExp(value, 'u') instanceof RegExp
  } catch {
    return false
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value)
