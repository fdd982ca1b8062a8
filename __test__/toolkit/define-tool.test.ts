import { ToolLoopAgent } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import {
  bash,
  defineTool,
  edit,
  getDefinedToolMetadata,
  getToolContext,
  grep,
  read,
  readFileTool,
  runWithToolContext,
  tools,
  write,
  type DefinedToolContext,
  type ToolCallRecord,
} from 'toolwright'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { makeSandbox } from '../support/sandbox.ts'
import { script, seenBy } from '../support/scripted-model.ts'

const task = { runId: 'run', nodeId: 'node', iteration: 2 }
const order = z.object({ sku: z.string() })

beforeEach(() => {
  vi.restoreAllMocks()
})

describe('000 defineTool', () => {
  test('"wraps one with Smithers runtime context: a deterministic idempotency key, side-effect metadata, and the side-effect snapshot hook"', async () => {
    const durabilitySnapshot = vi.fn()
    let seen: DefinedToolContext | undefined
    const tool = defineTool({
      name: 'shop.order',
      schema: order,
      sideEffect: true,
      execute: (_args, ctx) => {
        seen = ctx
      },
    })
    await runWithToolContext({ ...task, durabilitySnapshot }, () => tool.execute({ sku: 'a' }))
    expect(seen).toMatchObject({ ...task, idempotencyKey: 'smithers:run:node:2', sideEffect: true, idempotent: false })
    expect(getDefinedToolMetadata(tool)).toMatchObject({ name: 'shop.order', sideEffect: true, idempotent: false })
    expect(durabilitySnapshot).toHaveBeenCalledTimes(1)
  })

  test('"The five built-in tools (read, write, edit, grep, bash) are themselves defineTool results"', () => {
    for (const [name, tool] of Object.entries({ read, write, edit, grep, bash })) {
      expect(getDefinedToolMetadata(tool)?.name).toBe(name)
    }
  })

  test('"… and run inside the task’s sandbox"', async () => {
    const fixture = makeSandbox()
    fixture.put('a.txt', 'text')
    expect(await fixture.within(() => readFileTool('a.txt'))).toBe('text')
    await expect(fixture.within(() => readFileTool('../a.txt'))).rejects.toMatchObject({ code: 'TOOL_PATH_ESCAPE' })
  })

  test('"Wrap a Zod-validated execute function into a durable AI SDK tool. Pass the result to an agent’s tools."', async () => {
    const shout = defineTool({
      name: 'shout',
      schema: z.object({ text: z.string() }),
      execute: ({ text }) => text.toUpperCase(),
    })
    const model = new MockLanguageModelV4({
      doGenerate: script([{ tool: 'shout', input: { text: 'hey' } }], 'done'),
    })
    const { text } = await new ToolLoopAgent({ model, tools: { shout } }).generate({ prompt: 'go' })
    expect(text).toBe('done')
    expect(seenBy(model)).toMatchObject([{ toolName: 'shout', output: { type: 'text', value: 'HEY' } }])
  })

  test('"Tool name surfaced to the agent and stamped onto ctx.toolName. Also the default description."', async () => {
    const tool = defineTool({ name: 'who', schema: z.object({}), execute: (_args, ctx) => ctx.toolName })
    expect(await tool.execute({})).toBe('who')
    expect(tool.description).toBe('who')
  })

  test('"Human-readable description the agent sees. Defaults to name."', async () => {
    const common = { schema: z.object({}), execute: () => 'x' }
    const named = defineTool({ name: 'named', ...common })
    const described = defineTool({ name: 'other', description: 'Says x', ...common })
    const model = new MockLanguageModelV4({ doGenerate: script('done') })
    await new ToolLoopAgent({ model, tools: { named, described } }).generate({ prompt: 'go' })
    expect(model.doGenerateCalls[0]?.tools).toMatchObject([
      { name: 'named', description: 'named' },
      { name: 'described', description: 'Says x' },
    ])
  })

  test('"Zod schema for the tool’s input. Validated by the AI SDK before execute runs; execute receives the parsed args."', async () => {
    const execute = vi.fn((args: { count: number }) => args.count)
    const schema = z.object({ count: z.number().default(7) })
    const counter = defineTool({ name: 'counter', schema, execute })
    const model = new MockLanguageModelV4({
      doGenerate: script([{ tool: 'counter', input: { count: 'many' } }], [{ tool: 'counter', input: {} }], 'done'),
    })
    await new ToolLoopAgent({ model, tools: { counter } }).generate({ prompt: 'go' })
    expect(execute.mock.calls.map(([args]) => args)).toEqual([{ count: 7 }])
    const [invalid, parsed] = seenBy(model)
    expect(invalid?.output.type).toBe('error-text')
    expect(parsed?.output).toEqual({ type: 'json', value: 7 })
  })

  test('"Marks the tool as mutating external state. Opts the tool into … and runs the durability snapshot hook after execute."', async () => {
    const events: string[] = []
    const context = {
      durabilitySnapshot: (name: string) => events.push(`snapshot ${name}`),
    }
    const define = (sideEffect: boolean) =>
      defineTool({
        name: `side-effect-${sideEffect}`,
        schema: z.object({}),
        sideEffect,
        execute: async (_args, _ctx) => {
          await Promise.resolve()
          events.push('execute')
        },
      })
    await runWithToolContext(context, () => define(true).execute({}))
    expect(events).toEqual(['execute', 'snapshot side-effect-true'])
    await runWithToolContext(context, () => define(false).execute({}))
    expect(events).toEqual(['execute', 'snapshot side-effect-true', 'execute'])
  })

  test('"Whether re-running with the same input is safe. Defaults to true when sideEffect is false."', () => {
    const define = (flags: { sideEffect?: boolean; idempotent?: boolean }) =>
      getDefinedToolMetadata(defineTool({ name: 'x', schema: z.object({}), ...flags, execute: (_args, _ctx) => 1 }))
    expect(define({})).toMatchObject({ sideEffect: false, idempotent: true })
    expect(define({ sideEffect: false })).toMatchObject({ idempotent: true })
    expect(define({ sideEffect: true })).toMatchObject({ idempotent: false })
    expect(define({ sideEffect: true, idempotent: true })).toMatchObject({ idempotent: true })
    expect(define({ idempotent: false })).toMatchObject({ sideEffect: false, idempotent: false })
  })

  test('"Runs the tool. args is the parsed input; ctx is the tool context."', async () => {
    const execute = vi.fn((args: { sku: string }, ctx: DefinedToolContext) => `${args.sku} ${ctx.runId}`)
    const tool = defineTool({ name: 'run', schema: order, execute })
    expect(await runWithToolContext(task, () => tool.execute({ sku: 'a' }))).toBe('a run')
  })

  test('"An AI SDK tool with attached Smithers metadata. Read the metadata with getDefinedToolMetadata."', () => {
    const tool = defineTool({ name: 'meta', schema: order, execute: () => 1 })
    expect(tool).toMatchObject({ description: 'meta', inputSchema: order })
    expect(tool.execute).toBeTypeOf('function')
    expect(getDefinedToolMetadata(tool)).toMatchObject({ name: 'meta', sideEffect: false, idempotent: true })
  })

  const warnings: [boolean, boolean, number][] = [
    [false, true, 0],
    [true, true, 0],
    [true, false, 1],
  ]
  test.each(warnings)(
    'table "sideEffect %s | idempotent %s": %i startup warnings for an execute without ctx, none for one with it',
    (sideEffect, idempotent, expected) => {
      const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
      const flags = { name: `table-${sideEffect}-${idempotent}`, schema: order, sideEffect, idempotent }
      defineTool({ ...flags, name: `${flags.name}-ctx`, execute: (_args, _ctx) => 1 })
      expect(warn).toHaveBeenCalledTimes(0)
      defineTool({ ...flags, execute: (_args) => 1 })
      expect(warn).toHaveBeenCalledTimes(expected)
    },
  )
})

describe('001 defineTool', () => {
  const placed: { sku: string; idempotencyKey: string | null }[] = []
  const placeOrder = defineTool({
    name: 'wholefoods.place_order',
    description: 'Place a grocery order',
    schema: order,
    sideEffect: true,
    idempotent: false,
    async execute(args, ctx) {
      placed.push({ sku: args.sku, idempotencyKey: ctx.idempotencyKey })
      return { ok: true }
    },
  })

  test('"ctx.idempotencyKey is stable across retries and resumes for the same task iteration."', async () => {
    placed.length = 0
    for (const attempt of [1, 2, 3]) {
      await runWithToolContext({ ...task, attempt }, () => placeOrder.execute({ sku: 'milk' }))
    }
    await runWithToolContext({ ...task, iteration: 3 }, () => placeOrder.execute({ sku: 'milk' }))
    const keys = placed.map(({ idempotencyKey }) => idempotencyKey)
    expect(keys).toEqual([keys[0], keys[0], keys[0], 'smithers:run:node:3'])
    expect(keys[0]).toBe('smithers:run:node:2')
  })

  test('"sideEffect: true opts the tool into Smithers side-effect tracking."', async () => {
    const records: ToolCallRecord[] = []
    await runWithToolContext({ ...task, recordToolCall: (record) => records.push(record) }, () => placeOrder.execute({ sku: 'milk' }))
    expect(records.map(({ phase, sideEffect }) => [phase, sideEffect])).toEqual([
      ['started', true],
      ['finished', true],
    ])
  })

  test('"idempotent: false marks the tool for retry warnings when a previous attempt has a recorded row."', async () => {
    const records: ToolCallRecord[] = []
    await runWithToolContext({ ...task, recordToolCall: (record) => records.push(record) }, () => placeOrder.execute({ sku: 'milk' }))
    expect(records[0]).toMatchObject({ idempotent: false, toolName: 'wholefoods.place_order' })
    expect(getDefinedToolMetadata(placeOrder)?.idempotent).toBe(false)
  })

  test('"defineTool() does not persist rows directly": without a recorder nothing is touched, the database neither', async () => {
    const db = new Proxy({}, { get: () => expect.unreachable('the database was used') })
    await expect(runWithToolContext({ ...task, db }, () => placeOrder.execute({ sku: 'x' }))).resolves.toEqual({
      ok: true,
    })
  })

  test('"The built-in write and edit tools are registered as sideEffect: true and idempotent: false"; all of the "What counts" table', () => {
    const flags = Object.values(tools).map(getDefinedToolMetadata)
    expect(flags.map((one) => [one?.name, one?.sideEffect, one?.idempotent])).toEqual([
      ['read', false, true],
      ['write', true, false],
      ['edit', true, false],
      ['grep', false, true],
      ['bash', true, false],
    ])
  })

  test('"✗ Bad: non-idempotent side effect without ctx": "Smithers logs a startup warning", and "✓ Good" has none', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    const schema = z.object({ to: z.string(), body: z.string() })
    const flags = { schema, sideEffect: true, idempotent: false }
    defineTool({ name: 'email.good', ...flags, async execute(_args, _ctx) {} })
    expect(warn).not.toHaveBeenCalled()
    defineTool({ name: 'email.send', ...flags, async execute(_args) {} })
    expect(warn).toHaveBeenCalledTimes(1)
    expect(String(warn.mock.calls[0]?.[0])).toContain('email.send')
    expect(String(warn.mock.calls[0]?.[0])).toContain('ctx.idempotencyKey')
  })

  test('a tool defined by defineTool sees the context of its task, and a plain function called in it too', async () => {
    const tool = defineTool({ name: 'inner', schema: order, execute: () => getToolContext()?.runId })
    expect(await runWithToolContext(task, () => tool.execute({ sku: '' }))).toBe('run')
  })
})
