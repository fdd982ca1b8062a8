import {
  defineTool,
  getDefinedToolMetadata,
  getToolIdempotencyKey,
  nextToolSeq,
  runWithToolContext,
  write,
  type DefinedToolContext,
  type ToolCallRecord,
  type ToolContext,
} from 'toolwright/tools'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { refusal } from '../support/refusal.ts'
import { makeSandbox } from '../support/sandbox.ts'

const schema = z.object({ n: z.number() })
const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
beforeEach(() => warn.mockClear())

const tool = (options: {
  execute?: (args: { n: number }, ctx: DefinedToolContext) => unknown
  sideEffect?: boolean
  idempotent?: boolean
}) => defineTool({ name: 'tool', schema, execute: (_args, _ctx) => 'out', ...options })

describe('keys', () => {
  test('"non-empty string ctx.idempotencyKey, else smithers:… if both ids truthy, else null"', () => {
    const ids = { runId: 'r', nodeId: 'n' }
    expect(getToolIdempotencyKey({ ...ids, idempotencyKey: 'given' })).toBe('given')
    expect(getToolIdempotencyKey({ idempotencyKey: 'given' })).toBe('given')
    for (const idempotencyKey of ['', null, undefined, 5 as never]) {
      expect(getToolIdempotencyKey({ ...ids, idempotencyKey })).toBe('smithers:r:n:0')
    }
    expect(getToolIdempotencyKey({ ...ids, iteration: 3 })).toBe('smithers:r:n:3')
    for (const context of [{ runId: 'r' }, { nodeId: 'n' }, { runId: '', nodeId: 'n' }, {}, undefined]) {
      expect(getToolIdempotencyKey(context)).toBeNull()
    }
  })

  test('"nextToolSeq: ctx.seq=(ctx.seq??0)+1 (null/false → 1)"', () => {
    expect([undefined, null].map(nextToolSeq)).toEqual([1, 1])
    expect([{ seq: null }, { seq: false }, {}, { seq: 7 }].map((ctx) => nextToolSeq(ctx as ToolContext))).toEqual([1, 1, 1, 8])
    expect(nextToolSeq(false as never)).toBe(1)
  })
})

describe('metadata', () => {
  test('"{name, sideEffect, idempotent, acceptsIdempotencyKey: execute.length>=2, hasRevert, revert?}"', () => {
    expect(getDefinedToolMetadata(tool({ execute: (_args) => 1 }))).toEqual({
      name: 'tool',
      sideEffect: false,
      idempotent: true,
      acceptsIdempotencyKey: false,
      hasRevert: false,
    })
    const revert = async () => undefined
    const withRevert = defineTool({ name: 'r', schema, sideEffect: true, execute: (_args, _ctx) => 1, revert })
    expect(getDefinedToolMetadata(withRevert)).toEqual({
      name: 'r',
      sideEffect: true,
      idempotent: false,
      acceptsIdempotencyKey: true,
      hasRevert: true,
      revert,
    })
  })

  test('"revert without sideEffect → TypeError defineTool(NAME): revert requires sideEffect:true."', () => {
    const define = (sideEffect?: boolean) => () =>
      defineTool({
        name: 'undo',
        schema,
        ...(sideEffect === undefined ? {} : { sideEffect }),
        execute: () => 1,
        revert: async () => undefined,
      })
    for (const sideEffect of [undefined, false]) {
      expect(define(sideEffect)).toThrow(new TypeError('defineTool(undo): revert requires sideEffect:true.'))
      expect(define(sideEffect)).toThrow(TypeError)
    }
    expect(define(true)).not.toThrow()
  })

  test('revert is "invoked by time travel only; never by retries": no call of ours makes it', async () => {
    const revert = vi.fn(async () => undefined)
    const failing = (args: { n: number }, _ctx: DefinedToolContext) =>
      args.n === 0 ? Promise.reject(new Error('x')) : Promise.resolve('done')
    const undoable = defineTool({ name: 'undoable', schema, sideEffect: true, execute: failing, revert })
    await expect(undoable.execute({ n: 0 })).rejects.toThrow('x')
    expect(await undoable.execute({ n: 1 })).toBe('done')
    expect(revert).not.toHaveBeenCalled()
  })

  test('"Startup warning via console.warn once per tool NAME per process"', () => {
    const define = (name: string) => defineTool({ name, schema, sideEffect: true, idempotent: false, execute: (_args) => 1 })
    define('warned')
    define('warned')
    define('also-warned')
    expect(warn.mock.calls).toEqual(
      ['warned', 'also-warned'].map((name) => [
        `[smithers] defineTool(${name}): sideEffect:true idempotent:false tools should accept the second ctx parameter so they can use ctx.idempotencyKey. A tool that has no use for a key says usesIdempotencyKey:false.`,
      ]),
    )
  })
})

describe('execute ctx', () => {
  const seen = (context?: ToolContext, callOptions?: object) => {
    const call = () => tool({ execute: (_args, ctx) => ctx }).execute({ n: 1 }, callOptions)
    return (context === undefined ? call() : runWithToolContext(context, call)) as Promise<DefinedToolContext>
  }

  test('"defaults … + {idempotencyKey, toolName, sideEffect, idempotent}"', async () => {
    const ctx = await seen()
    expect(ctx).toEqual({
      db: {},
      runId: '',
      nodeId: '',
      iteration: 0,
      attempt: 0,
      rootDir: process.cwd(),
      allowNetwork: false,
      maxOutputBytes: 200_000,
      timeoutMs: 60_000,
      seq: 0,
      durabilitySnapshot: expect.any(Function),
      idempotencyKey: null,
      callIdempotencyKey: null,
      toolName: 'tool',
      sideEffect: false,
      idempotent: true,
    })
    expect(await ctx.durabilitySnapshot('tool', undefined)).toEqual({ skipped: true })
  })

  test('"+ ambient ctx", "also inside a context lacking a field"', async () => {
    const db = {}
    const ctx = await seen({ db, runId: 'r', nodeId: 'n', maxOutputBytes: 9, timeoutMs: undefined })
    expect(ctx).toMatchObject({ runId: 'r', maxOutputBytes: 9, timeoutMs: 60_000, attempt: 0, idempotencyKey: 'smithers:r:n:0' })
    expect(ctx.db).toBe(db)
  })

  test('"It is a copy taken before seq increments, so ctx.seq is one behind the recorded seq"', async () => {
    const records: ToolCallRecord[] = []
    const context: ToolContext = { seq: 4, recordToolCall: (record) => records.push(record) }
    const ctx = await seen(context)
    expect([ctx.seq, context.seq, records[0]?.seq]).toEqual([4, 5, 5])
    expect(ctx).not.toBe(context)
  })

  test('what the ambient context says of name and flags does not count', async () => {
    const context = { toolName: 'other', sideEffect: true, idempotent: false } as ToolContext
    expect(await seen(context)).toMatchObject({ toolName: 'tool', sideEffect: false, idempotent: true })
  })

  test('the AI SDK’s call id and signal reach it', async () => {
    const { signal } = new AbortController()
    const ctx = await seen({}, { toolCallId: 'call-1', abortSignal: signal })
    expect([ctx.toolCallId, ctx.toolUseId]).toEqual(['call-1', 'call-1'])
    expect(ctx.signal).toBe(signal)
  })
})

describe('lifecycle: built-in tools are recorded as any other', () => {
  test('a write and one that is refused', async () => {
    const fixture = makeSandbox()
    const records: ToolCallRecord[] = []
    const recordToolCall = (record: ToolCallRecord) => records.push(record)
    await fixture.within(() => write.execute({ path: 'a', content: 'x' }), { recordToolCall })
    const error = await refusal(fixture.within(() => write.execute({ path: '..', content: 'x' }), { recordToolCall }))
    expect(records.map(({ phase, effectStatus, toolName }) => [phase, effectStatus, toolName])).toEqual([
      ['started', 'intended', 'write'],
      ['finished', 'succeeded', 'write'],
      ['started', 'intended', 'write'],
      ['failed', 'unknown', 'write'],
    ])
    expect(records[1]?.output).toBe('ok')
    expect(records[3]?.error).toBe(error)
  })
})
