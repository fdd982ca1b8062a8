import { generateText, jsonSchema, type ToolSet } from 'ai'
import { generateText as generateText6, type ToolSet as ToolSet6 } from 'ai-6'
import { MockLanguageModelV3 } from 'ai-6/test'
import { MockLanguageModelV4 } from 'ai/test'
import fc from 'fast-check'
import { builtInTools, type JsonSchema } from 'toolwright/contract'
import { contractSuite } from 'toolwright/contract/testing'
import { describe, expect, test } from 'vitest'
import { mcpTools, McpToolIds } from '../../../ts/contract/mcp/mcp-tools.ts'
import { envelopeSchema, successSchema } from '../../../ts/contract/registry/output-schema.ts'
import { expectOutput, outputProblems } from '../../support/output-schema.ts'
import { runs } from '../../support/randomised.ts'
import { script } from '../../support/scripted-model.ts'
import { openScene, testTool } from '../scene.ts'

const metadata = { duration_ms: 1, code: 'ok' }
const sdkTool = (outputSchema: JsonSchema) => ({ outputSchema: jsonSchema(outputSchema) })
const envelopesOf = (outputSchema?: JsonSchema) => sdkTool(envelopeSchema({ outputSchema }))

describe('the output schema of a contract tool', () => {
  test.each(builtInTools.map((tool) => [tool.id, tool] as const))('of %s describes an object that has nothing else', (_, tool) => {
    expect(tool.outputSchema).toMatchObject({ type: 'object', additionalProperties: false })
  })

  test('of the AI SDK is that of envelopes, and accepts no other value', async () => {
    const { session, put } = await openScene()
    put('a.txt', 'text')
    const { read } = session.tools
    expect(await outputProblems(read, await session.call('read', { path: 'a.txt' }))).toEqual([])
    expect(await outputProblems(read, await session.call('read', { path: 'none' }))).toEqual([])
    for (const wrong of [
      null,
      'text',
      { type: 'output', data: { content: 'a' } },
      { type: 'output', data: { content: 7 }, metadata },
      { type: 'output', data: { content: 'a', more: 1 }, metadata },
      { type: 'output', data: {}, metadata },
      { type: 'output', data: { content: 'a' }, metadata: { ...metadata, code: 'not_found' } },
      { type: 'error', error_text: 'a', metadata },
      { type: 'error', error_text: 'a', metadata: { ...metadata, code: 'no_such_code' } },
    ]) {
      expect(await outputProblems(read, wrong), JSON.stringify(wrong)).not.toEqual([])
    }
  })

  test('fits every output of random calls', async () => {
    const { session, put } = await openScene({ limits: { outputBytes: 200, readBytes: 100, grepMatches: 3, globEntries: 3 } })
    for (let index = 0; index < 20; index += 1) put(`d/${index}.txt`, 'line\n'.repeat(index * 3))
    const path = fc.constantFrom('d/1.txt', 'd/19.txt', 'd', '.', 'none', '/etc/passwd')
    const calls = fc.oneof(
      fc.tuple(fc.constant('read'), fc.record({ path, offset: fc.nat(400), limit: fc.nat(400) }, { requiredKeys: ['path'] })),
      fc.tuple(fc.constant('grep'), fc.record({ pattern: fc.constantFrom('l', 'x', '(', ''), path }, { requiredKeys: ['pattern'] })),
      fc.tuple(fc.constant('glob'), fc.record({ pattern: fc.constantFrom('*', '**/1*', '[') }, { requiredKeys: ['pattern'] })),
      fc.tuple(fc.constant('write'), fc.record({ path: fc.constantFrom('d/new', 'd'), content: fc.string() })),
      fc.tuple(
        fc.constant('edit'),
        fc.record({ path, old_string: fc.constantFrom('line', 'l'), new_string: fc.string(), replace_all: fc.boolean() }),
      ),
      fc.tuple(fc.constant('bash'), fc.record({ command: fc.constantFrom('true', 'seq 99', 'exit 3', 'kill -9 $$', 'echo é >&2') })),
      fc.tuple(
        fc.constant('todo'),
        fc.record({ todos: fc.array(fc.record({ content: fc.string(), status: fc.constantFrom('pending', 'done') })) }),
      ),
      fc.tuple(fc.constantFrom('question', 'web_fetch', 'tool_search', 'task', 'skill'), fc.object()),
    )
    // The scene checks each of them.
    await fc.assert(
      fc.asyncProperty(calls, async ([id, args]) => void (await session.call(id, args))),
      { numRuns: runs(150) },
    )
  })

  test('of an own tool is kept, with its references where it stands', async () => {
    const outputSchema: JsonSchema = {
      type: 'object',
      properties: { tree: { $ref: '#/definitions/node' } },
      required: ['tree'],
      definitions: { node: { type: 'object', properties: { $ref: { type: 'string' }, child: { $ref: '#/definitions/node' } } } },
    }
    const tree = { $ref: '#/a', child: { child: {} } }
    const tool = testTool('tree', () => ({ tree }), { outputSchema })
    const { session, call } = await openScene({ tools: [tool] })
    await call('tree', {})
    const found = (session.tools as ToolSet)['tree'] as object
    expect(await outputProblems(found, { type: 'output', data: { tree: { child: { child: 7 } } }, metadata })).not.toEqual([])
    // A result that is too long is its beginning.
    await expectOutput(found, { type: 'output', data: { head: '{"tree"' }, metadata: { ...metadata, truncated: true, output_path: '/a' } })
    expect(successSchema(tool)).toMatchObject({ type: 'object' })
    expect(Object.isFrozen(tool)).toBe(true)
  })

  test('of 2020-12 keeps its dialect, and one of another type than object is allowed', async () => {
    const pair = { $schema: 'https://json-schema.org/draft/2020-12/schema', $id: 'pair', type: 'array', prefixItems: [{ type: 'string' }] }
    expect(await outputProblems(envelopesOf(pair), { type: 'output', data: ['a'], metadata })).toEqual([])
    expect(await outputProblems(envelopesOf(pair), { type: 'output', data: [1], metadata })).not.toEqual([])
  })

  test('is not needed: then data can be anything', async () => {
    expect(await outputProblems(envelopesOf(), { type: 'output', data: { x: [1] }, metadata })).toEqual([])
    expect(await outputProblems(envelopesOf(), { type: 'output', metadata })).not.toEqual([])
  })

  test.each([[7], [{ type: 'strin' }], [{ $ref: 'https://example.com/' }], [[]]])('that is %j is refused', (outputSchema) => {
    expect(() => testTool('mine', () => 1, { outputSchema: outputSchema as never })).toThrow('outputSchema must be a JSON Schema')
  })

  test('that an MCP server declares is that of structured_content, unless it cannot be used', async () => {
    const add = { type: 'object', properties: { sum: { $ref: '#/$defs/n' } }, required: ['sum'], $defs: { n: { type: 'number' } } }
    const listed = [add, { type: 'wrong' }, { $ref: 'file:///etc/passwd' }, { description: 'x'.repeat(200_000) }].map(
      (outputSchema, index) => ({
        name: `tool${index}`,
        inputSchema: {},
        outputSchema,
      }),
    )
    const { tools, warnings } = mcpTools('s', listed, new McpToolIds([]))
    expect([tools.length, warnings]).toEqual([4, []])
    const [first, ...others] = tools.map(({ outputSchema }) => envelopesOf(outputSchema))
    const output = (structured_content: unknown) => ({
      type: 'output',
      data: { content: [{ type: 'text', text: 'a' }], structured_content },
      metadata,
    })
    expect(await outputProblems(first as object, output({ sum: 1 }))).toEqual([])
    expect(await outputProblems(first as object, output({ sum: 'a' }))).not.toEqual([])
    for (const other of others) expect(await outputProblems(other, output('anything'))).toEqual([])
  })

  test('is checked by the conformance suite', async () => {
    const verdicts: [string, string][] = []
    const waiting: Promise<void>[] = []
    const runner = {
      describe: (_: string, define: () => void) => define(),
      test: (name: string, run: () => Promise<void>) => {
        if (name.includes('outputSchema'))
          waiting.push(
            run().then(
              () => void verdicts.push([name, 'ok']),
              () => void verdicts.push([name, 'failed']),
            ),
          )
      },
    }
    const of = (id: string, result: unknown) => testTool(id, () => result, { outputSchema: { type: 'number' } })
    contractSuite(runner, { name: 'x', tools: [of('right', 1), of('wrong', 'a'), testTool('silent', () => 1)] })
    await Promise.all(waiting)
    expect(verdicts).toEqual([
      ['right gives results that fit its outputSchema', 'ok'],
      ['wrong gives results that fit its outputSchema', 'failed'],
    ])
  })

  test('is not sent to the model, nor is metadata', async () => {
    const { session } = await openScene({ tools: [testTool('mine', () => 1, { outputSchema: { title: 'SECRET_TITLE' } })] })
    const model = new MockLanguageModelV4({ doGenerate: script('done') })
    await generateText({ model, tools: session.tools, prompt: 'go' })
    const model6 = new MockLanguageModelV3({ doGenerate: script('done') })
    await generateText6({ model: model6, tools: session.tools as unknown as ToolSet6, prompt: 'go' })
    for (const { doGenerateCalls: calls } of [model, model6]) {
      for (const tool of calls[0]?.tools ?? [])
        expect(['description', 'inputSchema', 'name', 'providerOptions', 'type']).toEqual(expect.arrayContaining(Object.keys(tool)))
      expect(JSON.stringify(calls)).not.toMatch(/SECRET_TITLE|outputSchema|duration_ms|sideEffect/u)
    }
  })
})

test('metadata of a tool says in JSON what a call may do, and comes with each call', async () => {
  const { session } = await openScene({ tools: [testTool('mine', () => 1, { sideEffect: true })] })
  const of = (id: string) => (session.tools as ToolSet)[id]?.metadata?.['toolwright']
  expect([of('read'), of('bash'), of('mine')]).toEqual([
    { sideEffect: false, idempotent: true },
    { sideEffect: true, idempotent: false },
    { sideEffect: true, idempotent: false },
  ])
  const model = new MockLanguageModelV4({ doGenerate: script([{ tool: 'mine', input: {} }]) })
  const { toolCalls, toolResults } = await generateText({ model, tools: session.tools as ToolSet, prompt: 'go' })
  expect([toolCalls[0]?.toolMetadata, toolResults[0]?.toolMetadata]).toMatchObject([
    { toolwright: { sideEffect: true, idempotent: false } },
    { toolwright: { sideEffect: true, idempotent: false } },
  ])
})
