import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ToolLoopAgent } from 'ai'
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test'
import { createTools, defineTool, type DefinedToolContext, type Journal, openJournal, type ToolProbe } from 'toolwright'
import { callOnce, durable, type DurableOptions, restateSteps, type Step, superviseDbos } from 'toolwright/durable'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { makeSandbox } from '../support/sandbox.ts'
import { script, seenBy, type Turn } from '../support/scripted-model.ts'
import { ToyEngine } from './toy-engine.ts'

const pay = (n: number, id?: string) => ({ tool: 'pay', input: { n }, ...(id !== undefined && { id }) })

/** A run of an agent that an engine executes again and again, each time with a journal of its own on the same file. */
function scene(turns: Turn[], options: Partial<DurableOptions<never>> & { tool?: object } = {}) {
  const file = join(makeSandbox().root, 'runs.db')
  const engine = new ToyEngine()
  const effects: number[] = []
  const keys: (string | null)[] = []
  const { tool: more = {}, ...durableOptions } = options
  const act = async ({ n }: { n: number }, ctx: DefinedToolContext): Promise<string> => {
    effects.push(n)
    keys.push(ctx.callIdempotencyKey)
    return `paid ${n}`
  }
  const payTool = defineTool({ name: 'shop.pay', schema: z.object({ n: z.number() }), sideEffect: true, execute: act, ...more })
  const model = new MockLanguageModelV4({ doGenerate: script(...turns, 'done', 'done', 'done') as never })
  /** One execution. `dies` names the step after which its process ends, before the engine has kept the step. */
  const execute = async (dies?: string, abortSignal?: AbortSignal) => {
    const journal = await openJournal(file)
    onTestFinished(() => journal.close())
    let isGone = false
    const step = engine.steps(async (name) => {
      if (dies === undefined || !name.startsWith(dies)) return
      isGone = true
      await journal.close()
      throw new Error('the process has ended')
    })
    const parts = durable({ model, tools: { pay: payTool }, journal, runId: 'run', step, ...(durableOptions as object) })
    const agent = new ToolLoopAgent(parts)
    try {
      return (await agent.generate({ prompt: 'go', ...(abortSignal && { abortSignal }) })).text
    } catch (error) {
      if (!isGone) throw error
      return 'died'
    } finally {
      if (!isGone) await journal.close()
    }
  }
  const executeWith = (abortSignal?: AbortSignal) => execute(undefined, abortSignal)
  /** A process that ends between its intent and its outcome. */
  const dieInside = async (callId = 'call-0-0', n = 1): Promise<void> => {
    const journal = await openJournal(file)
    const input = JSON.stringify({ n })
    const { nativeArgsHash } = await import('../../ts/core/native.ts')
    const call = { runId: 'run', nodeId: 'agent', attempt: 1, callId, toolName: 'shop.pay', inputJson: input, sideEffect: true }
    await journal.claimCall({ ...call, argsHash: await nativeArgsHash(input) })
    await journal.close()
  }
  const rows = async () => {
    const journal = await openJournal(file, { readOnly: true })
    const listed = await journal.listRun('run')
    await journal.close()
    return listed
  }
  return { file, engine, effects, keys, model, execute, executeWith, dieInside, rows }
}

describe('a call is made once, though its step is executed again', () => {
  test('after the outcome and before the checkpoint: the recorded output is returned', async () => {
    const { execute, effects, model, rows } = scene([[pay(1)]])
    expect(await execute('tool shop.pay')).toBe('died')
    expect(effects).toEqual([1])
    expect(await execute()).toBe('done')
    expect(effects).toEqual([1])
    expect(seenBy(model)).toMatchObject([{ output: { value: 'paid 1' } }])
    expect(await rows()).toMatchObject([{ toolName: 'shop.pay', status: 'success', callToken: 'call-0-0' }])
  })

  test('with every step kept, nothing is asked and nothing is made', async () => {
    const { execute, effects, model } = scene([[pay(1)]])
    await execute()
    const asked = model.doGenerateCalls.length
    expect(await execute()).toBe('done')
    expect([effects, model.doGenerateCalls.length]).toEqual([[1], asked])
  })

  test('equal calls, two at once, and ids that the model repeats: each is made once, in every execution', async () => {
    const { execute, effects, keys, engine } = scene([[pay(5, 'call_0'), pay(5, 'call_1')], [pay(5, 'call_0')], [pay(5, 'call_0')]])
    await execute()
    expect(effects).toEqual([5, 5, 5, 5])
    expect(new Set(keys).size).toBe(4)
    engine.forget('tool')
    // The answers of the model after the first are lost too; it answers the same again.
    await execute().catch(() => undefined)
    expect(effects).toHaveLength(4)
  })

  test('what a tool throws is recorded, and thrown again', async () => {
    let calls = 0
    const execute = async (): Promise<never> => {
      calls += 1
      throw Object.assign(new Error('card declined'), { code: 'DECLINED' })
    }
    const one = scene([[pay(1)]], { tool: { execute: (_args: unknown, _ctx: unknown) => execute() } })
    expect(await one.execute('tool')).toBe('died')
    expect(await one.execute()).toBe('done')
    expect(calls).toBe(1)
    expect(seenBy(one.model)).toMatchObject([{ output: { type: 'error-text', value: expect.stringContaining('card declined') } }])
  })
})

describe('a call that was begun by a process that is gone', () => {
  test('is told to the model, and not made again', async () => {
    const { execute, dieInside, effects, model, rows } = scene([[pay(1)]])
    await dieInside()
    expect(await execute()).toBe('done')
    expect(effects).toEqual([])
    expect(seenBy(model)).toMatchObject([{ output: { type: 'error-text', value: expect.stringContaining('[OUTCOME_UNKNOWN]') } }])
    expect(await rows()).toMatchObject([{ status: 'unknown' }])
  })

  test('ends the run, if it has to', async () => {
    const { execute, dieInside, effects } = scene([[pay(1)]], { onUnknown: 'fail' })
    await dieInside()
    await expect(execute()).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    await expect(execute()).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    expect(effects).toEqual([])
  })

  test.each([true, false])('is asked about; the answer is %s', async (answer) => {
    const asked: unknown[] = []
    const approve = (call: unknown): boolean => {
      asked.push(call)
      return answer
    }
    const { execute, dieInside, effects } = scene([[pay(1)]], { onUnknown: 'approve', approve })
    await dieInside()
    expect(await execute()).toBe('done')
    expect(effects).toEqual(answer ? [1] : [])
    expect(asked).toMatchObject([{ runId: 'run', nodeId: 'agent', callId: 'call-0-0', toolName: 'shop.pay', input: { n: 1 } }])
  })

  test.each([
    ['is idempotent', { idempotent: true }],
    ['uses its key', { usesIdempotencyKey: true }],
  ])('is repeated if its tool %s, with the same key', async (_, tool) => {
    const { execute, dieInside, effects, keys, engine } = scene([[pay(1)]], { tool })
    await dieInside()
    expect(await execute('tool')).toBe('died')
    engine.forget('tool')
    expect(await execute()).toBe('done')
    expect(effects).toEqual([1])
    expect(keys).toEqual([expect.stringMatching(/^tw2_[0-9a-f]{64}$/u)])
  })

  test.each<[string, ToolProbe<string> | undefined, number[], RegExp]>([
    ['was made', { done: true, output: 'paid before' }, [], /^paid before$/u],
    ['was not made', { done: false }, [1], /^paid 1$/u],
    ['cannot be found', undefined, [], /OUTCOME_UNKNOWN/u],
  ])('is looked up by its key: it %s', async (_, found, made, seen) => {
    const probed: unknown[] = []
    const probe = async (args: unknown, { idempotencyKey }: { idempotencyKey: string }) => {
      probed.push([args, idempotencyKey])
      return found
    }
    const { execute, dieInside, effects, model } = scene([[pay(1)]], { tool: { probe } })
    await dieInside()
    expect(await execute()).toBe('done')
    expect(effects).toEqual(made)
    expect(probed).toEqual([[{ n: 1 }, expect.stringMatching(/^tw2_/u)]])
    expect(String(seenBy(model)[0]?.output.value)).toMatch(seen)
  })
})

test('two executors at once: one makes the call, the other waits and gets its result', async () => {
  const file = join(makeSandbox().root, 'runs.db')
  const journals = [await openJournal(file), await openJournal(file)] as const
  let calls = 0
  const tool = defineTool({
    name: 'slow',
    schema: z.object({}),
    sideEffect: true,
    execute: async (_args, _ctx) => {
      calls += 1
      await new Promise((resolve) => setTimeout(resolve, 300))
      return `made ${calls}`
    },
  })
  const call = { runId: 'run', callId: 'one', tool, input: {} }
  expect(await Promise.all(journals.map((journal) => callOnce(journal, call)))).toEqual(['made 1', 'made 1'])
  await expect(callOnce(journals[0], { ...call, input: { other: true } })).rejects.toMatchObject({ code: 'REPLAY_DIFFERS' })
  await Promise.all(journals.map((journal) => journal.close()))
})

describe('tools of every kind', () => {
  const opened = async (): Promise<Journal> => {
    const journal = await openJournal('memory:')
    onTestFinished(() => journal.close())
    return journal
  }

  test('a plain tool counts as having a side effect; a generator gives its last value', async () => {
    const journal = await opened()
    const plain = { description: 'plain', inputSchema: z.object({}), execute: async () => ({ at: 1 }) }
    expect(await callOnce(journal, { runId: 'run', callId: 'plain', tool: plain, toolName: 'plain', input: {} })).toEqual({ at: 1 })
    const generator = defineTool({
      name: 'steps',
      schema: z.object({}),
      execute: async function* () {
        yield 1
        yield 2
      },
    })
    expect(await callOnce(journal, { runId: 'run', callId: 'steps', tool: generator, input: {} })).toBe(2)
    expect(await callOnce(journal, { runId: 'run', callId: 'steps', tool: generator, input: {} })).toBe(2)
    expect(await journal.listRun('run')).toMatchObject([
      { toolName: 'plain', sideEffect: true, idempotent: false, status: 'success' },
      { toolName: 'steps', sideEffect: false, status: 'success' },
    ])
  })

  test('a built-in tool is made once, and a refused call again', async () => {
    const sandbox = makeSandbox()
    const journal = await opened()
    const { write, edit } = createTools({ rootDir: sandbox.root })
    const call = { runId: 'run', callId: 'w', tool: write, input: { path: 'a.txt', content: 'a\n' } }
    await callOnce(journal, call)
    expect(existsSync(sandbox.at('a.txt'))).toBe(true)
    await write.execute({ path: 'a.txt', content: 'changed by hand\n' })
    await callOnce(journal, call)
    expect(sandbox.text('a.txt')).toBe('changed by hand\n')
    const refused = { runId: 'run', callId: 'e', tool: edit, input: { path: 'missing.txt', patch: '@@ -1 +1 @@\n-a\n+b\n' } }
    await expect(callOnce(journal, refused)).rejects.toMatchObject({ code: expect.stringMatching(/^TOOL_/u) })
    await write.execute({ path: 'missing.txt', content: 'a\n' })
    await callOnce(journal, refused)
    expect(sandbox.text('missing.txt')).toBe('b\n')
  })

  test.each([
    [100, 'x'.repeat(500), '502 bytes are more than the journal keeps (maxOutputBytes)'],
    [10_000_000, 'x'.repeat(1_500_000), 'it is too large for a row'],
    [10_000_000, Array.from({ length: 60_000 }, () => 1), 'it is too large for a row'],
  ])(
    'an output that the row does not hold whole is not made up, and the reason is told: limit %i',
    async (maxOutputBytes, output, reason) => {
      const journal = await openJournal('memory:', { maxOutputBytes })
      const tool = defineTool({ name: 'long', schema: z.object({}), sideEffect: true, usesIdempotencyKey: false, execute: () => output })
      const call = { runId: 'run', callId: 'long', tool, input: {} }
      await callOnce(journal, call)
      const message = expect.stringContaining(`long, \`long\`; ${reason} `)
      await expect(callOnce(journal, call)).rejects.toMatchObject({ code: 'REPLAY_INCOMPLETE', message })
      await journal.close()
    },
  )

  test('an abort ends a call, whose outcome is unknown then', async () => {
    const journal = await opened()
    const controller = new AbortController()
    const tool = defineTool({
      name: 'slow',
      schema: z.object({}),
      sideEffect: true,
      execute: (_args, { signal }) =>
        new Promise((_, reject) => {
          signal?.addEventListener('abort', () => reject(signal.reason as Error))
          setTimeout(() => controller.abort(), 20)
        }),
    })
    const call = { runId: 'run', callId: 'slow', tool, input: {} }
    await expect(callOnce(journal, { ...call, signal: controller.signal })).rejects.toMatchObject({ name: 'AbortError' })
    await expect(callOnce(journal, call)).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
  })

  test('a journal that fails stops the call before it is made', async () => {
    const effects: number[] = []
    const journal = await openJournal('memory:')
    await journal.close()
    const tool = defineTool({ name: 'pay', schema: z.object({}), sideEffect: true, execute: (_args, _ctx) => effects.push(9) })
    await expect(callOnce(journal, { runId: 'r', callId: 'c', tool, input: {} })).rejects.toMatchObject({ code: 'JOURNAL_CLOSED' })
    expect(effects).toEqual([])
  })
})

test('an answer that streams is gathered in its step, and streams again', async () => {
  const journal = await openJournal('memory:')
  onTestFinished(() => journal.close())
  const engine = new ToyEngine()
  const finish = { type: 'finish', finishReason: { unified: 'stop', raw: undefined }, usage: script('x')[0]?.usage }
  const chunks = [
    { type: 'stream-start', warnings: [] },
    { type: 'response-metadata', id: 'r', modelId: 'm', timestamp: new Date(0) },
    { type: 'text-start', id: '1' },
    { type: 'text-delta', id: '1', delta: 'hello ' },
    { type: 'text-delta', id: '1', delta: 'world' },
    { type: 'text-end', id: '1' },
    finish,
  ]
  let asked = 0
  const model = new MockLanguageModelV4({
    doStream: async () => {
      asked += 1
      return { stream: simulateReadableStream({ chunks }) } as never
    },
  })
  for (let execution = 0; execution < 2; execution += 1) {
    const agent = new ToolLoopAgent(durable({ model, tools: {}, journal, runId: 'run', step: engine.steps() }))
    const result = await agent.stream({ prompt: 'go' })
    const texts: string[] = []
    for await (const text of result.textStream) texts.push(text)
    expect(texts.join('')).toBe('hello world')
    expect((await result.response).timestamp).toEqual(new Date(0))
  }
  expect(asked).toBe(1)
})

test.each(['generate', 'stream'] as const)('an abort of the model ends the run, and is kept: %s', async (way) => {
  const journal = await openJournal('memory:')
  onTestFinished(() => journal.close())
  const engine = new ToyEngine()
  let asked = 0
  const aborts = (controller: AbortController) => async (): Promise<never> => {
    asked += 1
    controller.abort()
    throw controller.signal.reason
  }
  for (let execution = 0; execution < 2; execution += 1) {
    const controller = new AbortController()
    const ask = aborts(controller)
    const model = new MockLanguageModelV4({ doGenerate: ask, doStream: ask })
    const agent = new ToolLoopAgent(durable({ model, tools: {}, journal, runId: 'run', step: engine.steps() }))
    const call = { prompt: 'go', abortSignal: controller.signal }
    if (way === 'generate') await expect(agent.generate(call)).rejects.toMatchObject({ name: 'AbortError' })
    else {
      const kinds: string[] = []
      for await (const { type } of (await agent.stream(call)).fullStream) kinds.push(type)
      expect(kinds.at(-1)).toMatch(/^(?:abort|error)$/u)
    }
  }
  // The second execution had what the first one kept, and nobody aborted it.
  expect(asked).toBe(1)
})

test('an abort of a call is kept, and the run ends with it in every execution', async () => {
  const controller = new AbortController()
  const tool = {
    execute: (_args: unknown, { signal }: DefinedToolContext) =>
      new Promise((_, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason as Error))
        setTimeout(() => controller.abort(), 20)
      }),
  }
  const { engine, model, rows, executeWith } = scene([[pay(1)]], { tool })
  await expect(executeWith(controller.signal)).rejects.toMatchObject({ name: 'AbortError' })
  await expect(executeWith()).rejects.toMatchObject({ name: 'AbortError' })
  expect(model.doGenerateCalls).toHaveLength(1)
  expect(await rows()).toMatchObject([{ status: 'unknown' }])
  // Where the engine has lost the step, nobody knows whether the call was made.
  engine.forget('tool')
  expect(await executeWith()).toBe('done')
  expect(seenBy(model)).toMatchObject([{ output: { type: 'error-text', value: expect.stringContaining('[OUTCOME_UNKNOWN]') } }])
})

test('the steps of Restate are carried out one after the other', async () => {
  let [running, most] = [0, 0]
  const step = restateSteps({
    run: async (_name, fn) => {
      running += 1
      most = Math.max(most, running)
      await new Promise((resolve) => setTimeout(resolve, 5))
      return fn().finally(() => (running -= 1))
    },
  })
  expect(await Promise.all([1, 2, 3].map((n) => step(`s${n}`, async () => n)))).toEqual([1, 2, 3])
  await expect(step('fails', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(await step('after', async () => 4)).toBe(4)
  expect(most).toBe(1)
})

test('wrong options are told', async () => {
  const journal = await openJournal('memory:')
  onTestFinished(() => journal.close())
  const model = new MockLanguageModelV4()
  const step: Step = (_name, fn) => fn()
  const good = { model, tools: {}, journal, runId: 'run', step }
  for (const wrong of [{ model: 'openai/gpt' }, { journal: {} }, { runId: '' }, { step: 1 }, { onUnknown: 'approve' }, { nope: 1 }]) {
    expect(() => durable({ ...good, ...wrong } as never)).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }))
  }
  await expect(callOnce(journal, { runId: 'r', callId: 'c', tool: {}, input: {} })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  const dbos = { executorID: 'one', listWorkflows: async () => [], resumeWorkflows: async () => undefined }
  const store = { join: async () => undefined, owners: async () => [{ label: 'two', isAlive: true }] }
  for (const [engine, owned, options] of [
    [{}, store, {}],
    [dbos, {}, {}],
    [dbos, store, { everyMs: 0 }],
    // Nobody would see that this executor is alive.
    [dbos, store, {}],
  ]) {
    await expect(superviseDbos(engine as never, owned as never, options as never)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  }
})
