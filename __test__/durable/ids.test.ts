/** Which calls are the same: those of one object with one id, in every execution. */
import { join } from 'node:path'
import { ToolLoopAgent } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { defineTool, openJournal } from 'toolwright'
import { durable, type Step } from 'toolwright/durable'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { startScript } from '../support/child-script.ts'
import { makeSandbox } from '../support/sandbox.ts'
import { script, seenBy, type Turn } from '../support/scripted-model.ts'
import { ToyEngine } from './toy-engine.ts'

const pay = (to: string, id = 'functions.pay:0') => ({ tool: 'pay', input: { to }, id })

let warnings: string[] = []
beforeEach(() => {
  warnings = []
  vi.spyOn(console, 'warn').mockImplementation((text: unknown) => void warnings.push(String(text)))
})

async function scene() {
  const file = join(makeSandbox().root, 'runs.db')
  const effects: string[] = []
  const keys = new Set<string | null>()
  const tool = defineTool({
    name: 'pay',
    schema: z.object({ to: z.string() }),
    sideEffect: true,
    execute: async ({ to }, ctx) => {
      effects.push(to)
      keys.add(ctx.callIdempotencyKey)
      return `receipt ${effects.length} for ${to}`
    },
  })
  const journal = await openJournal(file)
  onTestFinished(() => journal.close())
  /** A turn of a chat: an agent of its own. */
  const turn = async (
    step: Step,
    turns: Turn[],
    more: { prompt?: string; signal?: AbortSignal } = {},
    from = journal,
    options: object = {},
  ) => {
    const { prompt = 'pay', signal } = more
    const model = new MockLanguageModelV4({ doGenerate: script(...turns) as never })
    const parts = durable({ model, tools: { pay: tool }, journal: from, runId: 'run', step, ...options })
    await new ToolLoopAgent(parts).generate({ prompt, ...(signal && { abortSignal: signal }) })
    if (model.doGenerateCalls.length === 0) return []
    return seenBy(model).map(({ output }) => String(output.value))
  }
  return { file, journal, effects, keys, tool, turn }
}

describe('a model that counts its ids from 0 in every answer', () => {
  test('three turns of a chat, each an object of its own: each payment is made, and once, in every execution', async () => {
    const { turn, effects, keys } = await scene()
    const engine = new ToyEngine()
    const seen: string[][] = []
    for (const _ of [1, 2, 3]) {
      const step = engine.steps()
      for (const to of ['bob', 'bob', 'eve']) seen.push(await turn(step, [[pay(to)], 'done']))
    }
    expect(effects).toEqual(['bob', 'bob', 'eve'])
    expect(keys.size).toBe(3)
    expect(seen.slice(0, 3)).toEqual([['receipt 1 for bob'], ['receipt 2 for bob'], ['receipt 3 for eve']])
    expect(warnings).toEqual([])
  })

  test('two agents side by side, in one process and in two: each makes its own', async () => {
    const { file, turn, effects } = await scene()
    const other = await openJournal(file)
    onTestFinished(() => other.close())
    const engines = [new ToyEngine(), new ToyEngine()]
    await Promise.all([turn(engines[0]!.steps(), [[pay('bob')], 'done']), turn(engines[1]!.steps(), [[pay('bob')], 'done'], {}, other)])
    expect(effects).toEqual(['bob', 'bob'])
    // Each is executed again.
    await turn(engines[0]!.steps(), ['never asked'])
    await turn(engines[1]!.steps(), ['never asked'], {}, other)
    expect(effects).toEqual(['bob', 'bob'])
  })

  test('an id that is repeated with other arguments is refused before anything happens', async () => {
    const { turn, effects } = await scene()
    const engine = new ToyEngine()
    await turn(engine.steps(), [[pay('bob')], 'done'])
    // The program was changed: the same step of the same object asks for something else.
    const step = engine.steps()
    const changed: Step = async (name, fn) => {
      if (name.startsWith('tool ')) return fn()
      return JSON.parse(JSON.stringify(await step(name, fn)).replaceAll('bob', 'eve')) as Awaited<ReturnType<typeof fn>>
    }
    await expect(turn(changed, ['never asked'])).rejects.toMatchObject({ code: 'REPLAY_DIFFERS' })
    expect(effects).toEqual(['bob'])
  })
})

describe('an engine that keeps nothing: the whole agent is one step of it', () => {
  const keepsNothing: Step = async (_name, fn) => fn()

  test('after a failure, the model is told of the call, and nothing is made twice; new ids change nothing', async () => {
    const { turn, effects } = await scene()
    const fails: Turn[] = [[pay('bob', 'call-a')]]
    await expect(turn(keepsNothing, fails)).rejects.toThrow()
    expect(effects).toEqual(['bob'])
    const seen = await turn(keepsNothing, [[pay('bob', 'call-b')], 'done'])
    expect(effects).toEqual(['bob'])
    expect(seen).toEqual([expect.stringMatching(/already made in this run.*receipt 1 for bob.*\[REPLAY_UNSAFE\]/su)])
    expect(warnings).toEqual([expect.stringContaining('the engine keeps no steps')])
  })

  test('the same ids: the same', async () => {
    const { turn, effects } = await scene()
    await expect(turn(keepsNothing, [[pay('bob')]])).rejects.toThrow()
    const seen = await turn(keepsNothing, [[pay('bob')], 'done'])
    expect(effects).toEqual(['bob'])
    expect(seen).toEqual([expect.stringContaining('[REPLAY_UNSAFE]')])
  })

  test('in another process; the model may make it once more, if it is meant', async () => {
    const { file, effects, turn } = await scene()
    await turn(keepsNothing, [[pay('bob')], 'done'])
    const { stdout, stderr } = await startScript(join(import.meta.dirname, 'keeps-nothing-process.ts'), [file]).ended
    expect(JSON.parse(stdout)).toEqual([expect.stringContaining('[REPLAY_UNSAFE]'), 'paid bob again'])
    expect(stderr).toContain('has 1 calls of an execution whose steps the engine does not know')
    expect(effects).toEqual(['bob'])
  })

  test('other arguments are another call; and the run may end instead', async () => {
    const { turn, effects, journal } = await scene()
    await expect(turn(keepsNothing, [[pay('bob', 'a')]])).rejects.toThrow()
    await turn(keepsNothing, [[pay('eve', 'b')], 'done'])
    expect(effects).toEqual(['bob', 'eve'])
    const third = turn(keepsNothing, [[pay('bob', 'c')], 'done'], {}, journal, { onUnknown: 'fail' })
    await expect(third).rejects.toMatchObject({ code: 'REPLAY_UNSAFE' })
    expect(effects).toEqual(['bob', 'eve'])
  })

  test('an abort in the middle, and the same agent again', async () => {
    const { turn, effects } = await scene()
    const controller = new AbortController()
    const first = turn(
      async (name, fn) => {
        const value = await fn()
        if (name.startsWith('tool')) controller.abort(new Error('the step took too long'))
        return value
      },
      [[pay('bob', 'a')], 'done'],
      { signal: controller.signal },
    )
    await expect(first).rejects.toThrow()
    await turn(keepsNothing, [[pay('bob', 'b')], 'done'])
    expect(effects).toEqual(['bob'])
  })
})

test('tools without the model of their object are numbered by a step of their own, once', async () => {
  const { journal, tool, effects } = await scene()
  const names: string[] = []
  const engine = new ToyEngine()
  for (const _ of [1, 2]) {
    const step = engine.steps((name) => void names.push(name))
    const { tools } = durable({ model: new MockLanguageModelV4(), tools: { pay: tool }, journal, runId: 'run', step })
    const execute = tools.pay.execute as (input: object, options: object) => Promise<string>
    const results = await Promise.all(['a', 'b'].map((id) => execute({ to: 'bob' }, { toolCallId: id, messages: [] })))
    expect(results.map((text) => text.slice(0, 7))).toEqual(['receipt', 'receipt'])
  }
  expect(effects).toEqual(['bob', 'bob'])
  // Which of the two ends first is no matter.
  expect(names.toSorted()).toEqual(['durable', 'tool pay a', 'tool pay b'])
})
