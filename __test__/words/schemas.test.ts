// Schemas as models are offered them. Servers that make a grammar of a schema refuse the whole request for a pattern or an
// enum that they do not know.
import { asSchema } from 'ai'
import { createTools } from 'toolwright'
import { builtInTools } from 'toolwright/contract'
import { describe, expect, test } from 'vitest'
import { strictSchema } from '../../ts/core/optional-arguments.ts'
import { makeSandbox } from '../support/sandbox.ts'
import { openScene } from '../contract/scene.ts'

const withEverything = {
  manifest: { name: 'test', agents: [{ name: 'helper' }], skills: [] },
  host: { webSearch: [{ id: 'p', host: 'example.com', search: () => Promise.resolve([]) }] },
}

async function offeredSchemas(): Promise<Map<string, unknown>> {
  const { session } = await openScene(withEverything)
  const doors = { contract: session.tools, main: createTools({ rootDir: makeSandbox().root }) }
  const schemas = new Map<string, unknown>()
  for (const [door, tools] of Object.entries(doors)) {
    for (const [id, tool] of Object.entries(tools))
      schemas.set(`${door} ${id}`, await asSchema((tool as { inputSchema: never }).inputSchema).jsonSchema)
  }
  return schemas
}

/** Every schema within a schema. */
function* within(schema: unknown): Generator<Record<string, unknown>> {
  if (typeof schema !== 'object' || schema === null) return
  if (!Array.isArray(schema)) yield schema as Record<string, unknown>
  for (const value of Object.values(schema)) yield* within(value)
}

describe('offered schemas', () => {
  test('have patterns that older converters to grammars take', async () => {
    const schemas = await offeredSchemas()
    expect(schemas.size).toBeGreaterThanOrEqual(5 + 11)
    for (const [name, schema] of schemas) {
      for (const { pattern } of within(schema)) {
        if (typeof pattern !== 'string') continue
        expect([name, pattern]).toEqual([name, expect.stringMatching(/^\^.*\$$/su)])
        expect([name, pattern]).toEqual([name, expect.not.stringMatching(/\\[sSwWdDbB]/u)])
      }
    }
  })

  test('name the type of every enum', async () => {
    for (const [name, schema] of await offeredSchemas()) {
      for (const one of within(schema))
        if (Array.isArray(one['enum'])) expect([name, one]).toEqual([name, expect.objectContaining({ type: expect.any(String) })])
    }
  })

  test('are those that calls are checked with, but for patterns and what may be left out', async () => {
    const schemas = await offeredSchemas()
    for (const { id, parameters } of builtInTools) {
      const offered = schemas.get(`contract ${id}`)
      if (offered === undefined) continue
      const bare = JSON.parse(
        JSON.stringify(parameters, (key, value: unknown) => (key === 'pattern' && typeof value === 'string' ? undefined : value)),
      ) as Record<string, unknown>
      expect([id, offered]).toEqual([id, strictSchema(bare)])
    }
    // A property may be called so.
    expect(schemas.get('contract grep')).toHaveProperty('properties.pattern.type', 'string')
  })

  test('calls are checked with the pattern all the same', async () => {
    const { call } = await openScene(withEverything)
    for (const [id, args] of [
      ['bash', { command: ' ' }],
      ['web_search', { query: ' ' }],
      ['read', { path: 'a\0b' }],
    ] as const) {
      expect(await call(id, args)).toMatchObject({ metadata: { code: 'invalid_arguments' } })
    }
  })

  test('the contract’s definitions, as a model reads them', async () => {
    const { session } = await openScene({ ...withEverything, skills: { home: false } })
    const definitions = Object.entries(session.tools).map(async ([id, tool]) => {
      const { properties } = (await asSchema(tool.inputSchema as never).jsonSchema) as {
        properties: Record<string, { description?: string }>
      }
      return [
        id,
        { tool: tool.description, ...Object.fromEntries(Object.entries(properties).map(([name, { description }]) => [name, description])) },
      ] as const
    })
    // What bash says of its shell and of long outputs belongs to the tests of those.
    const { bash: _bash, grep: _grep, ...others } = Object.fromEntries(await Promise.all(definitions))
    const notOffered = builtInTools.filter(({ id }) => !(id in session.tools)).map(({ id, description }) => [id, description])
    expect([others, Object.fromEntries(notOffered)]).toMatchSnapshot()
  })
})
