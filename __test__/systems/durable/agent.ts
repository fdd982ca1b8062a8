// The agent of the kill tests: five answers of a model and six calls of a tool, two of them equal, two pairs at the same time.
import { setTimeout as pause } from 'node:timers/promises'
import { ToolLoopAgent } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { defineTool, type Journal } from 'toolwright'
import { durable, type Step } from 'toolwright/durable'
import { z } from 'zod'
import { script } from '../../support/scripted-model.ts'

/** `alone`: the engine without a journal. The others: what the tool promises about a second call. */
export type Mode = 'alone' | 'tell' | 'keys' | 'probe'

/** How often each payment is due. */
export const DUE: Readonly<Record<number, number>> = { 1: 1, 2: 1, 3: 1, 4: 2, 5: 1 }
const TURNS = [[1], [2, 3], [4, 4], [5]]

/** The answer of a model that is made up. Its ids are new in every answer, as those of a real one are. */
export async function paymentAnswer(prompt: readonly { role: string }[], more: object = {}) {
  await pause(Math.random() * 20)
  const turns = TURNS.map((turn) => turn.map((n) => ({ tool: 'pay', input: { n, ...more }, id: `call-${Math.random()}` })))
  return script(...turns, 'done')[prompt.filter(({ role }) => role === 'assistant').length] as ReturnType<typeof script>[number]
}

const paymentModel = () => new MockLanguageModelV4({ doGenerate: async ({ prompt }) => (await paymentAnswer(prompt)) as never })

/** Runs the agent of a task. @returns of which payments the model was told that nobody knows whether they were made. */
export async function runAgent(options: { task: string; mode: Mode; service: string; journal: Journal; step: Step }): Promise<number[]> {
  const { task, mode, service, journal, step } = options
  const address = (n: number, key: string | null): string =>
    `${service}/?task=${encodeURIComponent(task)}&n=${n}&key=${mode === 'alone' ? '' : key}${mode === 'keys' ? '&honoured=1' : ''}`
  const pay = defineTool({
    name: 'pay',
    schema: z.object({ n: z.number() }),
    sideEffect: true,
    execute: async ({ n }, ctx) => {
      await fetch(address(n, ctx.callIdempotencyKey), { method: 'POST' })
      return `paid ${n}`
    },
    ...(mode === 'keys' && { usesIdempotencyKey: true }),
    ...(mode === 'probe' && {
      probe: async ({ n }: { n: number }, { idempotencyKey }: { idempotencyKey: string }) => {
        const { done } = (await (await fetch(address(n, idempotencyKey))).json()) as { done: boolean }
        return done ? { done, output: `paid ${n}` } : { done }
      },
    }),
  })
  let calls = 0
  const alone = {
    ...pay,
    execute: async (input: { n: number }) => step(`pay ${(calls += 1)}`, async () => pay.execute(input)),
  }
  const parts = durable({ model: paymentModel(), tools: { pay }, journal, runId: task, step })
  const agent = new ToolLoopAgent(mode === 'alone' ? { model: parts.model, tools: { pay: alone } } : parts)
  const { steps } = await agent.generate({ prompt: 'go' })
  return steps.flatMap(({ content }) =>
    content.flatMap((part) => {
      if (part.type !== 'tool-error') return []
      if (!String((part.error as Error).message ?? part.error).includes('OUTCOME_UNKNOWN')) throw part.error
      return [(part.input as { n: number }).n]
    }),
  )
}
