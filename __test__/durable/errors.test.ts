/** Errors of tools: which are kept, how they come back, and what engines get. */
import { ToolLoopAgent } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { defineTool, openJournal, ToolError } from 'toolwright'
import { callOnce, durable } from 'toolwright/durable'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { script } from '../support/scripted-model.ts'
import { ToyEngine } from './toy-engine.ts'

async function opened() {
  const journal = await openJournal('memory:')
  onTestFinished(() => journal.close())
  return journal
}

const refused = () => Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' })

/** A tool that fails a number of times. */
function flaky(more: object, failures = 2, error: () => unknown = refused) {
  let calls = 0
  const tool = defineTool({
    name: 'flaky',
    schema: z.object({}),
    execute: async (_args, ctx) => {
      calls += 1
      if (calls <= failures) throw error()
      return `done with ${String(ctx.callIdempotencyKey).length} characters`
    },
    ...more,
  })
  return { tool, calls: () => calls }
}

describe('an error of a moment', () => {
  test.each([
    ['has no side effect', { sideEffect: false }],
    ['is idempotent', { sideEffect: true, idempotent: true }],
    ['uses its key', { sideEffect: true, usesIdempotencyKey: true }],
    ['has a probe', { sideEffect: true, probe: async () => ({ done: false as const }) }],
  ])('is not kept of a tool that %s: the engine’s next try makes the call', async (_, more) => {
    const journal = await opened()
    const { tool, calls } = flaky(more)
    const call = { runId: 'run', callId: 'one', tool, input: {} }
    for (const _ of [1, 2]) await expect(callOnce(journal, call)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    const output = await callOnce(journal, call)
    expect(await callOnce(journal, call)).toBe(output)
    expect(calls()).toBe(3)
  })

  test('a verdict is kept all the same, and so is every error of a tool that may not be repeated', async () => {
    const journal = await opened()
    const declined = flaky({ sideEffect: true, usesIdempotencyKey: true }, 9, () => Object.assign(new Error('no'), { statusCode: 402 }))
    const unsafe = flaky({ sideEffect: true, usesIdempotencyKey: false }, 9)
    for (const [callId, { tool }] of [
      ['a', declined],
      ['b', unsafe],
    ] as const) {
      const call = { runId: 'run', callId, tool, input: {} }
      for (const _ of [1, 2, 3]) await expect(callOnce(journal, call)).rejects.toThrow()
    }
    expect([declined.calls(), unsafe.calls()]).toEqual([1, 1])
  })
})

test('a kept error has its class, its code and its plain fields, and no request of a client', async () => {
  const journal = await opened()
  class CardDeclined extends Error {
    declineCode = 'insufficient_funds'
    attempts = [1, { at: 2 }]
    config = { headers: { authorization: 'Bearer secret' } }
    apiToken = 'secret'
  }
  const error = Object.assign(new CardDeclined('declined'), { code: 402 })
  const { tool } = flaky({ sideEffect: true }, 9, () => error)
  const range = flaky({ sideEffect: true, name: 'range' }, 9, () => new RangeError('too far'))
  const call = { runId: 'run', callId: 'one', tool, input: {} }
  await expect(callOnce(journal, call)).rejects.toBe(error)
  const again = await callOnce(journal, call).catch((thrown: unknown) => thrown as CardDeclined)
  expect(again).toMatchObject({ message: 'declined', declineCode: 'insufficient_funds', attempts: [1, { at: 2 }], code: 402 })
  expect((again as Error).constructor.name).toBe('CardDeclined')
  expect(again).not.toHaveProperty('config')
  expect(JSON.stringify(await journal.listRun('run'))).not.toContain('secret')
  await callOnce(journal, { ...call, callId: 'two', tool: range.tool }).catch(() => undefined)
  await expect(callOnce(journal, { ...call, callId: 'two', tool: range.tool })).rejects.toBeInstanceOf(RangeError)
})

test('under durable, an error of a moment is the result of its step: the model reads it, and calls again', async () => {
  const journal = await opened()
  const { tool, calls } = flaky({ sideEffect: true, usesIdempotencyKey: true }, 1)
  const engine = new ToyEngine()
  const texts: string[] = []
  for (const _ of [1, 2]) {
    const turns = script([{ tool: 'flaky', input: {} }], [{ tool: 'flaky', input: {} }], 'done')
    const model = new MockLanguageModelV4({ doGenerate: turns as never })
    const agent = new ToolLoopAgent(durable({ model, tools: { flaky: tool }, journal, runId: 'run', step: engine.steps() }))
    const { steps } = await agent.generate({ prompt: 'go' })
    texts.push(JSON.stringify(steps.flatMap(({ content }) => content.filter(({ type }) => /^tool-(?:error|result)$/u.test(type)))))
    expect(steps.map(({ content }) => content.at(-1)?.type)).toEqual(['tool-error', 'tool-result', 'text'])
  }
  // The engine tries no step again, and its second execution gets what it has kept of both.
  expect(calls()).toBe(2)
  expect(texts[1]).toBe(texts[0])
})

describe('engines get errors that they do not try again in their own way', () => {
  class TerminalError extends Error {}
  const finalError = (error: Error) => new TerminalError(error.message, { cause: error })

  test('from callOnce: kept errors and those that nothing changes; not those of a moment', async () => {
    const journal = await opened()
    const call = { runId: 'run', callId: 'one', tool: flaky({ sideEffect: true }, 9).tool, input: {}, finalError }
    for (const _ of [1, 2]) await expect(callOnce(journal, call)).rejects.toBeInstanceOf(TerminalError)
    await expect(callOnce(journal, { ...call, input: { other: 1 } })).rejects.toMatchObject({ cause: { code: 'REPLAY_DIFFERS' } })
    const safe = { ...call, callId: 'two', tool: flaky({ sideEffect: true, idempotent: true }, 9).tool }
    await expect(callOnce(journal, safe)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    const aborted = { ...call, callId: 'three', signal: AbortSignal.abort(new Error('stop')) }
    await expect(callOnce(journal, aborted)).rejects.toThrow('stop')
  })

  test('from durable, where the run ends', async () => {
    const journal = await opened()
    const model = new MockLanguageModelV4({ doGenerate: script([{ tool: 'pay', input: {} }], 'done') as never })
    const unknown = new ToolError({ code: 'OUTCOME_UNKNOWN', summary: 'it is not known' })
    const { tool } = flaky({ sideEffect: true }, 9, () => unknown)
    const parts = durable({
      model,
      tools: { pay: tool },
      journal,
      runId: 'run',
      step: new ToyEngine().steps(),
      onUnknown: 'fail',
      finalError,
    })
    await expect(new ToolLoopAgent(parts).generate({ prompt: 'go' })).rejects.toBeInstanceOf(TerminalError)
  })
})
