/** What users of engines and agents have reported elsewhere, each as its program would meet it here. */
import { join } from 'node:path'
import { ToolLoopAgent } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { defineTool, openJournal } from 'toolwright'
import { callOnce, durable, type Step } from 'toolwright/durable'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { makeSandbox } from '../support/sandbox.ts'
import { script, type Turn } from '../support/scripted-model.ts'

beforeEach(() => void vi.spyOn(console, 'warn').mockImplementation(() => undefined))

async function scene(more: object = {}) {
  const file = join(makeSandbox().root, 'runs.db')
  const opened = async () => {
    const journal = await openJournal(file)
    onTestFinished(() => journal.close())
    return journal
  }
  const sent: string[] = []
  const mail = defineTool({
    name: 'mail',
    schema: z.object({ to: z.string() }),
    sideEffect: true,
    usesIdempotencyKey: false,
    execute: async ({ to }) => {
      sent.push(to)
      await new Promise((resolve) => setTimeout(resolve, 30))
      return 'sent'
    },
    ...more,
  })
  const keepsNothing: Step = async (_name, fn) => fn()
  /** The whole agent as one activity, step or job, executed once. */
  const activity = async (turns: (Turn | Error)[], signal?: AbortSignal) => {
    const answers = turns.filter((turn) => !(turn instanceof Error)) as Turn[]
    const good = script(...answers)
    let asked = 0
    const doGenerate = async () => {
      const turn = turns[asked]
      const answer = good[Math.min(asked, good.length - 1)]
      asked += 1
      if (turn instanceof Error || turn === undefined) throw turn ?? new Error('the model is overloaded')
      return answer
    }
    const model = new MockLanguageModelV4({ doGenerate: doGenerate as never })
    const parts = durable({ model, tools: { mail }, journal: await opened(), runId: 'run', step: keepsNothing })
    return new ToolLoopAgent({ ...parts, maxRetries: 0 }).generate({ prompt: 'go', ...(signal && { abortSignal: signal }) })
  }
  return { opened, sent, mail, activity }
}

const to = (name: string, id: string): Turn => [{ tool: 'mail', input: { to: name }, id }]

test('agentarea 320 (Temporal): a model error repeats the whole agent, and its command', async () => {
  const { activity, sent } = await scene()
  for (const attempt of [1, 2]) await expect(activity([to('ada', `call-${attempt}`)])).rejects.toThrow('overloaded')
  await activity([to('ada', 'call-3'), 'done'])
  expect(sent).toEqual(['ada'])
})

test('agno 10366, crewAI 5802: retries repeat calls, with new ids each time', async () => {
  const { activity, sent } = await scene()
  await expect(activity([to('ada', 'a1'), to('bob', 'a2')])).rejects.toThrow('overloaded')
  await activity([to('ada', 'b1'), to('bob', 'b2'), 'done'])
  expect(sent).toEqual(['ada', 'bob'])
})

test('recoupable 1918 (Workflow DevKit): a step over its time limit is killed, and mails three times', async () => {
  const { activity, sent } = await scene({
    execute: async ({ to: name }: { to: string }) => {
      sent.push(name)
      // It sent the mail, and hangs.
      await new Promise(() => undefined)
    },
  })
  for (const id of ['a', 'b', 'c']) {
    await activity([to('ada', id), 'done'], AbortSignal.timeout(id === 'a' ? 100 : 2_000)).catch(() => undefined)
  }
  expect(sent).toEqual(['ada'])
})

test('langgraph 6208: a node is executed again when its graph goes on', async () => {
  const { opened, sent, mail } = await scene()
  for (const _ of [1, 2, 3]) await callOnce(await opened(), { runId: 'thread', callId: 'call_1', tool: mail, input: { to: 'ada' } })
  expect(sent).toEqual(['ada'])
})

test('bullmq 439, bull 1310, dbos-transact-java 491: a stalled job runs on two workers at once', async () => {
  const { opened, sent, mail } = await scene()
  const journals = [await opened(), await opened()]
  const call = { runId: 'queue', callId: 'job-7', tool: mail, input: { to: 'ada' } }
  expect(await Promise.all(journals.map((journal) => callOnce(journal, call)))).toEqual(['sent', 'sent'])
  expect(sent).toEqual(['ada'])
})
