import { asSchema, generateText, isStepCount, jsonSchema, ToolLoopAgent, type FlexibleSchema, type ToolSet } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { createTools, defineTool, getToolContext, tools, type DefinedToolContext, type ToolCallRecord } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { z as zod3 } from 'zod-3'
import { makeSandbox } from '../../support/sandbox.ts'
import { script, seenBy, type Turn } from '../../support/scripted-model.ts'

/** Lets a scripted agent run, and gives what its model saw at the end. */
async function run(set: ToolSet, ...turns: Turn[]) {
  const model = new MockLanguageModelV4({ doGenerate: script(...turns, 'done') })
  await new ToolLoopAgent({ model, tools: set }).generate({ prompt: 'go' })
  return seenBy(model)
}

const patch = '@@ -1 +1 @@\n-one\n+two\n'

describe('an agent with the five tools', () => {
  test('the bundle, a whole task: write, edit, read, grep, bash', async () => {
    const fixture = makeSandbox()
    const seen = await fixture.within(() =>
      run(
        tools,
        [{ tool: 'write', input: { path: 'a.txt', content: 'one\n' } }],
        [{ tool: 'edit', input: { path: 'a.txt', patch } }],
        [
          { tool: 'read', input: { path: 'a.txt' } },
          { tool: 'grep', input: { pattern: 'tw' } },
          { tool: 'bash', input: { cmd: 'cat', args: ['a.txt'] } },
        ],
      ),
    )
    expect(seen.map(({ toolName, output }) => [toolName, output.type, output.value])).toEqual([
      ['write', 'text', 'ok'],
      ['edit', 'text', 'ok'],
      ['read', 'text', 'two\n'],
      ['grep', 'text', 'a.txt:1:two\n'],
      ['bash', 'text', 'two\n'],
    ])
  })

  test('createTools without any context', async () => {
    const fixture = makeSandbox()
    const seen = await run(createTools({ rootDir: fixture.root }), [{ tool: 'write', input: { path: 'a', content: 'x' } }])
    expect(seen[0]?.output).toEqual({ type: 'text', value: 'ok' })
    expect(fixture.text('a')).toBe('x')
  })

  test('generateText', async () => {
    const fixture = makeSandbox()
    fixture.put('a', 'text')
    const model = new MockLanguageModelV4({ doGenerate: script([{ tool: 'read', input: { path: 'a' } }], 'read it') })
    const { text, steps } = await generateText({
      model,
      tools: createTools({ rootDir: fixture.root }),
      prompt: 'go',
      stopWhen: isStepCount(3),
    })
    expect(text).toBe('read it')
    expect(steps[0]?.toolResults).toMatchObject([{ toolName: 'read', output: 'text' }])
  })

  test('the model is given name, description and schema of each', async () => {
    const model = new MockLanguageModelV4({ doGenerate: script('done') })
    await new ToolLoopAgent({ model, tools }).generate({ prompt: 'go' })
    expect(model.doGenerateCalls[0]?.tools?.map((tool) => (tool.type === 'function' ? [tool.name, tool.description] : []))).toEqual(
      Object.entries(tools).map(([name, tool]) => [name, tool.description]),
    )
    expect(model.doGenerateCalls[0]?.tools).toMatchObject([
      { inputSchema: { required: ['path'], additionalProperties: false } },
      { inputSchema: { required: ['path', 'content'] } },
      { inputSchema: { required: ['path', 'patch'] } },
      { inputSchema: { required: ['pattern'] } },
      { inputSchema: { required: ['cmd'] } },
    ])
  })
})

describe('errors as the model sees them: error-text with the message, its code and its hint', () => {
  const cases: [tool: string, input: object, words: RegExp][] = [
    ['read', { path: 'none' }, /^File not found: `none` \[TOOL_FILE_NOT_FOUND\] .*write tool/u],
    ['read', { path: '../x' }, /^Path escapes sandbox root: `\.\.\/x` \[TOOL_PATH_ESCAPE\] ./u],
    ['write', { path: 'a/', content: '' }, /\[TOOL_[A-Z_]+\] ./u],
    ['edit', { path: 'f', patch }, /^Failed to apply patch: `f`.*\[TOOL_PATCH_FAILED\] ./su],
    ['grep', { pattern: '(' }, /regex parse error.*\[TOOL_GREP_FAILED\] ./su],
    ['bash', { cmd: 'sh', args: ['-c', 'echo why; exit 4'] }, /^Command failed with exit code 4.*\[TOOL_COMMAND_FAILED\].*why/su],
    ['bash', { cmd: 'wget', args: ['x'] }, /^Network access is disabled.*wget.*\[TOOL_NETWORK_DISABLED\].*allowNetwork/su],
    ['bash', { cmd: 'nope' }, /^Failed to spawn nope.*\[PROCESS_FAILED\] ./su],
  ]
  test.each(cases)('%s %j', async (tool, input, words) => {
    const fixture = makeSandbox()
    fixture.put('f', 'other\n')
    const [seen] = await fixture.within(() => run(tools, [{ tool, input }]))
    expect(seen?.output.type).toBe('error-text')
    // AI SDK 7 puts the error's name in front of its message.
    expect(String(seen?.output.value).replace(/^ToolError: /u, '')).toMatch(words)
  })

  test('input that does not fit the schema never reaches execute', async () => {
    const fixture = makeSandbox()
    const records: ToolCallRecord[] = []
    const seen = await fixture.within(
      () =>
        run(tools, [
          { tool: 'read', input: { file: 'a' } },
          { tool: 'bash', input: { cmd: 'ls', args: 'x' } },
        ]),
      { recordToolCall: (record) => records.push(record) },
    )
    expect(seen.map(({ output }) => output.type)).toEqual(['error-text', 'error-text'])
    expect(seen[0]?.output.value).toContain('path')
    expect(records).toEqual([])
  })
})

describe('calls in one step', () => {
  test('run at the same time, and each result goes to its own call', async () => {
    const fixture = makeSandbox()
    const names = Array.from({ length: 8 }, (_, index) => `file-${index}`)
    for (const name of names) fixture.put(name, name)
    const seen = await fixture.within(() =>
      run(
        tools,
        names.map((path) => ({ tool: 'read', input: { path }, id: path })),
      ),
    )
    expect(seen.map(({ toolCallId, output }) => [toolCallId, output.value])).toEqual(names.map((name) => [name, name]))
  })

  test('edits of one file all land', async () => {
    const fixture = makeSandbox()
    fixture.put('f', '0\n1\n2\n3\n')
    const calls = [0, 1, 2, 3].map((line) => ({
      tool: 'edit',
      input: { path: 'f', patch: `@@ -${line + 1} +${line + 1} @@\n-${line}\n+line ${line}\n` },
    }))
    const seen = await fixture.within(() => run(tools, calls))
    expect(seen.map(({ output }) => output.value)).toEqual(['ok', 'ok', 'ok', 'ok'])
    expect(fixture.text('f')).toBe('line 0\nline 1\nline 2\nline 3\n')
  })

  test('a call that fails leaves the others alone', async () => {
    const fixture = makeSandbox()
    fixture.put('f', 'x')
    const seen = await fixture.within(() =>
      run(tools, [
        { tool: 'read', input: { path: 'f' } },
        { tool: 'read', input: { path: 'no' } },
      ]),
    )
    expect(seen.map(({ output }) => output.type)).toEqual(['text', 'error-text'])
  })
})

describe('what an agent hands to a tool', () => {
  test('toolCallId reaches ctx and records, the context of the task too', async () => {
    const seen: [DefinedToolContext, string | undefined][] = []
    const probe = defineTool({
      name: 'probe',
      schema: z.object({}),
      sideEffect: true,
      execute: (_args, ctx) => void seen.push([ctx, getToolContext()?.runId]),
    })
    const records: ToolCallRecord[] = []
    const snapshots: unknown[][] = []
    const task = {
      runId: 'run',
      nodeId: 'node',
      recordToolCall: (record: ToolCallRecord) => records.push(record),
      durabilitySnapshot: (...args: unknown[]) => snapshots.push(args),
    }
    await makeSandbox().within(() => run({ probe }, [{ tool: 'probe', input: {}, id: 'call-42' }]), task)
    expect(seen.map(([ctx, runId]) => [ctx.toolCallId, ctx.idempotencyKey, runId])).toEqual([['call-42', 'smithers:run:node:0', 'run']])
    expect(records.map(({ phase, toolCallId }) => [phase, toolCallId])).toEqual([
      ['started', 'call-42'],
      ['finished', 'call-42'],
    ])
    expect(snapshots).toEqual([['probe', 'call-42']])
  })
})

describe('AI SDK: "Any schema the SDK takes (Zod, Standard Schema, jsonSchema()) is accepted by defineTool"', () => {
  const json = {
    type: 'object',
    properties: { word: { type: 'string' } },
    required: ['word'],
    additionalProperties: false,
  } as const
  const isInput = (value: unknown): value is { word: string } => typeof (value as { word?: unknown } | null)?.word === 'string'
  const standard = {
    '~standard': {
      version: 1 as const,
      vendor: 'hand-made',
      validate: (value: unknown) => (isInput(value) ? { value } : { issues: [{ message: 'no word' }] }),
      jsonSchema: { input: () => ({ ...json }), output: () => ({ ...json }) },
    },
  }
  const schemas: Record<string, unknown> = {
    'zod 4': z.object({ word: z.string() }),
    'zod 3': zod3.object({ word: zod3.string() }),
    'jsonSchema()': jsonSchema<{ word: string }>(json, {
      validate: (value) => (isInput(value) ? { success: true, value } : { success: false, error: new Error('no word') }),
    }),
    'Standard Schema': standard,
  }

  test.each(Object.entries(schemas))('%s', async (_name, schema) => {
    const shout = defineTool({
      name: 'shout',
      schema: schema as FlexibleSchema<{ word: string }>,
      execute: ({ word }) => word.toUpperCase(),
    })
    expect(await asSchema(shout.inputSchema).jsonSchema).toMatchObject(json)
    const seen = await run({ shout }, [
      { tool: 'shout', input: { word: 'hey' } },
      { tool: 'shout', input: { wort: 'hey' } },
    ])
    const outputs = Object.fromEntries(seen.map(({ toolCallId, output }) => [toolCallId, output]))
    expect(outputs['call-0-0']).toEqual({ type: 'text', value: 'HEY' })
    expect(outputs['call-0-1']?.type).toBe('error-text')
  })
})
