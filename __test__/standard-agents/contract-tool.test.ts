import { defineContractTool, type ToolRuntime } from 'toolwright/contract'
import { defineTool, queueTool, toContractTool } from 'toolwright/standard-agents'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { openThread, order, success, tool } from './support.ts'

const runtime = (signal = new AbortController().signal) => ({ call: { id: 'call_1', tool: 'a' }, signal }) as unknown as ToolRuntime
const search = defineTool({
  description: 'search',
  args: z.object({ query: z.string(), limit: z.number().default(3), labels: z.record(z.string(), z.number()).optional() }),
  execute: async (state, { query, limit }) => {
    queueTool(state, 'next')
    return { ...success(`${query} ${limit}`), attachments: [{ name: 'a.txt', mimeType: 'text/plain', data: 'YQ==' }] }
  },
})
const fails = tool(() => ({ status: 'error', error: 'why', stack: 'SECRET' }))

test('is a tool of the contract, with its schema and what it requires', async () => {
  const thread = await openThread({ search })
  const made = defineContractTool(
    toContractTool(thread, 'search', { id: 'kb_search', requires: { net: { hosts: ['kb.example.com'] } }, kind: 'search' }),
  )
  expect(made).toMatchObject({
    id: 'kb_search',
    description: 'search',
    requires: { net: { hosts: ['kb.example.com'] } },
    kind: 'search',
    sideEffect: true,
  })
  expect(made.parameters).toEqual({
    type: 'object',
    properties: {
      query: { type: 'string' },
      limit: { type: 'number', default: 3 },
      labels: { type: 'object', propertyNames: { type: 'string' }, additionalProperties: { type: 'number' } },
    },
    required: ['query'],
    additionalProperties: false,
  })
})

test('runs in the thread: state, queue, attachments, the id of the call', async () => {
  const thread = await openThread({ search, next: tool(() => success()) })
  const { execute } = toContractTool(thread, 'search', { requires: {} })
  expect(await execute({ query: 'q' }, runtime())).toEqual({ result: 'q 3', attachments: await thread.attachments.list() })
  expect(await order(thread)).toEqual(['search', 'next'])
  expect((await thread.messages.list())[0]?.toolCallId).toBe('call_1')
})

test('an error result is thrown with its text alone; an abort is an abort', async () => {
  const thread = await openThread({ fails, search })
  const { execute } = toContractTool(thread, 'fails', { requires: {} })
  await expect(execute({}, runtime())).rejects.toThrow(/^why$/u)
  await expect(execute({}, runtime(AbortSignal.abort()))).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }))
})

test('refuses what no session can call', async () => {
  const execute = vi.fn(async () => success())
  const thread = await openThread({
    paint: defineTool({ description: 'd', execute, executionMode: 'provider', executionProvider: 'openai' }),
  })
  expect(() => toContractTool(thread, 'paint', { requires: {} })).toThrow('[INVALID_INPUT]')
  expect(() => toContractTool(thread, 'nowhere', { requires: {} })).toThrow('[INVALID_INPUT]')
  expect(() => toContractTool(thread, 'constructor', { requires: {} })).toThrow('[INVALID_INPUT]')
})
