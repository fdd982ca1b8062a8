// What TypeScript has to accept and to refuse; checked by `tsc -p tsconfig.check.json`, never run.
import { ToolLoopAgent, type LanguageModel, type ToolSet } from 'ai'
import {
  createThread,
  defineTool,
  emitThreadEvent,
  loadTools,
  queueTool,
  watchTools,
  type AttachmentRef,
  type DefineToolOptions,
  type NamedTools,
  type Thread,
  type ThreadState,
  type Tool,
  type ToolArgs,
  type ToolArgsNode,
  type ToolAttachment,
  type ToolDefinition,
  type ToolResult,
  type ToolTenvs,
} from 'toolwright/standard-agents'
import { expectTypeOf } from 'vitest'
import { z } from 'zod'

declare const model: LanguageModel
const success = async (): Promise<ToolResult> => ({ status: 'success' })

// R5: arguments are inferred from the schema; what has a default is there.
const search = defineTool({
  description: 'search',
  args: z.object({
    query: z.string().min(1).describe('q'),
    limit: z.number().optional().default(10),
    category: z.string().optional(),
    units: z.enum(['celsius', 'fahrenheit']).default('celsius'),
    tags: z.array(z.string()).optional(),
    extra: z.record(z.string(), z.number().nullable()),
    either: z.union([z.string(), z.literal(5), z.null()]),
    kind: z.discriminatedUnion('kind', [z.object({ kind: z.literal('a') }), z.object({ kind: z.literal('b'), b: z.boolean() })]),
    when: z.iso.datetime(),
    count: z.int().positive(),
    loose: z.looseObject({ a: z.string() }),
  }),
  execute: async (state, args) => {
    expectTypeOf(state).toEqualTypeOf<ThreadState>()
    expectTypeOf(args.query).toEqualTypeOf<string>()
    expectTypeOf(args.limit).toEqualTypeOf<number>()
    expectTypeOf(args.category).toEqualTypeOf<string | undefined>()
    expectTypeOf(args.units).toEqualTypeOf<'celsius' | 'fahrenheit'>()
    expectTypeOf(args.tags).toEqualTypeOf<string[] | undefined>()
    expectTypeOf(args.extra).toEqualTypeOf<Record<string, number | null>>()
    expectTypeOf(args.either).toEqualTypeOf<string | 5 | null>()
    expectTypeOf(args.kind).toEqualTypeOf<{ kind: 'a' } | { kind: 'b'; b: boolean }>()
    return { status: 'success', result: args.query }
  },
})
expectTypeOf(search.description).toEqualTypeOf<string>()
expectTypeOf(search.tenvs).toEqualTypeOf<null>()
expectTypeOf(search.executionMode).toEqualTypeOf<'local' | 'provider' | undefined>()

// R4: without arguments there is one parameter.
const time = defineTool({ description: 'time', execute: async (state) => ({ status: 'success', result: state.threadId }) })
expectTypeOf(time).toEqualTypeOf<ToolDefinition>()
expectTypeOf(time.execute).parameters.toEqualTypeOf<[state: ThreadState]>()
expectTypeOf<Tool<ThreadState, null>>().toEqualTypeOf<(state: ThreadState) => Promise<ToolResult>>()
// @ts-expect-error there is no second parameter
defineTool({ description: 'd', execute: async (state, args) => ({ status: 'success', result: String([state, args]) }) })

const withTenvs = defineTool({
  description: 'd',
  execute: async (state, args) => ({ status: 'success', result: `${state.tenvs['id']} ${args.query}` }),
  args: z.object({ query: z.string() }),
  tenvs: z.object({ id: z.string(), place: z.string().optional() }),
})
expectTypeOf(withTenvs.tenvs.shape.id).toEqualTypeOf<z.ZodString>()
const ownState = defineTool<{ mine: number }>({
  description: 'd',
  execute: async (state) => ({ status: 'success', result: String(state.mine) }),
})
expectTypeOf(ownState.execute).parameters.toEqualTypeOf<[state: { mine: number }]>()
expectTypeOf<DefineToolOptions>().toHaveProperty('execute')

// @ts-expect-error no description
defineTool({ execute: success })
// @ts-expect-error a status that is none
defineTool({ description: 'd', execute: async () => ({ status: 'done' }) })
// @ts-expect-error no result
defineTool({ description: 'd', execute: async () => undefined })
// @ts-expect-error a mode that is none
defineTool({ description: 'd', execute: success, executionMode: 'remote' })
// @ts-expect-error args has no such field
defineTool({ description: 'd', args: z.object({ a: z.string() }), execute: async (_, { b }) => ({ status: 'success', result: b }) })

// R5, R7: the same schemas as at run time; seven levels and no more, wrappers apart.
const s = z.string()
const a7 = z.array(z.array(z.array(z.array(z.array(z.array(z.array(s)))))))
const wrapped7 = z
  .array(z.array(z.array(z.array(z.array(z.array(z.array(s.optional().nullable()).optional()).nullable()).default([])))))
  .optional()
  .nullable()
const mixed7 = z.object({ a: z.record(s, z.union([z.array(z.object({ a: z.array(z.record(s, s)) })), s])) })
defineTool({ description: 'd', args: z.object({ a: a7, b: wrapped7, c: mixed7 }), execute: success })
// @ts-expect-error eight arrays
defineTool({ description: 'd', args: z.object({ a: z.array(a7) }), execute: success })
// @ts-expect-error eight, with wrappers
defineTool({ description: 'd', args: z.object({ a: z.array(wrapped7).optional() }), execute: success })
// @ts-expect-error eight of several kinds
defineTool({ description: 'd', args: z.object({ a: z.record(s, mixed7) }), execute: success })
// @ts-expect-error eight in a union
defineTool({ description: 'd', args: z.object({ a: z.union([s, a7]) }), execute: success })
// @ts-expect-error eight in variables
defineTool({ description: 'd', tenvs: z.object({ a: z.array(a7) }), execute: success })
// @ts-expect-error date
defineTool({ description: 'd', args: z.object({ a: z.date() }), execute: success })
// @ts-expect-error transform
defineTool({ description: 'd', args: z.object({ a: s.transform((text) => text.length) }), execute: success })
// @ts-expect-error pipe
defineTool({ description: 'd', args: z.object({ a: s.pipe(s) }), execute: success })
// @ts-expect-error lazy
defineTool({ description: 'd', args: z.object({ a: z.lazy(() => s) }), execute: success })
// @ts-expect-error tuple
defineTool({ description: 'd', args: z.object({ a: z.tuple([s]) }), execute: success })
// @ts-expect-error any
defineTool({ description: 'd', args: z.object({ a: z.any() }), execute: success })
// @ts-expect-error unknown
defineTool({ description: 'd', args: z.object({ a: z.unknown() }), execute: success })
// @ts-expect-error readonly
defineTool({ description: 'd', args: z.object({ a: s.readonly() }), execute: success })
// @ts-expect-error catch
defineTool({ description: 'd', args: z.object({ a: s.catch('') }), execute: success })
// @ts-expect-error a literal that JSON has not
defineTool({ description: 'd', args: z.object({ a: z.literal(1n) }), execute: success })
// @ts-expect-error a record with keys of an enum
defineTool({ description: 'd', args: z.object({ a: z.record(z.enum(['a']), s) }), execute: success })
// @ts-expect-error below something else
defineTool({ description: 'd', args: z.object({ a: z.array(z.object({ b: z.date().optional() })) }), execute: success })
// @ts-expect-error no object
defineTool({ description: 'd', args: s, execute: success })

const leaf: ToolArgsNode<0> = s.optional()
const args: ToolArgs = z.object({ leaf })
const tenvs: ToolTenvs = args
void tenvs

const attachment: ToolAttachment = { name: 'a.png', mimeType: 'image/png', data: '', width: 1 }
const ref: AttachmentRef = { id: 'i', type: 'file', path: '/attachments/a.png', name: 'a.png', mimeType: 'image/png', size: 1 }
const result: ToolResult = { status: 'error', error: 'e', stack: 's', attachments: [attachment, ref] }
void result

// Threads and agents.
const tools: NamedTools = { search, time, withTenvs }
// @ts-expect-error a thread has no such state
const foreign: NamedTools = { ownState }
void foreign
async function useThreads(thread: Thread): Promise<void> {
  expectTypeOf(await createThread({ tools })).toEqualTypeOf<Thread>()
  void createThread({ tools: () => tools, store: 'file:thread.db', threadId: 't', onEvent: async ({ eventType }) => eventType })
  void createThread({ ...(await loadTools()), tenvs: { id: 'x' } })
  void createThread({ tools: (await watchTools('agents/tools', { onChange: ({ errors }) => void errors })).tools })
  expectTypeOf(thread.call('search', { query: 'q' })).toEqualTypeOf<Promise<ToolResult>>()
  expectTypeOf(thread.tools()).toEqualTypeOf<ToolSet>()
  void new ToolLoopAgent({ model, tools: thread.tools({ only: ['search'], providers: { openai: {} } }) })
  expectTypeOf(queueTool(thread.state.rootState, 'time')).toEqualTypeOf<void>()
  expectTypeOf(emitThreadEvent(thread.state, 'started', { a: 1 })).toEqualTypeOf<Promise<void>>()
  expectTypeOf(await thread.storage.get<string>('key')).toEqualTypeOf<string | undefined>()
  expectTypeOf(await thread.storage.get<string>(['key'])).toEqualTypeOf<Map<string, string>>()
  // As the document's example uses what it has stored.
  defineTool({
    description: 'd',
    args: z.object({ id: z.string() }),
    execute: async (state, args) => {
      const cached = await state.storage.get(`customer:${args.id}`)
      if (cached) return { status: 'success', result: cached }
      for (const value of (await state.storage.list()).values()) return { status: 'success', result: value.name }
      return { status: 'success', result: (await state.storage.get(['a'])).get('a') }
    },
  })
  // Defined in place they know the same.
  void createThread({
    tools: {
      a: defineTool({ description: 'd', execute: async (state) => ({ status: 'success', result: state.threadId.toUpperCase() }) }),
      b: defineTool({
        description: 'd',
        args: z.object({ list: z.array(z.number()) }),
        tenvs: z.object({ key: z.string() }),
        execute: async (state, { list }) => ({ status: 'success', result: `${state.flowId.trim()} ${list[0]?.toFixed()}` }),
      }),
    },
  })
  // @ts-expect-error tools are made by defineTool
  void createThread({ tools: { a: 5 } })
}
void useThreads

// R7 again, where comparing types alone would give up.
const objects7 = z.object({ a: z.object({ a: z.object({ a: z.object({ a: z.object({ a: z.object({ a: z.object({ a: s }) }) }) }) }) }) })
const wraps3 = z
  .array(z.array(z.array(s).optional().nullable()).optional().nullable())
  .optional()
  .nullable()
const wraps6 = z
  .array(z.array(z.array(wraps3).optional().nullable()).optional().nullable())
  .optional()
  .nullable()
defineTool({ description: 'd', args: z.object({ a: objects7, b: z.array(wraps6), c: z.union([s, wraps6]) }), execute: success })
defineTool({ description: 'd', args: z.object({ a: s.optional().nullable().optional().nullable().default('') }), execute: success })
// @ts-expect-error eight objects
defineTool({ description: 'd', args: z.object({ a: z.object({ a: objects7 }) }), execute: success })
// @ts-expect-error eight with wrappers around each
defineTool({ description: 'd', args: z.object({ a: z.array(z.array(wraps6)) }), execute: success })
const date7 = z.object({ a: z.object({ b: s, c: z.array(z.array(z.array(z.array(z.array(z.array(z.date())))))) }) })
// @ts-expect-error seven and a date
defineTool({ description: 'd', args: date7, execute: success })
