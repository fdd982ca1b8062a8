import { asSchema, ToolLoopAgent, type ToolSet } from 'ai'
import * as ai6 from 'ai-6'
import { MockLanguageModelV3 } from 'ai-6/test'
import { MockLanguageModelV4 } from 'ai/test'
import { createTools, openJournal, runTask } from 'toolwright'
import {
  defineTool,
  emitThreadEvent,
  loadTools,
  queueTool,
  type NamedTools,
  type ThreadEvent,
  type ThreadState,
} from 'toolwright/standard-agents'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { png } from '../support/pictures.ts'
import { makeSandbox } from '../support/sandbox.ts'
import { script, seenBy, type Turn } from '../support/scripted-model.ts'
import { gate, openThread, order, success, tool } from './support.ts'
import { makeFolder, toolSource } from './tool-folder.ts'

async function run(tools: ToolSet, ...turns: Turn[]) {
  const model = new MockLanguageModelV4({ doGenerate: script(...turns, 'done') })
  await new ToolLoopAgent({ model, tools }).generate({ prompt: 'go' })
  return { seen: seenBy(model), model }
}

const search = defineTool({
  description: 'search the knowledge base',
  args: z.object({
    query: z.string().min(1).describe('what to look for'),
    limit: z.number().default(10),
    labels: z.record(z.string(), z.number()).optional(),
    nested: z.object({ a: z.string() }).optional(),
  }),
  execute: async (_state, { query, limit }) => success(`${query} ${limit}`),
})

const PICTURE = png(1, 1).toString('base64')

describe('R8 the schema that a model sees', () => {
  test('has what may be left out, and records with their values', async () => {
    const thread = await openThread({ search, none: tool(() => success()) })
    const { model } = await run(thread.tools(), 'x')
    const [described, none] = (model.doGenerateCalls[0]?.tools ?? []) as { name: string; description: string; inputSchema: object }[]
    expect(described).toMatchObject({ name: 'search', description: 'search the knowledge base' })
    expect(described?.inputSchema).toEqual({
      type: 'object',
      properties: {
        query: { type: 'string', minLength: 1, description: 'what to look for' },
        limit: { type: 'number', default: 10 },
        labels: { type: 'object', propertyNames: { type: 'string' }, additionalProperties: { type: 'number' } },
        nested: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false },
      },
      required: ['query'],
      additionalProperties: false,
    })
    expect(none?.inputSchema).toEqual({ type: 'object', properties: {}, additionalProperties: false })
  })

  test('is one for both majors of the SDK', async () => {
    const thread = await openThread({ search })
    const { inputSchema } = thread.tools()['search'] as { inputSchema: never }
    expect(await ai6.asSchema(inputSchema).jsonSchema).toEqual(await asSchema(inputSchema).jsonSchema)
  })
})

describe('what a model gets', () => {
  test('R10 R15 texts of successes, errors and wrong input; never a stack', async () => {
    const thread = await openThread({
      search,
      bad: tool(() => {
        throw new Error('it broke')
      }),
      worse: tool(() => ({ status: 'error', error: 'known', stack: 'SECRET at /home/x.ts:1' })),
    })
    const { seen, model } = await run(thread.tools(), [
      { tool: 'search', input: { query: 'cats' } },
      { tool: 'bad', input: {} },
      { tool: 'worse', input: {} },
      { tool: 'search', input: { query: 5 } },
      { tool: 'search', input: [] },
    ])
    expect(seen.map(({ output }) => output)).toEqual([
      { type: 'text', value: 'cats 10' },
      { type: 'error-text', value: 'Failed to execute tool: it broke' },
      { type: 'error-text', value: 'Failed to execute tool: known' },
      {
        type: 'error-text',
        value: 'Failed to execute tool: Tool argument validation failed: [query] Invalid input: expected string, received number',
      },
      {
        type: 'error-text',
        value: 'Failed to execute tool: Tool argument validation failed: [root] Invalid input: expected object, received array',
      },
    ])
    const prompts = JSON.stringify(model.doGenerateCalls.map(({ prompt }) => prompt))
    expect(prompts).not.toContain('SECRET')
    expect(prompts).not.toMatch(/\.ts:\d/u)
    const [, , worse] = await thread.messages.list()
    expect((await thread.outcome(worse?.callId ?? ''))?.result?.stack).toBe('SECRET at /home/x.ts:1')
  })

  test('images as content parts, other files by their paths; base64 nowhere else', async () => {
    const image = { name: 'p.png', mimeType: 'image/png', data: PICTURE }
    const thread = await openThread({
      paint: tool(() => ({ ...success('painted'), attachments: [image, { name: 't.txt', mimeType: 'text/plain', data: 'dGV4dA==' }] })),
      large: tool(() => ({ ...success('large'), attachments: [image] })),
    })
    const { seen } = await run(thread.tools(), [{ tool: 'paint', input: {} }])
    const [picture, text] = await thread.attachments.list()
    const words = `painted\n\nAttachment path for "p.png": ${picture?.path}\nAttachment path for "t.txt": ${text?.path}`
    expect(seen[0]?.output).toMatchObject({
      type: 'content',
      value: [
        { type: 'text', text: words },
        { type: 'file', mediaType: 'image/png', filename: 'p.png', data: { type: 'data', data: PICTURE } },
      ],
    })
    expect(JSON.stringify(seen)).not.toContain('dGV4dA==')
    const limited = await run(thread.tools({ maxImageBytes: 3 }), [{ tool: 'large', input: {} }])
    expect(limited.seen[0]?.output).toMatchObject({ type: 'text', value: expect.stringContaining('Attachment path for "p.png"') })
  })

  test('an image that providers refuse is named by its path', async () => {
    const pictures = [png(2_001, 1), png(9, 9).subarray(0, 40), Buffer.from('no image')]
    for (const picture of pictures) {
      const attachments = [{ name: 'p.png', mimeType: 'image/png', data: picture.toString('base64') }]
      // eslint-disable-next-line no-await-in-loop -- one after the other
      const thread = await openThread({ paint: tool(() => ({ ...success('painted'), attachments })) })
      // eslint-disable-next-line no-await-in-loop -- one after the other
      const { seen } = await run(thread.tools(), [{ tool: 'paint', input: {} }])
      expect(seen[0]?.output).toMatchObject({ type: 'text', value: expect.stringContaining('Attachment path for "p.png"') })
    }
  })

  test('AI SDK 6: the same texts, and images under its name', async () => {
    const thread = await openThread({
      search,
      paint: tool(() => ({ ...success('painted'), attachments: [{ name: 'p.png', mimeType: 'image/png', data: PICTURE }] })),
    })
    const model = new MockLanguageModelV3({
      doGenerate: script(
        [
          { tool: 'search', input: { query: 'a' } },
          { tool: 'search', input: {} },
          { tool: 'paint', input: {} },
        ],
        'done',
      ),
    })
    await new ai6.ToolLoopAgent({ model, tools: thread.tools() as unknown as ai6.ToolSet }).generate({ prompt: 'go' })
    const seen = seenBy(model)
    expect(seen.slice(0, 2).map(({ output }) => output)).toEqual([
      { type: 'text', value: 'a 10' },
      { type: 'error-text', value: expect.stringContaining('[query] Invalid input') },
    ])
    expect(seen[2]?.output).toMatchObject({
      type: 'content',
      value: [{ type: 'text' }, { type: 'image-data', mediaType: 'image/png', data: PICTURE }],
    })
  })
})

describe('a run', () => {
  test('R38 messages, steps and the abort are those of the agent', async () => {
    const seen: Pick<ThreadState, 'turnCount' | 'stopped' | 'messageHistory'>[] = []
    const look = tool(({ turnCount, stopped, messageHistory }) => {
      seen.push({ turnCount, stopped, messageHistory })
      return success()
    })
    const thread = await openThread({ look })
    await run(thread.tools(), [{ tool: 'look', input: {} }], [{ tool: 'look', input: {} }])
    expect(seen.map(({ turnCount, stopped }) => [turnCount, stopped])).toEqual([
      [0, false],
      [1, false],
    ])
    expect(seen[0]?.messageHistory).toMatchObject([{ role: 'user' }])
    expect(seen[1]?.messageHistory.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
  })

  test('R16 calls of one step are made one after the other, and what they queue after them', async () => {
    let running = 0
    const observe = vi.fn()
    const step = (next?: string) =>
      tool(async (state) => {
        running += 1
        observe(running)
        await new Promise((resolve) => setTimeout(resolve, 5))
        if (next !== undefined) queueTool(state.rootState, next)
        running -= 1
        return success()
      })
    const thread = await openThread({ a: step('c'), b: step(), c: step() })
    const { seen } = await run(thread.tools({ only: ['a', 'b'] }), [
      { tool: 'a', input: {} },
      { tool: 'b', input: {} },
    ])
    expect(Math.max(...observe.mock.calls.flat())).toBe(1)
    // R33: `c` is none of the prompt's tools, and runs; its result is in the thread, not in the prompt.
    expect(await order(thread)).toEqual(['a', 'b', 'c'])
    expect(seen.map(({ toolName }) => toolName)).toEqual(['a', 'b'])
  })

  test('R16 an abort stops the call, clears its queue, and the thread goes on', async () => {
    const started = gate()
    const states: ThreadState[] = []
    const thread = await openThread({
      slow: tool(async (state) => {
        states.push(state)
        queueTool(state, 'next')
        started.open()
        while (!state.stopped) await new Promise((resolve) => setTimeout(resolve, 2))
        return success('too late')
      }),
      next: tool(() => success('next')),
    })
    const controller = new AbortController()
    const model = new MockLanguageModelV4({
      doGenerate: script(
        [
          { tool: 'slow', input: {} },
          { tool: 'next', input: {} },
        ],
        'done',
      ),
    })
    const agent = new ToolLoopAgent({ model, tools: thread.tools() })
    const running = agent.generate({ prompt: 'go', abortSignal: controller.signal })
    await started.opened
    controller.abort()
    await expect(running).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }))
    await thread.flush()
    expect(states[0]?.stopped).toBe(true)
    expect(await order(thread)).toEqual([])
    expect(await thread.queued()).toEqual([])
    expect(await thread.call('next')).toEqual(success('next'))
  })

  test('a tool of a provider is the provider’s own; a missing one is left out with a warning, and refused where it is listed', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    onTestFinished(() => warn.mockRestore())
    const execute = vi.fn(async () => success())
    const generate_image = defineTool({ description: 'd', execute, executionMode: 'provider', executionProvider: 'openai' })
    const thread = await openThread({ generate_image, search })
    for (const options of [{}, { providers: { openai: {} } }]) expect(Object.keys(thread.tools(options))).toEqual(['search'])
    expect(warn.mock.calls).toEqual([
      [expect.stringMatching(/generate_image is left out.* executed by openai.*providers: \{ openai: \{ generate_image/u)],
    ])
    expect(() => thread.tools({ only: ['generate_image'] })).toThrow(/`generate_image` is executed by openai.*\[INVALID_INPUT\]/u)
    expect(() => thread.tools({ only: ['search'] })).not.toThrow()
    expect(() => thread.tools({ only: ['nowhere'] })).toThrow('The thread has no tool `nowhere`')
    const own = {
      type: 'provider' as const,
      isProviderExecuted: true as const,
      id: 'openai.image_generation' as const,
      args: {},
      inputSchema: z.object({}),
      outputSchema: z.any(),
    }
    const tools = thread.tools({ providers: { openai: { generate_image: own } } })
    expect(tools['generate_image']).toBe(own)
    const { model } = await run(tools, 'nothing to do')
    expect(model.doGenerateCalls[0]?.tools).toMatchObject([
      { type: 'provider', id: 'openai.image_generation', name: 'generate_image' },
      { type: 'function', name: 'search' },
    ])
    expect(execute).not.toHaveBeenCalled()
  })
})

describe('records', () => {
  test('calls of both kinds of tools are rows of one journal', async () => {
    const fixture = makeSandbox()
    await using journal = await openJournal('memory:')
    const thread = await openThread(
      {
        search,
        fails: tool(() => {
          throw new Error('no')
        }),
        first: tool((state) => {
          queueTool(state, 'search', { query: 'queued' })
          return success()
        }),
      },
      { journal },
    )
    const tools = { ...createTools({ rootDir: fixture.root, journal }), ...thread.tools() }
    await run(
      tools,
      [{ tool: 'write', input: { path: 'a', content: 'x' }, id: 'w' }],
      [{ tool: 'search', input: { query: 'q' }, id: 's' }],
      [{ tool: 'fails', input: {}, id: 'f' }],
      [{ tool: 'first', input: {}, id: 'q' }],
    )
    const rows = []
    for await (const row of journal.tail({ follow: false })) rows.push(row)
    expect(rows.map(({ toolName, status, callToken }) => [toolName, status, callToken])).toEqual([
      ['write', 'success', 'w'],
      ['search', 'success', 's'],
      ['fails', 'error', 'f'],
      ['first', 'success', 'q'],
      ['search', 'success', expect.any(String)],
    ])
    expect(rows[1]).toMatchObject({ inputJson: '{"query":"q"}', outputJson: '{"status":"success","result":"q 10"}', sideEffect: true })
    expect(rows[2]?.errorJson).toContain('no')
    const [, ofThread] = [rows[0], ...rows.slice(1)]
    expect(new Set(rows.slice(1).map(({ runId }) => runId))).toEqual(new Set([ofThread?.runId]))
  })

  test('inside of a task they are calls of the task, once', async () => {
    await using journal = await openJournal('memory:')
    const thread = await openThread({ search }, { journal })
    await runTask({ journal, runId: 'r', nodeId: 'n' }, async () => {
      await thread.call('search', { query: 'q' })
    })
    const rows = await journal.listToolCalls('r', 'n', 0)
    expect(rows.map(({ toolName, status }) => [toolName, status])).toEqual([['search', 'success']])
  })
})

test('a discovered folder, a queue, events, attachments and a provider tool in one run', async () => {
  const folder = makeFolder({
    'search_articles.ts': toolSource('found'),
    'make_picture.ts': `
import { defineTool, emitThreadEvent, queueTool } from 'toolwright/standard-agents'
import { z } from 'zod'
export default defineTool({
  description: 'paint',
  args: z.object({ prompt: z.string() }),
  execute: async (state, args) => {
    queueTool(state.rootState, 'note_done', { what: args.prompt })
    await emitThreadEvent(state, 'painting', { prompt: args.prompt })
    return { status: 'success', result: 'painted', attachments: [{ name: 'p.png', mimeType: 'image/png', data: '${PICTURE}' }] }
  },
})`,
    'note_done.ts': `
import { defineTool } from 'toolwright/standard-agents'
import { z } from 'zod'
export default defineTool({
  description: 'note',
  args: z.object({ what: z.string() }),
  execute: async (state, args) => {
    await state.storage.put('done', args.what)
    return { status: 'success', result: 'noted' }
  },
})`,
    'web_search.ts': `
import { defineTool } from 'toolwright/standard-agents'
export default defineTool({ description: 'web', execute: async () => ({ status: 'success' }), executionMode: 'provider', executionProvider: 'openai' })`,
  })
  const { tools, errors } = await loadTools(folder)
  expect(errors).toEqual([])
  const events: ThreadEvent[] = []
  const thread = await openThread(tools as NamedTools, { onEvent: (event) => events.push(event) })
  const web_search = {
    type: 'provider' as const,
    isProviderExecuted: true as const,
    id: 'openai.web_search' as const,
    args: {},
    inputSchema: z.object({}),
    outputSchema: z.any(),
  }
  const { seen } = await run(thread.tools({ providers: { openai: { web_search } } }), [
    { tool: 'search_articles', input: { query: 'cats' } },
    { tool: 'make_picture', input: { prompt: 'a cat' } },
  ])
  expect(seen.map(({ toolName, output }) => [toolName, output.type])).toEqual([
    ['search_articles', 'text'],
    ['make_picture', 'content'],
  ])
  expect(events.map(({ eventType, data }) => [eventType, data])).toEqual([['painting', { prompt: 'a cat' }]])
  expect(await order(thread)).toEqual(['search_articles', 'make_picture', 'note_done'])
  expect(await thread.storage.get('done')).toBe('a cat')
  expect(await thread.attachments.list()).toHaveLength(1)
  void emitThreadEvent
})
