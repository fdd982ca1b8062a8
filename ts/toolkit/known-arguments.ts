/**
 * Arguments as models send them. Those that a built-in tool does not have are refused, and not dropped: the model meant something by them.
 * Optional ones that say nothing (`null`, an empty text, a 0 that no value can be) are as if they were absent.
 */
import { z } from 'zod'
import { strictSchema } from '../core/optional-arguments.js'
import { invalid } from '../core/options.js'
import { printable } from '../core/printable.js'
import { nearestName } from '../core/text.js'
import type { KnownArguments } from './settings.js'

/** Longer names of arguments are cut. */
const MAX_NAME_LENGTH = 100
const MAX_NAMED = 10

type Shape = Readonly<Record<string, z.ZodType>> | undefined

/** Each call asks for the shape of its schema, and `instanceof` of Zod takes its time. */
const shapes = new WeakMap<object, { shape: Shape }>()

/** The fields of an object, or nothing for any other schema. */
function shapeOf(schema: unknown): Shape {
  if (typeof schema !== 'object' || schema === null) return undefined
  const known = shapes.get(schema)
  if (known !== undefined) return known.shape
  const shape = findShape(schema)
  shapes.set(schema, { shape })
  return shape
}

function findShape(schema: object): Shape {
  const inner = schema instanceof z.ZodOptional ? schema.unwrap() : schema
  return inner instanceof z.ZodObject ? inner.shape : undefined
}

/** The same schema, which takes no other arguments, and what says nothing. A schema of another library checks its arguments itself. */
function strict<SCHEMA>(tool: string, schema: SCHEMA, at = ''): SCHEMA {
  const shape = shapeOf(schema)
  if (shape === undefined) return isOptional(schema) ? (orNothing(schema) as SCHEMA) : schema
  const fields = Object.entries(shape).map(([name, field]) => [name, strict(tool, field, `${at}/${name}`)])
  const error = (issue: { code?: string; keys?: unknown }): string | undefined =>
    issue.code === 'unrecognized_keys' && Array.isArray(issue.keys)
      ? refusal(tool, at, issue.keys.map(String), Object.keys(shape))
      : undefined
  const known = z.strictObject(Object.fromEntries(fields), { error })
  return described(schema as z.ZodType, isOptional(schema) ? known.nullish() : known) as SCHEMA
}

const isOptional = (schema: unknown): schema is z.ZodOptional<z.ZodType> => schema instanceof z.ZodOptional

/** An optional argument may be `null`, and a number 0 that counts from 1. */
function orNothing(schema: z.ZodOptional<z.ZodType>): z.ZodType {
  const isNumber = schema.unwrap() instanceof z.ZodNumber
  return described(schema, isNumber ? z.union([schema, z.literal(0)]).nullish() : schema.nullish())
}

/**
 * What a model is shown of a schema: as the tool defines it, and valid in the strict mode of OpenAI. Zod has no form that is required and
 * may be absent, so the JSON Schema is given to it.
 */
function forModel<SCHEMA>(tool: string, schema: SCHEMA): SCHEMA {
  const known = strict(tool, schema)
  const { _zod: inner } = known as { _zod?: { toJSONSchema?: () => unknown } }
  if (shapeOf(schema) !== undefined && inner !== undefined) inner.toJSONSchema = () => strictSchema(jsonSchemaOf(schema))
  return known
}

/** As the AI SDK makes it. */
function jsonSchemaOf(schema: unknown): Readonly<Record<string, unknown>> {
  const { $schema: _, ...rest } = z.toJSONSchema(strictObjects(schema as z.ZodType), { target: 'draft-7', io: 'input' })
  return rest
}

/** The schema, whose objects take nothing else. */
function strictObjects(schema: z.ZodType): z.ZodType {
  const shape = shapeOf(schema)
  if (shape === undefined) return schema
  const known = z.strictObject(Object.fromEntries(Object.entries(shape).map(([name, field]) => [name, strictObjects(field)])))
  return described(schema, isOptional(schema) ? known.optional() : known)
}

/** The arguments without those that say nothing. */
function taken(schema: unknown, args: unknown): unknown {
  if (saysAll(args)) return args
  const shape = shapeOf(schema)
  if (shape === undefined || typeof args !== 'object' || args === null || Array.isArray(args)) return args
  let isSame = true
  const kept = Object.entries(args).flatMap(([name, value]: [string, unknown]): [string, unknown][] => {
    const field = Object.hasOwn(shape, name) ? shape[name] : undefined
    if (mayBeNothing(value) && isOptional(field) && saysNothing(field, value)) {
      isSame = false
      return []
    }
    const inner = typeof value === 'object' ? taken(field, value) : value
    isSame &&= inner === value
    return [[name, inner]]
  })
  return isSame ? args : Object.fromEntries(kept)
}

/** Whether no argument can say nothing: so are those of most calls. */
function saysAll(args: unknown): boolean {
  if (typeof args !== 'object' || args === null) return true
  for (const name in args) {
    const value = (args as Record<string, unknown>)[name]
    if (typeof value === 'object' || mayBeNothing(value)) return false
  }
  return true
}

/** An optional text of these tools is a path, which is never empty. */
const mayBeNothing = (value: unknown): boolean => value === null || value === '' || value === 0

const saysNothing = (field: z.ZodOptional<z.ZodType>, value: unknown): boolean => value !== 0 || !field.safeParse(0).success

/** A model reads the description of each argument, and a schema that is made from another one has none. */
function described(from: z.ZodType, to: z.ZodType): z.ZodType {
  return from.description === undefined ? to : to.describe(from.description)
}

/** The same for a call that no schema has checked. @throws {ToolError} INVALID_INPUT */
function refuseUnknown(tool: string, schema: unknown, args: unknown, at = ''): void {
  const shape = shapeOf(schema)
  if (shape === undefined || typeof args !== 'object' || args === null) return
  const given = Object.keys(args)
  if (!given.every((name) => Object.hasOwn(shape, name))) {
    const names = given.filter((name) => !Object.hasOwn(shape, name))
    throw invalid(refusal(tool, at, names, Object.keys(shape)))
  }
  for (const name of given) {
    const value: unknown = (args as Record<string, unknown>)[name]
    if (typeof value === 'object') refuseUnknown(tool, shape[name], value, `${at}/${name}`)
  }
}

/** As the contract words it. */
function refusal(tool: string, at: string, names: readonly string[], allowed: readonly string[]): string {
  // A model may name anything, and the message may come to a terminal.
  const shown = (name: string): string => printable(name.slice(0, MAX_NAME_LENGTH)).replaceAll('`', '?')
  const listed = names.slice(0, MAX_NAMED).map((name) => `\`${at}/${shown(name)}\``)
  const more = names.length > MAX_NAMED ? `, and ${names.length - MAX_NAMED} more` : ''
  const takes = `${at === '' ? tool : `\`${at}\``} takes ${allowed.map((name) => `\`${name}\``).join(', ')}`
  const near = names.map((name) => nearestName(name, allowed)).find((name) => name !== undefined)
  const meant = near === undefined ? '' : `Did you mean \`${near}\`? `
  return `Invalid arguments for ${tool}: there is no ${listed.join(' and no ')}${more}; ${takes}. ${meant}Correct them and call again.`
}

/** The checks of a tool set. */
export const knownArguments: KnownArguments = {
  schema: forModel,
  taken: (schema, args) => taken(schema, args) as typeof args,
  refuse: (tool, schema, args) => refuseUnknown(tool, schema, args),
}
