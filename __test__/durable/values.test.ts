/** What a tool gets and gives: the same under an engine as without one, in every execution. */
import { ToolLoopAgent, tool as plainTool } from 'ai'
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test'
import fc from 'fast-check'
import { defineTool, openJournal } from 'toolwright'
import { callOnce, durable } from 'toolwright/durable'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { fromPlain, toPlain } from '../../ts/journal/calls/kept-values.ts'
import { runs, seed } from '../support/randomised.ts'
import { script, seenBy } from '../support/scripted-model.ts'
import { ToyEngine } from './toy-engine.ts'

async function opened() {
  const journal = await openJournal('memory:')
  onTestFinished(() => journal.close())
  return journal
}

class Money {
  readonly cents: number
  constructor(cents: number) {
    this.cents = cents
  }
  toJSON(): object {
    return { cents: this.cents }
  }
}
class Row {
  id = 1
  #secret = 2
  get secret(): number {
    return this.#secret
  }
}
const cycle: Record<string, unknown> = { name: 'a' }
cycle['self'] = cycle

/** A value, what the model reads of it, and what a second execution gets. */
const values: [string, unknown, unknown, unknown?][] = [
  ['nothing', undefined, null],
  ['null', null, null],
  ['a class with toJSON', new Money(5), { cents: 5 }, { cents: 5 }],
  ['a class without', new Row(), { id: 1 }, { id: 1 }],
  ['a date in a row', { id: 1, createdAt: new Date(0) }, { id: 1, createdAt: '1970-01-01T00:00:00.000Z' }],
  ['an invalid date', { at: new Date(Number.NaN) }, { at: null }],
  ['no number', { n: Number.NaN, m: Infinity }, { n: null, m: null }],
  ['a map', new Map<unknown, unknown>([[1, new Date(0)]]), {}],
  ['a cycle', cycle, { name: 'a', self: '[Circular]' }, { name: 'a', self: '[Circular]' }],
  ['somebody’s mark', { $toolwright: 'url', value: 'x' }, { $toolwright: 'url', value: 'x' }],
  ['somebody’s mark for an error', [{ $toolwright: 'error', value: 'x' }], [{ $toolwright: 'error', value: 'x' }]],
  ['somebody’s frame', { inexact: true, kept: { $toolwright: 'date' } }, { inexact: true, kept: { $toolwright: 'date' } }],
  ['undefined in an object and a list', { a: undefined, b: [undefined, 1] }, { b: [null, 1] }, { b: [null, 1] }],
]

describe.each(values)('%s', (_, value, read, again = value) => {
  const tool = defineTool({ name: 'get', schema: z.object({}), sideEffect: true, usesIdempotencyKey: false, execute: () => value })

  test('is what the model reads under an engine, as without one', async () => {
    const journal = await opened()
    const seen: unknown[] = []
    const engine = new ToyEngine()
    for (const execution of [0, 1]) {
      const model = new MockLanguageModelV4({ doGenerate: script([{ tool: 'get', input: {} }], 'done', 'done') as never })
      const agent = new ToolLoopAgent(durable({ model, tools: { get: tool }, journal, runId: 'run', step: engine.steps() }))
      await agent.generate({ prompt: 'go' })
      if (execution === 0) seen.push(JSON.parse(JSON.stringify(seenBy(model)[0]?.output)))
    }
    expect(seen).toMatchObject([{ type: 'json', value: read }])
  })

  test('is the same in every execution', async () => {
    const journal = await opened()
    const call = { runId: 'run', callId: 'one', tool, input: {} }
    const first = await callOnce(journal, call)
    expect(await callOnce(journal, call)).toEqual(first)
    expect(first).toEqual(again)
  })
})

/** Values that throw when they are read. The tool has done its work all the same. */
const unreadable: [string, () => unknown][] = [
  ['a toJSON that throws', () => ({ id: 1, toJSON: () => thrown() })],
  ['a field that throws', () => ({ id: 1, money: new Closed() })],
  ['a proxy that was revoked', () => ({ id: 1, money: revoked() })],
  ['a proxy that cannot be looked into', () => new Proxy({ id: 1 }, { has: () => thrown() })],
  ['a list of very many rows that throw', () => Array.from({ length: 60_000 }, () => new Closed())],
]

class Closed {
  id = 1
  toJSON(): object {
    return thrown()
  }
}

function thrown(): never {
  throw new Error('the connection is closed')
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

describe.each(unreadable)('%s', (name, make) => {
  let effects = 0
  const execute = (): unknown => {
    effects += 1
    return make()
  }
  const tool = defineTool({ name: 'pay', schema: z.object({}), sideEffect: true, usesIdempotencyKey: false, execute })
  const isLarge = name.includes('very many')

  test('a call that was made is no failed tool: every execution hears that it was made', async () => {
    effects = 0
    const journal = await opened()
    for (const [callId, one] of Object.entries({ defined: tool, plain: plainTool({ inputSchema: z.object({}), execute }) })) {
      const call = { runId: 'run', callId, tool: one, input: {} }
      const made = {
        code: 'REPLAY_INCOMPLETE',
        hint: expect.stringContaining('was made and must not be repeated'),
        message: expect.any(String),
      }
      // What is too large to be read is given as it is, once.
      if (isLarge) await callOnce(journal, call)
      else await expect(callOnce(journal, call)).rejects.toMatchObject({ ...made, cause: expect.any(Error) })
      await expect(callOnce(journal, call)).rejects.toMatchObject({ ...made, message: expect.stringContaining('it cannot be read') })
    }
    expect(effects).toBe(2)
    expect((await journal.listRun('run')).map(({ status }) => status)).toEqual(['success', 'success'])
  })

  test('under an engine, the model reads that it was made', async () => {
    effects = 0
    const journal = await opened()
    const engine = new ToyEngine()
    for (const _ of [1, 2]) {
      const model = new MockLanguageModelV4({ doGenerate: script([{ tool: 'pay', input: {} }], 'done', 'done') as never })
      await new ToolLoopAgent(durable({ model, tools: { pay: tool }, journal, runId: 'run', step: engine.steps() })).generate({
        prompt: 'go',
      })
      if (model.doGenerateCalls.length > 0)
        expect(seenBy(model)[0]?.output).toMatchObject({
          type: 'error-text',
          value: expect.stringContaining('was made and must not be repeated'),
        })
    }
    expect(effects).toBe(1)
  })
})

test('a big integer and bytes are the same in every execution', async () => {
  const journal = await opened()
  const value = { n: 12n, bytes: new Uint8Array([1, 2]), floats: new Float64Array([1.5]), set: new Set([1]) }
  const tool = defineTool({ name: 'get', schema: z.object({}), execute: () => value })
  const call = { runId: 'run', callId: 'one', tool, input: {} }
  expect(await callOnce(journal, call)).toEqual(value)
  expect(await callOnce(journal, call)).toEqual(value)
})

test('whatever JSON keeps comes back as it was, and the kept form is JSON', () => {
  const keys = fc.oneof(fc.constantFrom('$toolwright', 'value', 'inexact', 'kept', 'name', '__proto__'), fc.string())
  const { tree } = fc.letrec((tie) => ({
    leaf: fc.oneof(fc.jsonValue({ maxDepth: 1 }), fc.constantFrom('date', 'url', 'object', 'map')),
    tree: fc.oneof({ maxDepth: 4 }, tie('leaf'), fc.array(tie('tree'), { maxLength: 4 }), fc.dictionary(keys, tie('tree'), { maxKeys: 4 })),
  }))
  fc.assert(
    fc.property(tree, (value) => {
      const json = JSON.parse(JSON.stringify(value)) as unknown
      expect(fromPlain(JSON.parse(JSON.stringify(toPlain(json))))).toEqual(json)
    }),
    { seed, numRuns: runs(300) },
  )
})

describe('what the SDK gives a tool', () => {
  const heard: Record<string, unknown>[] = []
  const tool = plainTool({
    inputSchema: z.object({}),
    contextSchema: z.object({ tenant: z.string() }),
    execute: async (_input, options) => {
      heard.push({ ...options })
      return 'ok'
    },
  })

  test('reaches it under an engine: messages, context, and every other field', async () => {
    heard.length = 0
    const journal = await opened()
    const model = () => new MockLanguageModelV4({ doGenerate: script([{ tool: 'get', input: {} }], 'done') as never })
    const toolsContext = { get: { tenant: 'acme' } }
    await new ToolLoopAgent({ model: model(), tools: { get: tool }, toolsContext }).generate({ prompt: 'go' })
    const parts = durable({ model: model(), tools: { get: tool }, journal, runId: 'run', step: new ToyEngine().steps() })
    await new ToolLoopAgent({ ...parts, toolsContext }).generate({ prompt: 'go' })
    const [plain, kept] = heard.map((options) => ({ ...options, abortSignal: undefined }))
    expect(plain).toMatchObject({ context: { tenant: 'acme' }, messages: [{ role: 'user' }] })
    expect(kept).toEqual(plain)
  })

  test('reaches it from callOnce', async () => {
    heard.length = 0
    const journal = await opened()
    const options = { messages: [{ role: 'user', content: 'x' }], context: { tenant: 'acme' }, more: 1 }
    await callOnce(journal, { runId: 'run', callId: 'one', tool, input: {}, options })
    expect(heard).toMatchObject([{ ...options, toolCallId: 'one' }])
  })
})

describe('output while it is made', () => {
  test('preliminary results of a generator come as they are yielded, and once', async () => {
    const journal = await opened()
    const steps: string[] = []
    let go: () => void = () => undefined
    const gate = new Promise<void>((resolve) => (go = resolve))
    const tool = defineTool({
      name: 'work',
      schema: z.object({}),
      execute: async function* () {
        yield 'half'
        await gate
        steps.push('ended')
        yield 'whole'
      },
    })
    const finish = (reason: string) => ({ type: 'finish', finishReason: { unified: reason, raw: undefined }, usage: script('x')[0]?.usage })
    const turns = [
      [{ type: 'tool-call', toolCallId: 'c', toolName: 'work', input: '{}' }, finish('tool-calls')],
      [{ type: 'text-start', id: '1' }, { type: 'text-delta', id: '1', delta: 'done' }, { type: 'text-end', id: '1' }, finish('stop')],
    ]
    const model = new MockLanguageModelV4({
      doStream: async () =>
        ({ stream: simulateReadableStream({ chunks: [{ type: 'stream-start', warnings: [] }, ...(turns.shift() ?? [])] }) }) as never,
    })
    const engine = new ToyEngine()
    for (const execution of [1, 2]) {
      const agent = new ToolLoopAgent(durable({ model, tools: { work: tool }, journal, runId: 'run', step: engine.steps() }))
      const results: unknown[] = []
      for await (const part of (await agent.stream({ prompt: 'go' })).fullStream) {
        if (part.type !== 'tool-result') continue
        results.push([part.output, part.preliminary === true])
        if (part.output === 'half') steps.push('half was seen')
        go()
      }
      if (execution === 1)
        expect(results).toEqual([
          ['half', true],
          ['whole', true],
          ['whole', false],
        ])
      else expect(results.at(-1)).toEqual(['whole', false])
    }
    expect(steps).toEqual(['half was seen', 'ended'])
  })

  test('text comes while the model says it; a call waits until the engine has kept the answer', async () => {
    const journal = await opened()
    const order: string[] = []
    let go: () => void = () => undefined
    const gate = new Promise<void>((resolve) => (go = resolve))
    const finish = { type: 'finish', finishReason: { unified: 'tool-calls', raw: undefined }, usage: script('x')[0]?.usage }
    let asked = 0
    const model = new MockLanguageModelV4({
      doStream: async () => {
        asked += 1
        const stream = new ReadableStream({
          async start(controller) {
            controller.enqueue({ type: 'stream-start', warnings: [] })
            controller.enqueue({ type: 'text-start', id: '1' })
            controller.enqueue({ type: 'text-delta', id: '1', delta: 'first ' })
            await gate
            controller.enqueue({ type: 'text-delta', id: '1', delta: 'second' })
            controller.enqueue({ type: 'text-end', id: '1' })
            if (asked === 1) controller.enqueue({ type: 'tool-call', toolCallId: 'c', toolName: 'pay', input: '{}' })
            controller.enqueue(asked === 1 ? finish : { ...finish, finishReason: { unified: 'stop', raw: undefined } })
            controller.close()
          },
        })
        return { stream } as never
      },
    })
    const pay = defineTool({ name: 'pay', schema: z.object({}), execute: () => order.push('paid') })
    const engine = new ToyEngine()
    const step = engine.steps((name) => void order.push(`kept ${name}`))
    const agent = new ToolLoopAgent(durable({ model, tools: { pay }, journal, runId: 'run', step }))
    const texts: string[] = []
    for await (const text of (await agent.stream({ prompt: 'go' })).textStream) {
      if (texts.push(text) === 1) order.push('text seen')
      go()
    }
    expect(texts.join('')).toBe('first secondfirst second')
    expect(order).toEqual(['text seen', 'kept model 1', 'paid', 'kept tool pay c', 'kept model 2'])
  })
})
