import { generateText, stepCountIs, streamText } from 'ai'
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test'
import { defineTool, getToolContext, runWithToolContext, type ToolCallRecord } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

const counting = (seen: { broken?: boolean } = {}) =>
  defineTool({
    name: 'count',
    schema: z.object({ to: z.number() }),
    async *execute({ to }, ctx) {
      let finished = false
      try {
        for (let n = 1; n <= to; n += 1) {
          await Promise.resolve()
          yield `${getToolContext()?.runId ?? 'none'}/${ctx.runId}:${n}`
        }
        finished = true
      } finally {
        seen.broken = !finished
      }
    },
  })

function recorded() {
  const records: ToolCallRecord[] = []
  return { records, context: { runId: 'r', nodeId: 'n', recordToolCall: async (record: ToolCallRecord) => void records.push(record) } }
}

describe('defineTool with an async generator', () => {
  test('yields its results, and the last one is what is recorded', async () => {
    const { records, context } = recorded()
    const results = runWithToolContext(context, () => counting().execute({ to: 2 }, { toolCallId: 'c' }))
    const yielded: string[] = []
    // Asked for outside of the context, and running inside of it all the same.
    for await (const result of results) yielded.push(result)
    expect(yielded).toEqual(['r/r:1', 'r/r:2'])
    expect(records.map(({ phase, effectStatus, output }) => ({ phase, effectStatus, output }))).toEqual([
      { phase: 'started', effectStatus: 'intended', output: undefined },
      { phase: 'finished', effectStatus: 'succeeded', output: 'r/r:2' },
    ])
  })

  test('a caller that breaks off ends the tool, which is recorded as failed', async () => {
    const { records, context } = recorded()
    const seen: { broken?: boolean } = {}
    await runWithToolContext(context, async () => {
      for await (const result of counting(seen).execute({ to: 100 })) {
        expect(result).toBe('r/r:1')
        break
      }
    })
    expect(seen.broken).toBe(true)
    expect(records.map(({ phase }) => phase)).toEqual(['started', 'failed'])
    expect(records[1]?.error).toMatchObject({ name: 'AbortError' })
  })

  test('an error in the middle is recorded once and passed on', async () => {
    const { records, context } = recorded()
    const failing = defineTool({
      name: 'failing',
      schema: z.object({}),
      // oxlint-disable-next-line require-yield
      async *execute(): AsyncGenerator<string> {
        yield 'a'
        throw new Error('in the middle')
      },
    })
    const run = runWithToolContext(context, async () => {
      for await (const result of failing.execute({})) expect(result).toBe('a')
    })
    await expect(run).rejects.toThrow('in the middle')
    expect(records.map(({ phase }) => phase)).toEqual(['started', 'failed'])
  })
})

describe('in the AI SDK', () => {
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  }

  test('results are preliminary, and the last one is final', async () => {
    let step = 0
    const model = new MockLanguageModelV4({
      doStream: async () => {
        step += 1
        const finish = {
          type: 'finish' as const,
          usage,
          finishReason: { unified: step === 1 ? ('tool-calls' as const) : ('stop' as const), raw: undefined },
        }
        const call = { type: 'tool-call' as const, toolCallId: 'c1', toolName: 'count', input: '{"to":3}' }
        return {
          stream: simulateReadableStream({
            chunks: [{ type: 'stream-start' as const, warnings: [] }, ...(step === 1 ? [call] : []), finish],
          }),
        }
      },
    })
    const { fullStream } = streamText({ model, prompt: 'count', tools: { count: counting() }, stopWhen: stepCountIs(3) })
    const results: { output: unknown; preliminary: boolean }[] = []
    for await (const part of fullStream) {
      if (part.type === 'tool-result') results.push({ output: part.output, preliminary: part.preliminary === true })
    }
    expect(results).toEqual([
      { output: 'none/:1', preliminary: true },
      { output: 'none/:2', preliminary: true },
      { output: 'none/:3', preliminary: true },
      { output: 'none/:3', preliminary: false },
    ])
  })

  test('generateText takes the last one', async () => {
    const answers = [
      { content: [{ type: 'tool-call' as const, toolCallId: 'c1', toolName: 'count', input: '{"to":2}' }], finish: 'tool-calls' as const },
      { content: [{ type: 'text' as const, text: 'done' }], finish: 'stop' as const },
    ]
    const model = new MockLanguageModelV4({
      doGenerate: async () => {
        const answer = answers.shift()
        if (answer === undefined) throw new Error('no answer left')
        return { content: answer.content, finishReason: { unified: answer.finish, raw: undefined }, usage, warnings: [] }
      },
    })
    const { steps } = await generateText({ model, prompt: 'count', tools: { count: counting() }, stopWhen: stepCountIs(3) })
    expect(steps[0]?.toolResults[0]?.output).toBe('none/:2')
  })
})
