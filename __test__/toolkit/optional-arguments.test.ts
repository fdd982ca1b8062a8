/** Optional arguments that say nothing, as models send them in the strict mode of OpenAI. */
import { asSchema as asSchema7 } from 'ai'
import { asSchema as asSchema6 } from 'ai-6'
import fc from 'fast-check'
import { createTools } from 'toolwright'
import { createSession } from 'toolwright/contract'
import { tools as documented } from 'toolwright/tools'
import { describe, expect, onTestFinished, test } from 'vitest'
import { strictSchema, withoutAbsent } from '../../ts/core/optional-arguments.ts'
import { runs, seed } from '../support/randomised.ts'
import { makeSandbox } from '../support/sandbox.ts'

type Schema = Record<string, unknown>
type AnyTool = { inputSchema: unknown; execute: (args: object, options?: object) => Promise<unknown> }

/** What is wrong with a schema in the strict mode of OpenAI. */
function wrongOf(schema: unknown, at = ''): string[] {
  if (Array.isArray(schema)) return schema.flatMap((one, index) => wrongOf(one, `${at}/${index}`))
  if (typeof schema !== 'object' || schema === null) return []
  const { type, properties, required, additionalProperties } = schema as Schema
  const isObject = [type].flat().includes('object') || properties !== undefined
  const names = Object.keys((properties ?? {}) as object)
  const problems = isObject && additionalProperties !== false ? [`${at}: takes others`] : []
  const missing = isObject ? names.filter((name) => !((required ?? []) as string[]).includes(name)) : []
  problems.push(...missing.map((name) => `${at}/${name}: is not required`))
  for (const keyword of ['allOf', 'not', 'if', 'dependentRequired', 'patternProperties', 'oneOf']) {
    if (keyword in schema) problems.push(`${at}: has ${keyword}`)
  }
  const inner = [...Object.entries((properties ?? {}) as Schema), ...['items', 'anyOf'].map((name) => [name, (schema as Schema)[name]])]
  return [...problems, ...inner.flatMap(([name, one]) => wrongOf(one, `${at}/${String(name)}`))]
}

describe('createTools', () => {
  const scene = () => {
    const box = makeSandbox()
    box.put('a.txt', 'one\ntwo\n')
    box.put('src/b.txt', 'two\n')
    const tools = createTools({
      rootDir: box.root,
      extraTools: ['apply_patch'],
      processes: true,
      onGrant: async () => 'reject_once' as const,
    })
    onTestFinished(() => tools[Symbol.asyncDispose]())
    return { box, tools: tools as unknown as Record<string, AnyTool> }
  }

  test('schemas are valid in the strict mode, for both majors of the AI SDK', async () => {
    const { tools } = scene()
    for (const asSchema of [asSchema6, asSchema7]) {
      for (const [name, { inputSchema }] of Object.entries(tools)) {
        expect(wrongOf(await asSchema(inputSchema as never).jsonSchema), name).toEqual([])
      }
    }
  })

  test.each([
    ['read', { path: 'a.txt', offset: null, limit: null }, 'one\ntwo\n'],
    ['read', { path: 'a.txt', offset: 0, limit: 0 }, 'one\ntwo\n'],
    ['read', { path: 'a.txt', offset: 2, limit: null }, 'two\n'],
    ['grep', { pattern: 'two', path: null }, 'a.txt:2:two\nsrc/b.txt:1:two\n'],
    ['grep', { pattern: 'two', path: '' }, 'a.txt:2:two\nsrc/b.txt:1:two\n'],
    ['bash', { cmd: 'echo', args: ['x'], opts: null, grant: null }, 'x\n'],
    ['bash', { cmd: 'echo', args: null, opts: { cwd: '' } }, '\n'],
    ['bash', { cmd: 'echo', opts: { cwd: null } }, '\n'],
  ] as const)('%s takes %j', async (name, args, result) => {
    const { tools } = scene()
    const tool = tools[name] as AnyTool
    const { validate } = asSchema7(tool.inputSchema as never)
    const checked = (await validate?.(args)) as { success: boolean; value: object }
    expect(checked.success).toBe(true)
    expect(await tool.execute(checked.value)).toBe(result)
    // And so does a caller that checks nothing.
    expect(await tool.execute(args)).toBe(result)
  })

  test('processes take it too', async () => {
    const { tools } = scene()
    const started = { command: 'cat', workdir: '', terminal: null, wait_ms: null, description: null }
    expect(await tools['process_start']?.execute(started)).toMatchObject({ running: true })
    const read = { process_id: 'p1', from: null, stream: null, max_bytes: 0, wait_ms: 0 }
    expect(await tools['process_read']?.execute(read)).toMatchObject({ process_id: 'p1' })
  })

  test('what is needed stays needed', async () => {
    const { tools } = scene()
    await expect(tools['read']?.execute({ path: null })).rejects.toMatchObject({ code: 'TOOL_PATH_INVALID' })
    await expect(tools['read']?.execute({ path: '' })).rejects.toMatchObject({ code: 'TOOL_PATH_INVALID', message: /empty/u })
    expect(await tools['write']?.execute({ path: 'empty.txt', content: '' })).toBe('ok')
  })

  test('the tools of the documents keep their schemas', async () => {
    const { jsonSchema } = asSchema7(documented.grep.inputSchema as never)
    expect(((await jsonSchema) as Schema)['required']).toEqual(['pattern'])
  })
})

describe('a session', () => {
  test('takes what says nothing, and its schemas are valid in the strict mode', async () => {
    const box = makeSandbox()
    box.put('a.txt', 'one\n')
    const session = await createSession({
      workspace: box.root,
      manifest: { name: 'x' },
      host: { prompt: async () => 'allow_once' as const },
    })
    onTestFinished(() => session.close())
    for (const [name, tool] of Object.entries(session.tools)) {
      expect(wrongOf(await asSchema7(tool.inputSchema as never).jsonSchema), name).toEqual([])
    }
    for (const [id, args] of [
      ['read', { path: 'a.txt', offset: null, limit: 0 }],
      ['grep', { pattern: 'one', path: '', include: null }],
      ['glob', { pattern: '*', path: '' }],
      ['bash', { command: 'echo x', workdir: '', timeout_ms: 0, description: null }],
    ] as const) {
      const { properties } = await schemaOf(session.tools[id])
      const known = Object.entries(args).filter(([name]) => name in (properties as object))
      expect(await session.call(id, Object.fromEntries(known)), id).toMatchObject({ type: 'output' })
    }
  })

  test('an empty path has words of its own', async () => {
    const box = makeSandbox()
    const session = await createSession({
      workspace: box.root,
      manifest: { name: 'x' },
      host: { prompt: async () => 'allow_once' as const },
    })
    onTestFinished(() => session.close())
    const texts = await Promise.all(
      [
        ['read', { path: '' }],
        ['write', { path: '', content: 'x' }],
        ['edit', { path: '', old_string: 'a', new_string: 'b' }],
      ].map(async ([id, args]) => (await session.call(id as string, args)) as { error_text?: string }),
    )
    expect(texts.map(({ error_text }) => error_text)).toMatchSnapshot()
  })
})

async function schemaOf(tool: unknown): Promise<Schema> {
  return (await asSchema7((tool as AnyTool).inputSchema as never).jsonSchema) as Schema
}

describe('the law', () => {
  const field = fc.constantFrom<Schema>(
    { type: 'string' },
    { type: 'string', minLength: 1 },
    { type: 'integer', minimum: 1 },
    { type: 'integer', minimum: 0 },
    { type: ['string', 'null'] },
    { type: 'boolean' },
    { enum: ['a', 'b'] },
    { type: 'array', items: { type: 'object', properties: { x: { type: 'string', minLength: 1 } } } },
    {},
  )
  const schema = fc
    .record({ a: field, b: field, c: field })
    .chain((properties) =>
      fc.subarray(['a', 'b', 'c']).map((required) => ({ type: 'object', properties, required, additionalProperties: false })),
    )
  const value = fc.constantFrom<unknown>(null, '', 0, 'a', 1, true, [{ x: '' }], [{ x: 'y' }, null])
  const args = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), value)

  test('only optional arguments go, only those three values, and once is enough', () => {
    fc.assert(
      fc.property(schema, args, (of, given) => {
        const before = JSON.stringify(given)
        const taken = withoutAbsent(of, given) as Record<string, unknown>
        expect(JSON.stringify(given)).toBe(before)
        for (const name of Object.keys(given)) {
          if (Object.hasOwn(taken, name)) continue
          expect(of.required).not.toContain(name)
          expect([null, '', 0]).toContain(given[name])
        }
        expect(withoutAbsent(of, taken)).toBe(taken)
        expect(wrongOf({ ...strictSchema(of) }).filter((one) => one.includes('not required') && !one.includes('items'))).toEqual([])
      }),
      { seed, numRuns: runs(300) },
    )
  })
})
