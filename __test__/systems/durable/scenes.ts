// Agents that do what real ones do: equal calls, ids that their model repeats, calls at once, answers in pieces, errors, aborts.
import { setTimeout as pause } from 'node:timers/promises'
import { inspect } from 'node:util'
import { ToolLoopAgent } from 'ai'
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test'
import { defineTool, type Journal, ToolError } from 'toolwright'
import { durable, type Step } from 'toolwright/durable'
import { z } from 'zod'
import { script, type Turn } from '../../support/scripted-model.ts'

const pay = (n: number, id: string) => ({ tool: 'pay', input: { n }, id })

/** What the model of each scene answers, before it says `done`. */
export const SCENES = {
  equal: [[pay(4, 'a')], [pay(4, 'b'), pay(4, 'c')], [pay(4, 'd')]],
  'repeated-ids': [[pay(1, 'call_0')], [pay(2, 'call_0'), pay(2, 'call_1')], [pay(3, 'call_0')]],
  parallel: [[pay(1, 'a'), pay(2, 'b'), pay(3, 'c'), pay(4, 'd')]],
  streamed: [[pay(1, 'call_0')], [pay(2, 'call_0')]],
  'tool-error': [[pay(1, 'a')], [pay(2, 'b')]],
  aborted: [[pay(1, 'a')], [pay(2, 'b')]],
  turns: [[pay(4, 'call_0')], [pay(4, 'call_0')]],
  values: [[pay(1, 'a')], [pay(2, 'b')]],
  final: [[pay(1, 'a')], [pay(2, 'b')]],
} satisfies Record<string, Turn[]>
export type Scene = keyof typeof SCENES

/** How often each payment is due. */
export function dueOf(scene: Scene): Record<number, number> {
  const due: Record<number, number> = {}
  for (const { input } of SCENES[scene].flat()) due[input.n] = (due[input.n] ?? 0) + 1
  return due
}

/** What came of a scene, as the engine keeps it. */
export interface SceneEnd {
  text: string
  /** What the model was told of each call, in the order of its answers. */
  results: string[]
  /** The error with which the agent ended. */
  failed?: string
}

/** The number of an inquiry of the model's, among the payments that the service counts. */
export const INQUIRY = 0

export interface SceneOptions {
  scene: Scene
  /** The engine's own error, with which the scene `final` ends. */
  finalError?: (error: Error) => Error
  task: string
  service: string
  journal: Journal
  step: Step
}

/** What JSON has no form for. A big integer is nothing that the AI SDK can tell a model. */
const VALUES = [undefined, { at: new Date(0), bytes: new Uint8Array([1, 2]), ratio: Number.NaN }, undefined] as const

export async function runScene({ scene, task, service, journal, step, finalError }: SceneOptions): Promise<SceneEnd> {
  const post = (n: number, key: string | null) =>
    fetch(`${service}/?task=${encodeURIComponent(task)}&n=${n}&key=${key ?? ''}`, { method: 'POST' })
  const abort = new AbortController()
  const tool = defineTool({
    name: 'pay',
    schema: z.object({ n: z.number() }),
    sideEffect: true,
    execute: async ({ n }, ctx) => {
      await post(n, ctx.callIdempotencyKey)
      if (scene === 'tool-error') throw Object.assign(new Error(`card ${n} declined`), { code: 'DECLINED' })
      if (scene === 'final') throw new ToolError({ code: 'OUTCOME_UNKNOWN', summary: `it is not known whether ${n} was paid` })
      if (scene === 'values') return VALUES[n]
      if (scene === 'aborted') {
        abort.abort()
        await pause(60_000, undefined, { signal: ctx.signal })
      }
      return `paid ${n}`
    },
  })
  // The model is made up: its answer depends on how many it sees that it gave. Each turn of a chat begins anew.
  const turns = scene === 'turns' ? SCENES.turns.map((turn) => [turn]) : [SCENES[scene]]
  let answers = script('done')
  const answer = async (prompt: readonly { role: string }[]) => {
    await post(INQUIRY, null)
    return answers[prompt.filter(({ role }) => role === 'assistant').length] as (typeof answers)[number]
  }
  const model = new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => (await answer(prompt)) as never,
    doStream: async ({ prompt }) => ({ stream: simulateReadableStream({ chunks: chunksOf(await answer(prompt)) }) }) as never,
  })
  const policy = scene === 'final' ? { onUnknown: 'fail' as const, finalError } : {}
  const call = { prompt: 'go', abortSignal: abort.signal }
  const oneTurn = async (turn: Turn[]): Promise<SceneEnd> => {
    answers = script(...turn, 'done')
    const agent = new ToolLoopAgent(durable({ model, tools: { pay: tool }, journal, runId: task, step, ...policy }))
    const result = scene === 'streamed' ? await agent.stream(call) : await agent.generate(call)
    let text = ''
    if ('textStream' in result) for await (const piece of result.textStream) text += piece
    const steps = await result.steps
    const results = steps.flatMap(({ content }) =>
      content.flatMap((part) => {
        if (part.type === 'tool-result') return [typeof part.output === 'string' ? part.output : inspect(part.output)]
        return part.type === 'tool-error' ? [String((part.error as Error).message ?? part.error)] : []
      }),
    )
    return { text: text || (await result.text), results }
  }
  try {
    const ends: SceneEnd[] = []
    for (const turn of turns) ends.push(await oneTurn(turn))
    return { text: ends.at(-1)?.text ?? '', results: ends.flatMap(({ results }) => results) }
  } catch (error) {
    if (scene === 'final') throw error
    return { text: '', results: [], failed: (error as Error).name }
  }
}

/** An answer in pieces, as a provider sends it. */
function chunksOf({ content, finishReason, usage }: ReturnType<typeof script>[number]): object[] {
  const parts = content.flatMap((part): object[] => {
    if (part.type === 'text') {
      const deltas = [...part.text].map((delta) => ({ type: 'text-delta', id: 't', delta }))
      return [{ type: 'text-start', id: 't' }, ...deltas, { type: 'text-end', id: 't' }]
    }
    const { toolCallId: id, toolName, input } = part
    const deltas = [...input].map((delta) => ({ type: 'tool-input-delta', id, delta }))
    return [{ type: 'tool-input-start', id, toolName }, ...deltas, { type: 'tool-input-end', id }, part]
  })
  return [{ type: 'stream-start', warnings: [] }, ...parts, { type: 'finish', finishReason, usage }]
}
