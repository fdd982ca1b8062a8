/** Compares arguments with a JSON Schema. Runs on the host's thread or on one of its own. */
import { isRecord } from '../../registry/json-schema.js'
import { Validator } from '@cfworker/json-schema'
import type { JsonSchema } from '../../registry/contract-tool.js'

export type FindProblems = (args: unknown) => string[]

export function problemFinder(schema: JsonSchema): FindProblems {
  let validator: Validator | undefined
  return (args) => {
    const tooMuch = tooMuchOf(schema, args, '', MAX_DEPTH)
    if (tooMuch !== undefined) return [tooMuch]
    // The validator modifies its schemas.
    validator ??= new Validator(structuredClone(schema), draftOf(schema), false)
    return problemsOf(validator, args)
  }
}

function draftOf({ $schema }: JsonSchema): '7' | '2019-09' | '2020-12' {
  const named = typeof $schema === 'string' ? $schema : ''
  if (named.includes('2020-12')) return '2020-12'
  return named.includes('2019-09') ? '2019-09' : '7'
}

function problemsOf(validator: Validator, args: unknown): string[] {
  try {
    const { valid, errors } = validator.validate(args)
    if (valid) return []
    const problems = errors.filter(({ keyword }) => !framing.has(keyword)).map(describeProblem)
    return problems.length > 0 ? [...new Set(problems)] : ['they do not fit the schema']
  } catch (error) {
    // The schema refers to itself, or the arguments are nested too deeply for it.
    if (error instanceof RangeError) return ['they are nested too deeply for the schema, or it has no end']
    return [error instanceof Error ? error.message : 'they cannot be checked']
  }
}

/** Keywords that only repeat a problem of a nested schema. */
const framing = new Set(['properties', 'items', 'prefixItems', 'additionalProperties', '$ref', 'allOf', 'dependentSchemas'])

interface Problem {
  instanceLocation: string
  keyword: string
  error: string
}

/** `/questions/0/question: …`, with the place as a JSON pointer. */
function describeProblem({ instanceLocation, keyword, error }: Problem): string {
  const path = instanceLocation.replace(/^#/u, '')
  if (keyword === 'false') return `${path}: there is no such property`
  return `${path === '' ? '/' : path}: ${error.replace(/\.$/u, '')}`
}

const MAX_DEPTH = 100
/** Unknown properties beyond this number are reported together. */
const MAX_UNKNOWN = 100

/**
 * Finds values that exceed a length of the schema. The validator would first go through every item and character.
 */
function tooMuchOf(schema: unknown, value: unknown, at: string, levels: number): string | undefined {
  if (!isRecord(schema) || schema['$ref'] !== undefined || levels === 0) return undefined
  const { maxLength, maxItems, items } = schema
  if (typeof value === 'string') {
    // A character takes at most two UTF-16 units.
    const isTooLong = typeof maxLength === 'number' && value.length > 2 * maxLength
    return isTooLong ? `${at || '/'}: String is too long (${value.length} > ${maxLength})` : undefined
  }
  if (Array.isArray(value)) {
    if (typeof maxItems === 'number' && value.length > maxItems)
      return `${at || '/'}: Array has too many items (${value.length} > ${maxItems})`
    if (!isRecord(items)) return undefined
    return firstOf(value.entries(), ([index, one]) => tooMuchOf(items, one, `${at}/${index}`, levels - 1))
  }
  return isRecord(value) ? tooMuchInRecord(schema, value, at, levels) : undefined
}

function tooMuchInRecord(schema: Record<string, unknown>, value: Record<string, unknown>, at: string, levels: number): string | undefined {
  const { maxProperties, properties: declared, patternProperties, additionalProperties } = schema
  const properties = isRecord(declared) ? declared : {}
  const keys = Object.keys(value)
  if (typeof maxProperties === 'number' && keys.length > maxProperties)
    return `${at || '/'}: there are too many properties (${keys.length} > ${maxProperties})`
  if (additionalProperties === false && patternProperties === undefined) {
    const unknown = keys.filter((key) => !Object.hasOwn(properties, key))
    if (unknown.length > MAX_UNKNOWN) return `${at}/${unknown[0]}: there is no such property, nor ${unknown.length - 1} others`
  }
  return firstOf(Object.keys(properties).values(), (key) =>
    Object.hasOwn(value, key) ? tooMuchOf(properties[key], value[key], `${at}/${key}`, levels - 1) : undefined,
  )
}

function firstOf<T>(items: Iterable<T>, look: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const problem = look(item)
    if (problem !== undefined) return problem
  }
  return undefined
}
