import { type Check, invalid } from '../../core/options.js'

/** A JSON Schema of an object: draft-07 unless `$schema` says 2019-09 or 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** Keywords whose values are schemas, by their form. */
const oneSchema = ['additionalProperties', 'additionalItems', 'contains', 'propertyNames', 'not', 'if', 'then', 'else']
const listOfSchemas = ['allOf', 'anyOf', 'oneOf', 'prefixItems']
const mapOfSchemas = ['properties', 'patternProperties', 'definitions', '$defs', 'dependentSchemas']
const newerKeywords = ['unevaluatedProperties', 'unevaluatedItems', 'contentSchema']

const types: readonly unknown[] = ['null', 'boolean', 'object', 'array', 'number', 'string', 'integer']
const counts = ['maxLength', 'minLength', 'maxItems', 'minItems', 'maxProperties', 'minProperties', 'minContains', 'maxContains']
const numbers = ['maximum', 'minimum', 'exclusiveMaximum', 'exclusiveMinimum', 'multipleOf']
const isNames = (value: unknown): boolean => Array.isArray(value) && value.every((name) => typeof name === 'string')

/** What the values of other keywords have to be. */
const values: readonly [keywords: readonly string[], is: (value: unknown) => boolean, must: string][] = [
  [['required'], isNames, 'must be names'],
  [['enum'], Array.isArray, 'must be an array'],
  [['$ref'], (value) => typeof value === 'string' && value.startsWith('#'), 'must lead into the schema itself'],
  [counts, (value) => Number.isInteger(value) && Number(value) >= 0, 'must be a whole number'],
  [numbers, (value) => typeof value === 'number', 'must be a number'],
]

const MAX_DEPTH = 64

/**
 * A copy of a JSON Schema for arguments. With a misspelt type, for example, the validator would refuse every call.
 */
export const argumentsSchema: Check<JsonSchema> = (value, name) => checkedSchema(value, name, true)

/** A copy of a JSON Schema for a result, which can be of any type. */
export const resultSchema: Check<JsonSchema> = (value, name) => checkedSchema(value, name, false)

function checkedSchema(value: unknown, name: string, ofArguments: boolean): JsonSchema {
  const wrong = (what: string): Error => invalid(`${name} must be a JSON Schema: ${what}.`)
  if (!isRecord(value)) throw wrong('it is no object')
  if (ofArguments && value['type'] !== undefined && value['type'] !== 'object') throw wrong('the type of the arguments must be object')
  checkSchema(value, '', 0, wrong)
  return structuredClone(value)
}

type Wrong = (what: string) => Error

function checkSchema(schema: unknown, at: string, depth: number, wrong: Wrong): void {
  if (typeof schema === 'boolean') return
  if (!isRecord(schema)) throw wrong(`${at || '/'} is neither an object nor a boolean`)
  if (depth > MAX_DEPTH) throw wrong(`${at} is nested too deeply`)
  const { type = [], pattern, patternProperties } = schema
  for (const one of [type].flat()) if (!types.includes(one)) throw wrong(`${at}/type: ${JSON.stringify(one)} is no type`)
  for (const [keywords, is, must] of values) {
    const keyword = keywords.find((one) => schema[one] !== undefined && !is(schema[one]))
    if (keyword !== undefined) throw wrong(`${at}/${keyword} ${must}`)
  }
  for (const one of [pattern === undefined ? [] : pattern, isRecord(patternProperties) ? Object.keys(patternProperties) : []].flat()) {
    if (!isPattern(one)) throw wrong(`${at}: ${JSON.stringify(one)} is no regular expression`)
  }
  for (const [where, inner] of innerSchemas(schema, at, wrong)) checkSchema(inner, `${at}/${where}`, depth + 1, wrong)
}

function* innerSchemas(schema: Record<string, unknown>, at: string, wrong: Wrong): Generator<[where: string, schema: unknown]> {
  for (const name of [...oneSchema, ...newerKeywords]) if (schema[name] !== undefined) yield [name, schema[name]]
  for (const name of ['items', ...listOfSchemas]) {
    const list = schema[name]
    if (Array.isArray(list) && (list.length > 0 || name === 'items'))
      for (const [index, one] of list.entries()) yield [`${name}/${index}`, one]
    else if (list !== undefined && name !== 'items') throw wrong(`${at}/${name} must be an array of schemas`)
    else if (list !== undefined) yield [name, list]
  }
  for (const name of mapOfSchemas) {
    const map = schema[name]
    if (map !== undefined && !isRecord(map)) throw wrong(`${at}/${name} must be an object of schemas`)
    for (const [key, one] of Object.entries(map ?? {})) yield [`${name}/${key}`, one]
  }
}

function isPattern(value: unknown): boolean {
  if (typeof value !== 'string') return false
  try {
    return new RegExp(value, 'u') instanceof RegExp
  } catch {
    return false
  }
}

/** Whether a value is an object with names, and no array. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The properties of a value; none, if it is no object. */
export const recordOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

/** Keywords whose values are no schemas, whatever they look like. */
const plainValues = new Set(['const', 'default', 'enum', 'examples', 'required', 'type'])
const byName = new Set(mapOfSchemas)

type Keyword = [keyword: string, value: unknown]

/** A copy of a schema with each of its keywords changed, or left out for `undefined`. Names of properties are no keywords. */
export function changedSchema(schema: JsonSchema, change: (keyword: Keyword) => Keyword | undefined): JsonSchema {
  const changed = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(changed)
    if (!isRecord(value)) return value
    const keywords = Object.entries(value).flatMap((one) => {
      const keyword = change(one)
      return keyword === undefined ? [] : [keyword]
    })
    return Object.fromEntries(
      keywords.map(([keyword, inner]): Keyword => {
        if (plainValues.has(keyword)) return [keyword, inner]
        if (!byName.has(keyword) || !isRecord(inner)) return [keyword, changed(inner)]
        return [keyword, Object.fromEntries(Object.entries(inner).map(([name, one]) => [name, changed(one)]))]
      }),
    )
  }
  return changed(schema) as JsonSchema
}

/** A schema as a part of another one: its references begin where it stands. */
export function schemaAt(place: string, schema: JsonSchema): JsonSchema {
  return changedSchema(schema, ([keyword, value]) => {
    // They hold for a whole document.
    if (keyword === '$schema' || keyword === '$id') return undefined
    const isPointer = keyword === '$ref' && typeof value === 'string' && (value === '#' || value.startsWith('#/'))
    return [keyword, isPointer ? `${place}${value.slice(1)}` : value]
  })
}
