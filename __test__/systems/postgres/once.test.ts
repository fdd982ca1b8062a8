import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { ToolLoopAgent } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { defineTool, type Journal, runTask } from 'toolwright'
import { callOnce, durable, settleCall } from 'toolwright/durable'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { startScript } from '../../support/child-script.ts'
import { script } from '../../support/scripted-model.ts'
import { ToyEngine } from '../../durable/toy-engine.ts'
import { opened, useServer } from './servers.ts'

const own = useServer()

describe.each([undefined, 'day' as const])('partition: %s', (partition) => {
  const two = async (): Promise<[Journal, Journal]> => {
    const schema = own.schema()
    const journals: [Journal, Journal] = [await opened(own.open({ schema, partition })), await opened(own.open({ schema, partition }))]
    onTestFinished(async () => void (await Promise.all(journals.map((journal) => journal.close()))))
    return journals
  }

  test('turns and agents of one run, with ids that begin at 0: each payment is made, and once', async () => {
    const journals = await two()
    const effects: string[] = []
    const pay = defineTool({
      name: 'pay',
      schema: z.object({ to: z.string() }),
      sideEffect: true,
      execute: async ({ to }, ctx) => `${to} ${String(effects.push(`${to} ${ctx.callIdempotencyKey}`))}`,
    })
    const engines = [new ToyEngine(), new ToyEngine()] as const
    const turn = (journal: Journal, engine: ToyEngine, to: string, step = engine.steps()) => {
      const model = new MockLanguageModelV4({
        doGenerate: script([{ tool: 'pay', input: { to }, id: 'functions.pay:0' }], 'done') as never,
      })
      return new ToolLoopAgent(durable({ model, tools: { pay }, journal, runId: 'run', step })).generate({ prompt: 'go' })
    }
    for (const _ of [1, 2]) {
      const step = engines[0].steps()
      for (const to of ['bob', 'bob', 'eve']) await turn(journals[0], engines[0], to, step)
      await turn(journals[1], engines[1], 'bob')
    }
    expect(effects.map((effect) => effect.split(' ')[0])).toEqual(['bob', 'bob', 'eve', 'bob'])
    expect(new Set(effects).size).toBe(4)
  })

  test('a call whose id no row can hold is told to the model, and no engine tries it for ever', async () => {
    const [journal] = await two()
    const effects: string[] = []
    const pay = defineTool({ name: 'pay', schema: z.object({}), sideEffect: true, execute: (_args, _ctx) => effects.push('paid') })
    // What repeats itself would be compressed.
    const id = randomBytes(3_000).toString('base64')
    const engine = new ToyEngine()
    for (const execution of [1, 2]) {
      const model = new MockLanguageModelV4({ doGenerate: script([{ tool: 'pay', input: {}, id }], 'done') as never })
      const agent = new ToolLoopAgent(durable({ model, tools: { pay }, journal, runId: 'run', step: engine.steps() }))
      const { steps } = await agent.generate({ prompt: 'go' })
      expect(steps[0]?.content.at(-1)).toMatchObject({ type: 'tool-error', error: { code: 'JOURNAL_ROW_TOO_LARGE' } })
      expect(model.doGenerateCalls).toHaveLength(execution === 1 ? 2 : 0)
    }
    expect(effects).toEqual([])
  })

  test.each([
    ['after it had read its key', 'read', 'made'],
    ['before it had read its key', 'unread', 'REPLAY_UNSAFE'],
  ])('what a process was killed %s: the next attempt is answered with it', async (_, point, answer) => {
    const schema = own.schema()
    await own.open({ schema, partition }).migrate()
    const where = `${own.server.url}${own.server.url.includes('?') ? '&' : '?'}schema=${schema}`
    const program = join(import.meta.dirname, '..', '..', 'journal', 'protected-process.ts')
    expect(await startScript(program, [where, point]).ended).toMatchObject({ signal: 'SIGKILL' })
    await own.pool.query(`UPDATE "${schema}"._toolwright_owners SET expires_at = 'epoch'`)
    const journal = await opened(own.open({ schema }))
    onTestFinished(() => journal.close())
    const attempt = runTask({ journal, runId: 'run', nodeId: 'node', onReplayUnsafe: 'refuse' }, () => 'made')
    expect(await attempt.catch((error: { code: string }) => error.code)).toBe(answer)
    const rows = await journal.listToolCalls('run', 'node', 0)
    expect(rows.map((row) => row.acceptsIdempotencyKey)).toEqual([true, point === 'read'])
  })

  test('values, errors and settled calls are the same in every process', async () => {
    const [one, other] = await two()
    const output = { at: new Date(0), n: 12n, list: [undefined, Number.NaN], money: { toJSON: () => 5 } }
    const get = defineTool({ name: 'get', schema: z.object({}), execute: () => output })
    const call = { runId: 'run', callId: 'get', tool: get, input: {} }
    const first = await callOnce(one, call)
    expect(first).toEqual({ at: new Date(0), n: 12n, list: [null, Number.NaN], money: 5 })
    expect(await callOnce(other, call)).toEqual(first)
    const hangs = defineTool({
      name: 'hangs',
      schema: z.object({}),
      sideEffect: true,
      execute: (_args, _ctx) => new Promise(() => undefined),
    })
    const stuck = { runId: 'run', callId: 'stuck', tool: hangs, input: {} }
    const controller = new AbortController()
    const running = callOnce(one, { ...stuck, signal: controller.signal }).catch((error: unknown) => error)
    await expect(callOnce(other, { ...stuck, staleAfterMs: 300 })).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    await settleCall(other, { runId: 'run', callId: 'stuck', outcome: 'done', output: 'by hand', by: 'ada' })
    expect(await callOnce(other, stuck)).toBe('by hand')
    controller.abort(new Error('enough'))
    expect(await running).toMatchObject({ message: 'enough' })
    expect(await callOnce(one, stuck)).toBe('by hand')
  })
})
