import fc from 'fast-check'
import { defineTool, type ToolDefinition } from 'toolwright/standard-agents'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { z as zod4OfZod3 } from 'zod-3/v4'
import { z as zod3 } from 'zod-3'

const done = async () => ({ status: 'success' as const })
/** Defines a tool with what TypeScript would refuse. */
const define = (options: any): ToolDefinition => defineTool(options)
const withArgs = (args: unknown) => () => define({ description: 'd', args, execute: done })
const field = (a: unknown) => withArgs(z.object({ a: a as z.ZodString }))

describe('what defineTool gives', () => {
  test('R1 the options, with null for arguments and variables that were left out', () => {
    const execute = done
    expect(defineTool({ description: 'd', execute })).toEqual({
      description: 'd',
      args: null,
      execute,
      tenvs: null,
      executionMode: undefined,
      executionProvider: undefined,
    })
    const args = z.object({ a: z.string() })
    const tenvs = z.object({ b: z.string() })
    const tool = defineTool({ description: 'd', args, execute, tenvs, executionMode: 'provider', executionProvider: 'openai' })
    expect(tool).toEqual({ description: 'd', args, execute, tenvs, executionMode: 'provider', executionProvider: 'openai' })
    expect(tool.args).toBe(args)
    expect(Object.keys(tool)).toEqual(['description', 'args', 'execute', 'tenvs', 'executionMode', 'executionProvider'])
  })

  test('R2 an execution mode that was left out stays undefined', () => {
    expect(defineTool({ description: 'd', execute: done }).executionMode).toBeUndefined()
    expect(defineTool({ description: 'd', execute: done, executionMode: 'local' }).executionMode).toBe('local')
  })

  test.each([
    ['an empty description', { description: '' }, /description must be a non-empty string/u],
    ['a blank description', { description: ' \n' }, /description must be a non-empty string/u],
    ['a description that is no string', { description: 5 }, /description must be a non-empty string/u],
    ['no execute', { execute: undefined }, /execute must be a function/u],
    ['an execute that is no function', { execute: {} }, /execute must be a function/u],
    ['arguments that are no object', { args: z.string() }, /^args: must be a Zod 4 object/u],
    ['arguments that are no schema', { args: { a: z.string() } }, /^args: must be a Zod 4 object/u],
    ['arguments by Zod 3', { args: zod3.object({ a: zod3.string() }) }, /^args: must be a Zod 4 object.*import \{ z \} from 'zod\/v4'/u],
    ['a field by Zod 3', { args: z.object({ a: zod3.string() as never }) }, /^args\.a: must be a Zod 4 schema.*'zod\/v4'/u],
    ['an optional object', { args: z.object({}).optional() }, /^args: must be a Zod 4 object/u],
    ['variables that are no object', { tenvs: z.array(z.string()) }, /^tenvs: must be a Zod 4 object/u],
    ['an unknown mode', { executionMode: 'remote' }, /executionMode must be "local" or "provider", not "remote"/u],
    ['a provider that is no string', { executionProvider: 5 }, /executionProvider must be a non-empty string/u],
  ])('R3 refuses %s', (_, wrong, message) => {
    const options = { description: 'd', execute: done, ...wrong }
    expect(() => define(options)).toThrow(TypeError)
    expect(() => define(options)).toThrow(message)
  })

  test.each([[undefined], [null], ['x'], [5]])('R3 refuses options that are %j', (options) => {
    expect(() => define(options)).toThrow(TypeError)
  })

  test('R3 names the path of what is not supported', () => {
    expect(withArgs(z.object({ filter: z.object({ when: z.date() }) }))).toThrow('args.filter.when: unsupported Zod type "date"')
    expect(withArgs(z.object({ a: z.array(z.object({ b: z.union([z.string(), z.bigint()]) })) }))).toThrow(
      'args.a[].b|1: unsupported Zod type "bigint"',
    )
    expect(() => define({ description: 'd', execute: done, tenvs: z.object({ a: z.record(z.string(), z.any()) }) })).toThrow(
      'tenvs.a.*: unsupported Zod type "any"',
    )
  })

  test('R21 a provider tool without a provider is accepted, with one warning', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    const tool = defineTool({ description: 'find things', execute: done, executionMode: 'provider' })
    expect(tool.executionProvider).toBeUndefined()
    expect(warn).toHaveBeenCalledTimes(1)
    expect(warn.mock.calls[0]?.[0]).toContain('find things')
    warn.mockRestore()
  })
})

describe('R6 supported types', () => {
  const s = z.string()
  test.each([
    ['string', s],
    ['a refined string', s.min(1).max(5).trim().regex(/a/u)],
    ['a format', z.email()],
    ['number', z.number().positive()],
    ['int', z.int()],
    ['boolean', z.boolean()],
    ['null', z.null()],
    ['literal', z.literal('a')],
    ['literals', z.literal(['a', 1, true, null])],
    ['enum', z.enum(['a', 'b'])],
    ['native enum', z.enum({ A: 1, B: 'b' } as const)],
    ['optional', s.optional()],
    ['nullable', s.nullable()],
    ['default', s.default('a')],
    ['optional default', s.optional().default('a')],
    ['array', z.array(s)],
    ['object', z.object({ b: s })],
    ['strict object', z.strictObject({ b: s })],
    ['loose object', z.looseObject({ b: s })],
    ['record', z.record(s, z.number())],
    ['union', z.union([s, z.null()])],
    ['discriminated union', z.discriminatedUnion('k', [z.object({ k: z.literal('a') }), z.object({ k: z.literal('b') })])],
    ['a refinement of an object', z.object({ b: s }).refine(() => true)],
  ])('accepts %s', (_, schema) => {
    expect(field(schema)).not.toThrow()
  })

  test.each([
    ['date', z.date(), 'date'],
    ['transform', s.transform((text) => text.length), 'pipe'],
    ['pipe', s.pipe(z.string()), 'pipe'],
    ['preprocess', z.preprocess((value) => value, s), 'pipe'],
    ['lazy', z.lazy(() => s), 'lazy'],
    ['tuple', z.tuple([s]), 'tuple'],
    ['any', z.any(), 'any'],
    ['unknown', z.unknown(), 'unknown'],
    ['never', z.never(), 'never'],
    ['undefined', z.undefined(), 'undefined'],
    ['bigint', z.bigint(), 'bigint'],
    ['symbol', z.symbol(), 'symbol'],
    ['map', z.map(s, s), 'map'],
    ['set', z.set(s), 'set'],
    ['intersection', z.intersection(z.object({}), z.object({})), 'intersection'],
    ['readonly', s.readonly(), 'readonly'],
    ['catch', s.catch('a'), 'catch'],
    ['prefault', s.prefault('a'), 'prefault'],
    ['custom', z.custom(() => true), 'custom'],
    ['promise', z.promise(s), 'promise'],
    ['file', z.file(), 'file'],
  ])('refuses %s', (_, schema, type) => {
    expect(field(schema)).toThrow(`args.a: unsupported Zod type "${type}"`)
    expect(field(z.array(schema as z.ZodType))).toThrow(`args.a[]: unsupported Zod type "${type}"`)
  })

  test('refuses literals that JSON has not, records with other keys, and what is no schema', () => {
    expect(field(z.literal(1n))).toThrow('args.a: unsupported literal of type "bigint"')
    expect(field(z.literal(undefined))).toThrow('args.a: unsupported literal of type "undefined"')
    expect(field(z.record(z.enum(['a']), s))).toThrow('args.a: the keys of a record must be z.string(), not "enum"')
    expect(field(zod3.string())).toThrow('args.a: must be a Zod 4 schema')
    expect(field(undefined)).toThrow(TypeError)
    expect(withArgs(z.object({ a: s }).catchall(z.date()))).toThrow('args.*: unsupported Zod type "date"')
  })

  test('accepts Zod 4 of a Zod 3 package', () => {
    expect(withArgs(zod4OfZod3.object({ a: zod4OfZod3.array(zod4OfZod3.string().default('x')) }))).not.toThrow()
    expect(withArgs(zod4OfZod3.object({ a: zod4OfZod3.date() }))).toThrow('unsupported Zod type "date"')
  })
})

describe('R7 seven levels', () => {
  /** A schema of `levels` collections around a string, with wrappers between them. */
  const nested = (kinds: ('array' | 'object' | 'record' | 'union')[], wrap: (schema: z.ZodType) => z.ZodType): z.ZodType => {
    let schema: z.ZodType = wrap(z.string())
    for (const kind of kinds) {
      if (kind === 'array') schema = wrap(z.array(schema))
      if (kind === 'object') schema = wrap(z.object({ a: schema }))
      if (kind === 'record') schema = wrap(z.record(z.string(), schema))
      if (kind === 'union') schema = wrap(z.union([schema, z.null()]))
    }
    return schema
  }
  const wrappers: ((schema: z.ZodType) => z.ZodType)[] = [
    (schema) => schema,
    (schema) => schema.optional(),
    (schema) => schema.nullable().optional(),
    (schema) => schema.optional().nullable().optional(),
  ]

  test('seven are accepted and eight are refused, with the path', () => {
    const seven = nested(Array(7).fill('array'), (schema) => schema)
    expect(field(seven)).not.toThrow()
    expect(field(z.array(seven))).toThrow('args.a[][][][][][][]: nested more than 7 levels deep')
  })

  test('collections count, wrappers do not, whatever they are (law)', () => {
    const kind = fc.constantFrom('array' as const, 'object' as const, 'record' as const, 'union' as const)
    fc.assert(
      fc.property(fc.array(kind, { maxLength: 10 }), fc.constantFrom(...wrappers), (kinds, wrap) => {
        const make = field(nested(kinds, wrap))
        if (kinds.length <= 7) expect(make).not.toThrow()
        else expect(make).toThrow('nested more than 7 levels deep')
      }),
    )
  })

  test('a schema that has itself as a part is refused', () => {
    const tree: z.ZodType = z.object({
      get left() {
        return tree.optional()
      },
      name: z.string(),
    }) as never
    expect(field(tree)).toThrow('nested more than 7 levels deep')
  })
})
