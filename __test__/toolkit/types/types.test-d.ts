// What TypeScript has to accept and to refuse; checked by `tsc -p tsconfig.check.json`, never run.
import { ToolLoopAgent, type InferToolInput, type InferToolOutput, type LanguageModel, type ModelMessage, type ToolSet } from 'ai'
import {
  applyPatch,
  bash,
  configureTools,
  createTools,
  defineTool,
  edit,
  editFileTool,
  getDefinedToolMetadata,
  getToolContext,
  getToolIdempotencyKey,
  grep,
  grepTool,
  nextToolSeq,
  openJournal,
  read,
  readFileTool,
  replayRun,
  revertRun,
  runTask,
  runWithToolContext,
  ToolError,
  tools,
  write,
  writeFileTool,
  type AppliedPatch,
  type ApplyPatchTool,
  type DefinedToolContext,
  type Journal,
  type Task,
  type ToolCallRow,
  type ToolContext,
  type ToolErrorCode,
  type ToolwrightTools,
} from 'toolwright'
import type * as surface from 'toolwright/tools'
import { expectTypeOf } from 'vitest'
import { z } from 'zod'
import { z as zod3 } from 'zod-3'

declare const model: LanguageModel

// The built-in tools: input, result, and a place in an agent.
expectTypeOf(read.execute({ path: 'a' })).toEqualTypeOf<Promise<string>>()
expectTypeOf(write.execute({ path: 'a', content: '' })).toEqualTypeOf<Promise<'ok'>>()
expectTypeOf(edit.execute({ path: 'a', patch: '' })).toEqualTypeOf<Promise<'ok'>>()
expectTypeOf(grep.execute({ pattern: 'a' })).toEqualTypeOf<Promise<string>>()
expectTypeOf(bash.execute({ cmd: 'a', args: ['b'], opts: { cwd: 'c' } })).toEqualTypeOf<Promise<string>>()
void read.execute({ path: 'a' }, { abortSignal: new AbortController().signal, toolCallId: 'id' })

expectTypeOf(readFileTool).parameters.toEqualTypeOf<[path: string]>()
expectTypeOf(writeFileTool('a', 'b')).toEqualTypeOf<Promise<'ok'>>()
expectTypeOf(createTools({ extraTools: ['apply_patch'] })).toExtend<ToolwrightTools & { apply_patch: ApplyPatchTool }>()
expectTypeOf(createTools({ extraTools: ['apply_patch'] }).apply_patch.execute({ patch: '' })).toEqualTypeOf<Promise<string>>()
// @ts-expect-error it has to be asked for
void createTools({}).apply_patch
expectTypeOf(applyPatch('')).toEqualTypeOf<Promise<AppliedPatch>>()
expectTypeOf(editFileTool('a', 'b')).toEqualTypeOf<Promise<'ok'>>()
expectTypeOf(grepTool('a')).toEqualTypeOf<Promise<string>>()
expectTypeOf<InferToolInput<typeof write>>().toEqualTypeOf<{ path: string; content: string }>()
expectTypeOf<InferToolOutput<typeof write>>().toEqualTypeOf<'ok'>()
expectTypeOf<InferToolOutput<typeof read>>().toEqualTypeOf<string>()

const set: ToolSet = createTools({ rootDir: '/', allowNetwork: false, maxOutputBytes: 1, toolTimeoutMs: 1 })
void set
void new ToolLoopAgent({ model, tools })
void new ToolLoopAgent({ model, tools: { read, grep } })
void new ToolLoopAgent({ model, tools: { ...createTools(), mine: defineTool({ name: 'm', schema: z.object({}), execute: () => 1 }) } })

// @ts-expect-error no path
void read.execute({})
// @ts-expect-error a path is a string
void read.execute({ path: 5 })
// @ts-expect-error write takes content
void write.execute({ path: 'a', patch: 'b' })
// @ts-expect-error args is an array
void bash.execute({ cmd: 'a', args: 'b' })
// @ts-expect-error cwd is an option of opts
void bash.execute({ cmd: 'a', cwd: 'b' })
// @ts-expect-error two arguments
void writeFileTool('a')

// defineTool: args from the schema, result from execute.
const order = defineTool({
  name: 'order',
  schema: z.object({ sku: z.string(), count: z.number().default(1) }),
  sideEffect: true,
  idempotent: false,
  async execute(args, ctx) {
    expectTypeOf(args).toEqualTypeOf<{ sku: string; count: number }>()
    expectTypeOf(ctx).toEqualTypeOf<DefinedToolContext>()
    expectTypeOf(ctx.idempotencyKey).toEqualTypeOf<string | null>()
    expectTypeOf(ctx.rootDir).toEqualTypeOf<string>()
    expectTypeOf(ctx.toolCallId).toEqualTypeOf<string | undefined>()
    return { id: args.sku, total: args.count }
  },
  async revert(args, ctx) {
    expectTypeOf(args.sku).toEqualTypeOf<string>()
    expectTypeOf(ctx.output).toEqualTypeOf<{ id: string; total: number } | null>()
  },
})
expectTypeOf(order.execute({ sku: 'a', count: 1 })).toEqualTypeOf<Promise<{ id: string; total: number }>>()
expectTypeOf<InferToolOutput<typeof order>>().toEqualTypeOf<{ id: string; total: number }>()

const old = defineTool({ name: 'old', schema: zod3.object({ n: zod3.number() }), execute: ({ n }) => n })
expectTypeOf(old.execute({ n: 1 })).toEqualTypeOf<Promise<number>>()

const schema = z.object({ n: z.number() })
// @ts-expect-error no name
defineTool({ schema, execute: () => 1 })
// @ts-expect-error no schema
defineTool({ name: 'x', execute: () => 1 })
// @ts-expect-error no execute
defineTool({ name: 'x', schema })
// @ts-expect-error the schema has no such field
defineTool({ name: 'x', schema, execute: (args) => args.missing })
// @ts-expect-error the context has no such field
defineTool({ name: 'x', schema, execute: (_args, ctx) => ctx.missing })
// @ts-expect-error sideEffect is a boolean
defineTool({ name: 'x', schema, sideEffect: 'yes', execute: () => 1 })
// @ts-expect-error it has no option of that name
defineTool({ name: 'x', schema, inputSchema: schema, execute: () => 1 })

// Metadata.
const metadata = getDefinedToolMetadata(order)
expectTypeOf(metadata).toEqualTypeOf<surface.DefinedToolMetadata | null>()
expectTypeOf(metadata?.name).toEqualTypeOf<string | undefined>()
expectTypeOf(metadata?.sideEffect).toEqualTypeOf<boolean | undefined>()
expectTypeOf(metadata?.idempotent).toEqualTypeOf<boolean | undefined>()
expectTypeOf(metadata?.hasRevert).toEqualTypeOf<boolean | undefined>()
expectTypeOf(getDefinedToolMetadata).parameter(0).toEqualTypeOf<unknown>()
// @ts-expect-error it may be null
void getDefinedToolMetadata(order).name

// Context.
expectTypeOf(getToolContext()).toEqualTypeOf<ToolContext | undefined>()
expectTypeOf(runWithToolContext({}, () => 5)).toEqualTypeOf<number>()
expectTypeOf(runWithToolContext({}, async () => 'x')).toEqualTypeOf<Promise<string>>()
expectTypeOf(getToolIdempotencyKey()).toEqualTypeOf<string | null>()
expectTypeOf(nextToolSeq({})).toEqualTypeOf<number>()
// @ts-expect-error timeoutMs is a number
runWithToolContext({ timeoutMs: '1' }, () => 5)
// @ts-expect-error the context's field is timeoutMs
runWithToolContext({ toolTimeoutMs: 1 }, () => 5)

// Options.
// @ts-expect-error the option is toolTimeoutMs
createTools({ timeoutMs: 1 })
// @ts-expect-error a number
configureTools({ maxOutputBytes: '1' })
// @ts-expect-error one of two
configureTools({ durability: 'always' })

// Errors.
const caught: unknown = new ToolError({ code: 'INVALID_INPUT', summary: 'x' })
if (ToolError.isInstance(caught)) {
  expectTypeOf(caught).toEqualTypeOf<ToolError>()
  expectTypeOf(caught.code).toEqualTypeOf<ToolErrorCode>()
  expectTypeOf(caught.details).toEqualTypeOf<Record<string, unknown>>()
}
// @ts-expect-error no such code
void new ToolError({ code: 'NO_SUCH_CODE', summary: 'x' })

// `toolwright/tools` has the names of the original and no others.
// @ts-expect-error an export of the main entry only
void (0 as unknown as typeof surface.ToolError)
expectTypeOf<typeof surface.tools>().toEqualTypeOf<typeof tools>()

// A tool that yields: its results are what it yields.
const yielding = defineTool({
  name: 'yielding',
  schema: z.object({ n: z.number() }),
  async *execute({ n }) {
    yield n
  },
})
expectTypeOf(yielding.execute({ n: 1 })).toEqualTypeOf<AsyncGenerator<number, void, undefined>>()
expectTypeOf<InferToolOutput<typeof yielding>>().toEqualTypeOf<number>()

// The journal: what a task gives and takes.
declare const journal: Journal
expectTypeOf(openJournal('memory:')).toEqualTypeOf<Promise<Journal>>()
expectTypeOf(runTask({ journal, runId: 'r', nodeId: 'n' }, () => 5)).toEqualTypeOf<Promise<number>>()
expectTypeOf(runTask({ journal, runId: 'r', nodeId: 'n' }, async (task) => task.prompt('x'))).toEqualTypeOf<Promise<string>>()
declare const task: Task
const messages: ModelMessage[] = task.messages<ModelMessage>([{ role: 'user', content: 'x' }])
void messages
expectTypeOf(journal.tail()).toExtend<AsyncIterable<ToolCallRow>>()
expectTypeOf(replayRun(journal, 'r').drive(async () => 'x')).toEqualTypeOf<Promise<string>>()
void revertRun(journal, 'r', { tools: { bash } })
void createTools({ journal, streamOutput: true })
void runWithToolContext({ journal }, () => 1)
// @ts-expect-error a run has a name
void runTask({ journal, nodeId: 'n' }, () => 5)
// @ts-expect-error there are three ways
void runTask({ journal, runId: 'r', nodeId: 'n', onReplayUnsafe: 'ignore' }, () => 5)
// @ts-expect-error a journal is opened first
void createTools({ journal: 'file:runs.db' })
// @ts-expect-error options of all tools have no journal
configureTools({ journal })
