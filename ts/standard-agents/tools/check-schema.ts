import { toolTypeError } from '../../core/errors.js'
import type { z } from 'zod/v4'
import { toJSONSchema } from 'zod/v4/core'

/** How many collections may be inside one another. */
const MAX_LEVELS = 7

/** What every schema of Zod 4 says of itself, in every copy of Zod. */
type Def = { type: string } & Record<string, unknown>

const plain = new Set(['string', 'number', 'boolean', 'null', 'enum'])
const wrappers = new Set(['optional', 'nullable', 'default'])
const collections = new Set(['array', 'object', 'record', 'union'])

/**
 * Checks at run time what `ToolArgsNode` has the compiler check.
 *
 * @param root `args` or `tenvs`: where a path begins
 * @throws {TypeError} with the path and the reason.
 */
export function checkSchema(schema: unknown, root: 'args' | 'tenvs'): asserts schema is z.ZodObject {
  const def = defOf(schema)
  if (def?.type !== 'object') throw toolTypeError(`${root}: must be a Zod 4 object, z.object({ … })${ofZod3(schema)}`)
  checkFields(def, root, 0)
  try {
    toJSONSchema(schema as z.ZodObject, { io: 'input' })
  } catch (error) {
    throw toolTypeError(`${root}: has no JSON Schema: ${error instanceof Error ? error.message : String(error)}`, error)
  }
}

function checkNode(schema: unknown, path: string, level: number): void {
  const def = defOf(schema)
  if (def === undefined) throw toolTypeError(`${path}: must be a Zod 4 schema${ofZod3(schema)}`)
  if (plain.has(def.type)) return
  if (wrappers.has(def.type)) return checkNode(def['innerType'], path, level)
  if (def.type === 'literal') return checkLiteral(def, path)
  if (!collections.has(def.type)) throw toolTypeError(`${path}: unsupported Zod type "${def.type}"`)
  const below = level + 1
  if (below > MAX_LEVELS) throw toolTypeError(`${path}: nested more than ${MAX_LEVELS} levels deep`)
  if (def.type === 'array') return checkNode(def['element'], `${path}[]`, below)
  if (def.type === 'object') return checkFields(def, path, below)
  if (def.type === 'record') {
    const key = defOf(def['keyType'])?.type
    if (key !== 'string') throw toolTypeError(`${path}: the keys of a record must be z.string(), not "${key}"`)
    return checkNode(def['valueType'], `${path}.*`, below)
  }
  for (const [index, option] of (def['options'] as unknown[]).entries()) checkNode(option, `${path}|${index}`, below)
}

function checkFields(def: Def, path: string, level: number): void {
  for (const [name, field] of Object.entries(def['shape'] as object)) checkNode(field, `${path}.${name}`, level)
  const rest = defOf(def['catchall'])
  // Those of strict and of loose objects are Zod's own.
  if (rest !== undefined && rest.type !== 'never' && rest.type !== 'unknown') checkNode(def['catchall'], `${path}.*`, level)
}

function checkLiteral(def: Def, path: string): void {
  for (const value of def['values'] as unknown[]) {
    if (value !== null && !['string', 'number', 'boolean'].includes(typeof value)) {
      throw toolTypeError(`${path}: unsupported literal of type "${typeof value}"`)
    }
  }
}

/** The remedy for a schema of Zod 3. `zod` 3.25 has both majors, and exports the older one by its plain name. */
function ofZod3(schema: unknown): string {
  const name = (schema as { _def?: { typeName?: unknown } } | null | undefined)?.['_def']?.typeName
  if (typeof name !== 'string') return ''
  return "; this is one of Zod 3: write import { z } from 'zod/v4', which zod 3.25 has too"
}

function defOf(schema: unknown): Def | undefined {
  const def = (schema as { _zod?: { def?: unknown } } | null | undefined)?.['_zod']?.def
  return typeof def === 'object' && def !== null && typeof (def as Def).type === 'string' ? (def as Def) : undefined
}
