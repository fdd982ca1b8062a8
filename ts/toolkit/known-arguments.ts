/** Arguments that a built-in tool does not have are refused, and not dropped: the model meant something by them. */
import { z } from 'zod'
import { invalid } from '../core/options.js'
import { printable } from '../core/printable.js'
import { nearestName } from '../core/text.js'
import type { KnownArguments } from './settings.js'

/** Longer names of arguments are cut. */
const MAX_NAME_LENGTH = 100
const MAX_NAMED = 10

/** The fields of an object, or nothing for any other schema. */
function shapeOf(schema: unknown): Readonly<Record<string, z.ZodType>> | undefined {
  const inner = schema instanceof z.ZodOptional ? schema.unwrap() : schema
  return inner instanceof z.ZodObject ? inner.shape : undefined
}

/** The same schema, which takes no other arguments. A schema of another library checks its arguments itself. */
function strict<SCHEMA>(tool: string, schema: SCHEMA, at = ''): SCHEMA {
  const shape = shapeOf(schema)
  if (shape === undefined) return schema
  const fields = Object.entries(shape).map(([name, field]) => [name, strict(tool, field, `${at}/${name}`)])
  const error = (issue: { code?: string; keys?: unknown }): string | undefined =>
    issue.code === 'unrecognized_keys' && Array.isArray(issue.keys)
      ? refusal(tool, at, issue.keys.map(String), Object.keys(shape))
      : undefined
  const known = z.strictObject(Object.fromEntries(fields), { error })
  return described(schema as z.ZodType, schema instanceof z.ZodOptional ? known.optional() : known) as SCHEMA
}

/** A model reads the description of each argument, and a schema that is made from another one has none. */
function described(from: z.ZodType, to: z.ZodType): z.ZodType {
  return from.description === undefined ? to : to.describe(from.description)
}

/** The same for a call that no schema has checked. @throws {ToolError} INVALID_INPUT */
function refuseUnknown(tool: string, schema: unknown, args: unknown, at = ''): void {
  const shape = shapeOf(schema)
  if (shape === undefined || typeof args !== 'object' || args === null) return
  const names = Object.keys(args).filter((name) => !Object.hasOwn(shape, name))
  if (names.length > 0) throw invalid(refusal(tool, at, names, Object.keys(shape)))
  for (const [name, field] of Object.entries(shape)) {
    refuseUnknown(tool, field, (args as Readonly<Record<string, unknown>>)[name], `${at}/${name}`)
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
  schema: (tool, schema) => strict(tool, schema),
  refuse: (tool, schema, args) => refuseUnknown(tool, schema, args),
}
