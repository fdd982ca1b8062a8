// The same smoke test with AI SDK 6 and its own mocks.
import { asSchema, generateText, jsonSchema, stepCountIs, ToolLoopAgent, type ToolSet } from 'ai-6'
import { MockLanguageModelV3 } from 'ai-6/test'
import { createTools, defineTool, tools, type ToolCallRecord } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { z as zod3 } from 'zod-3'
import { makeSandbox } from '../../support/sandbox.ts'
import { script, seenBy } from '../../support/scripted-model.ts'

/** In an application there is one AI SDK; here our types come from the other. */
const asToolSet = (set: object): ToolSet => set as ToolSet

describe('AI SDK 6', () => {
  test('ToolLoopAgent: results and errors as the model sees them, several calls in a step', async () => {
    const fixture = makeSandbox()
    const records: ToolCallRecord[] = []
    const model = new MockLanguageModelV3({
      doGenerate: script(
        [{ tool: 'write', input: { path: 'a', content: 'x\n' }, id: 'w' }],
        [
          { tool: 'read', input: { path: 'a' } },
          { tool: 'read', input: { path: '../a' } },
          { tool: 'grep', input: { pattern: 'x' } },
          { tool: 'bash', input: { cmd: 'cat', args: ['a'] } },
          { tool: 'edit', input: { path: 'a', patch: '@@ -1 +1 @@\n-z\n+y\n' } },
        ],
        'done',
      ),
    })
    const agent = new ToolLoopAgent({ model, tools: asToolSet(tools) })
    const { text } = await fixture.within(() => agent.generate({ prompt: 'go' }), {
      recordToolCall: (record) => records.push(record),
    })
    expect(text).toBe('done')
    const seen = seenBy(model)
    expect(seen.map(({ toolName, output }) => [toolName, output.type])).toEqual([
      ['write', 'text'],
      ['read', 'text'],
      ['read', 'error-text'],
      ['grep', 'text'],
      ['bash', 'text'],
      ['edit', 'error-text'],
    ])
    expect(seen[2]?.output.value).toMatch(/^Path escapes sandbox root.*\[TOOL_PATH_ESCAPE\] ./u)
    expect(seen[3]?.output.value).toBe('a:1:x\n')
    expect(records[0]).toMatchObject({ phase: 'started', toolName: 'write', toolCallId: 'w' })
  })

  test('generateText, abortSignal', async () => {
    const fixture = makeSandbox()
    const model = new MockLanguageModelV3({
      doGenerate: script([{ tool: 'bash', input: { cmd: 'sleep', args: ['30'] } }], 'done'),
    })
    const controller = new AbortController()
    setTimeout(() => controller.abort(), 200)
    const at = performance.now()
    const run = generateText({
      model,
      tools: asToolSet(createTools({ rootDir: fixture.root })),
      prompt: 'go',
      stopWhen: stepCountIs(3),
      abortSignal: controller.signal,
    })
    await run.catch((error: unknown) => expect((error as Error).name).toBe('AbortError'))
    expect(performance.now() - at).toBeLessThan(5_000)
  })

  const schemas = {
    'zod 4': z.object({ word: z.string() }),
    'zod 3': zod3.object({ word: zod3.string() }),
    'jsonSchema()': jsonSchema<{ word: string }>({
      type: 'object',
      properties: { word: { type: 'string' } },
      required: ['word'],
      additionalProperties: false,
    }),
  }
  test.each(Object.entries(schemas))('defineTool with a schema of %s', async (_name, schema) => {
    const shout = defineTool({
      name: 'shout',
      schema: schema as z.ZodType<{ word: string }>,
      execute: ({ word }, ctx) => `${word.toUpperCase()} ${ctx.toolCallId}`,
    })
    expect(await asSchema(schema as never).jsonSchema).toMatchObject({ required: ['word'] })
    const model = new MockLanguageModelV3({
      doGenerate: script([{ tool: 'shout', input: { word: 'hey' }, id: 'c1' }], 'done'),
    })
    await new ToolLoopAgent({ model, tools: asToolSet({ shout }) }).generate({ prompt: 'go' })
    expect(seenBy(model)[0]?.output).toEqual({ type: 'text', value: 'HEY c1' })
  })
})
