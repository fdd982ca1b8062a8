import { asSchema, generateText, ToolLoopAgent, type ToolSet } from 'ai'
import { generateText as generateText6, type ToolSet as ToolSet6 } from 'ai-6'
import { MockLanguageModelV3 } from 'ai-6/test'
import { MockLanguageModelV4 } from 'ai/test'
import * as documented from 'toolwright/tools'
import { createTools, defineTool } from 'toolwright'
import { defineTool as defineThreadTool } from 'toolwright/standard-agents'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { openThread } from '../standard-agents/support.ts'
import { expectOutput, outputProblems } from '../support/output-schema.ts'
import { makeSandbox } from '../support/sandbox.ts'
import { script } from '../support/scripted-model.ts'

const rows = defineTool({
  name: 'rows',
  description: 'Give rows.',
  schema: z.object({}),
  outputSchema: z.object({ rows: z.array(z.string()) }),
  execute: () => ({ rows: ['a'] }),
})

describe('the output schema', () => {
  test('of built-in tools is that of what they return', async () => {
    const { root, put } = makeSandbox()
    put('a.txt', 'one\n')
    const { read, write, edit, grep, bash, glob } = createTools({ rootDir: root })
    await expectOutput(read, await read.execute({ path: 'a.txt' }))
    await expectOutput(write, await write.execute({ path: 'b.txt', content: '' }))
    await expectOutput(edit, await edit.execute({ path: 'a.txt', patch: '--- a\n+++ a\n@@ -1 +1 @@\n-one\n+two\n' }))
    await expectOutput(grep, await grep.execute({ pattern: 'none' }))
    await expectOutput(bash, await bash.execute({ cmd: 'true' }))
    await expectOutput(glob, await glob.execute({ pattern: '*' }))
    expect(await outputProblems(write, 'fine')).not.toEqual([])
    expect(await outputProblems(read, { content: '' })).not.toEqual([])
    const streaming = createTools({ rootDir: root, streamOutput: true })
    for await (const output of streaming.bash.execute({ cmd: 'echo', args: ['a'] })) await expectOutput(streaming.bash, output)
    for (const tool of Object.values(documented.tools))
      expect(await asSchema(tool.outputSchema).jsonSchema).toMatchObject({ type: 'string' })
  })

  test('of own tools is what they declare, and its absence is none', async () => {
    await expectOutput(rows, await rows.execute({}))
    expect(await outputProblems(rows, { rows: [1] })).not.toEqual([])
    expect(defineTool({ name: 'plain', schema: z.object({}), execute: () => 1 })).not.toHaveProperty('outputSchema')
    // @ts-expect-error -- what it returns is no number
    defineTool({ name: 'wrong', schema: z.object({}), outputSchema: z.number(), execute: () => 'text' })
    defineTool({
      name: 'yields',
      schema: z.object({}),
      outputSchema: z.number(),
      async *execute() {
        yield 1
      },
    })
  })

  test('of tools of a thread is that of their results', async () => {
    const execute = async (_: unknown, { fails }: { fails: boolean }) =>
      fails ? { status: 'error' as const, error: 'no', stack: 'at a' } : { status: 'success' as const, result: 'a' }
    const mine = defineThreadTool({ description: 'x', args: z.object({ fails: z.boolean() }), execute })
    const thread = await openThread({ mine })
    const { mine: tool } = thread.tools() as Record<string, { execute(input: unknown, options: object): Promise<unknown> }>
    for (const fails of [true, false]) await expectOutput(tool as object, await tool?.execute({ fails }, {}))
    expect(await outputProblems(tool as object, { status: 'fine' })).not.toEqual([])
  })

  test('is not sent to the model, nor is metadata', async () => {
    const tools = { ...createTools({ rootDir: makeSandbox().root }), rows }
    const model = new MockLanguageModelV4({ doGenerate: script('done') })
    await generateText({ model, tools, prompt: 'go' })
    const model6 = new MockLanguageModelV3({ doGenerate: script('done') })
    await generateText6({ model: model6, tools: tools as unknown as ToolSet6, prompt: 'go' })
    for (const { doGenerateCalls: calls } of [model, model6]) {
      for (const tool of calls[0]?.tools ?? []) {
        expect(['description', 'inputSchema', 'name', 'providerOptions', 'type']).toEqual(expect.arrayContaining(Object.keys(tool)))
      }
      expect(JSON.stringify(calls)).not.toMatch(/outputSchema|sideEffect|in the order of arrival/u)
    }
  })
})

test('metadata of a tool comes with each of its calls', async () => {
  const tools: ToolSet = { ...createTools({ rootDir: makeSandbox().root }), rows }
  const of = (name: string) => tools[name]?.metadata
  expect([of('read'), of('bash'), of('rows'), documented.write.metadata]).toEqual([
    { toolwright: { sideEffect: false, idempotent: true } },
    { toolwright: { sideEffect: true, idempotent: false } },
    { toolwright: { sideEffect: false, idempotent: true } },
    { toolwright: { sideEffect: true, idempotent: false } },
  ])
  const model = new MockLanguageModelV4({ doGenerate: script([{ tool: 'rows', input: {} }], 'done') })
  const { steps } = await new ToolLoopAgent({ model, tools }).generate({ prompt: 'go' })
  expect(steps[0]?.toolCalls[0]?.toolMetadata).toEqual({ toolwright: { sideEffect: false, idempotent: true } })
})
