/**
 * Arguments as models send them. Those that a built-in tool does not have are refused, and not dropped: the model meant something by them.
 * Optional ones that say nothing (`null`, an empty text, a 0 that no value can be) are as if they were absent.
 */
import { z } from 'zod'
import { strictSchema } from '../core/optional-arguments.js'
import { refusalText, refusedArguments, type ToolWords } from '../core/argument-words/argument-words.js'
import { toolkitWords } from './argument-habits.js'
import type { KnownArguments } from './settings.js'
import { findingsOf } from './zod-findings.js'

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
function strict<SCHEMA>(schema: SCHEMA): SCHEMA {
  const shape = shapeOf(schema)
  if (shape === undefined) return isOptional(schema) ? (orNothing(schema) as SCHEMA) : schema
  const fields = Object.entries(shape).map(([name, field]) => [name, strict(field)])
  const known = z.strictObject(Object.fromEntries(fields))
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
function forModel<SCHEMA>(words: ToolWords, tool: string, schema: SCHEMA): SCHEMA {
  const known = strict(schema)
  const { _zod: inner } = known as { _zod?: z.core.$ZodTypeInternals }
  if (shapeOf(schema) === undefined || inner === undefined) return known
  inner.toJSONSchema = () => strictSchema(jsonSchemaOf(schema))
  // A model reads one sentence for all that is wrong, and not the list of Zod.
  const check = inner.run.bind(inner)
  inner.run = (payload, context) => {
    const { value } = payload
    const checked = check(payload, context)
    if (checked instanceof Promise || checked.issues.length === 0) return checked
    const message = refusal(words, tool, schema, value, findingsOf(checked.issues, value))
    checked.issues = [{ code: 'custom', message, input: value, path: [], inst: known as z.core.$ZodType }]
    return checked
  }
  return known
}

const refusal = (words: ToolWords, tool: string, schema: unknown, args: unknown, findings: readonly string[]): string =>
  refusalText(words, tool, jsonSchemaOf(schema), args, findings)

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
function refuseUnknown(words: ToolWords, tool: string, schema: unknown, args: unknown): void {
  const findings = unknownIn(schema, args, '')
  if (findings.length > 0) throw refusedArguments(refusal(words, tool, schema, args, findings))
}

function unknownIn(schema: unknown, args: unknown, at: string): string[] {
  const shape = shapeOf(schema)
  if (shape === undefined || typeof args !== 'object' || args === null) return []
  return Object.entries(args).flatMap(([name, value]: [string, unknown]) => {
    const here = `${at}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
    if (!Object.hasOwn(shape, name)) return [`${here}: there is no such property`]
    return typeof value === 'object' ? unknownIn(shape[name], value, here) : []
  })
}

/** The checks of a tool set. @param startsProcesses whether it has `process_start` */
export function knownArguments(startsProcesses: boolean): KnownArguments {
  const words = toolkitWords(startsProcesses)
  return {
    schema: (tool, schema) => forModel(words, tool, schema),
    taken: (schema, args) => taken(schema, args) as typeof args,
    refuse: (tool, schema, args) => refuseUnknown(words, tool, schema, args),
  }
}
