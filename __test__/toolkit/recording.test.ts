import { setTimeout as sleep } from 'node:timers/promises'
import { defineTool, runWithToolContext, type ToolCallRecord, type ToolContext } from 'toolwright/tools'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'

const schema = z.object({ n: z.number() })
const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
beforeEach(() => warn.mockClear())

/** A task whose events are written down, with a tool that writes down its own. */
function scene(context: Partial<ToolContext> = {}) {
  const events: unknown[] = []
  const records: ToolCallRecord[] = []
  const task: ToolContext = {
    runId: 'run',
    nodeId: 'node',
    recordToolCall: async (record) => {
      await sleep(2)
      records.push(record)
      events.push(record.phase)
    },
    ...context,
  }
  const run = (tool: { execute(args: { n: number }, options?: object): unknown }, options?: object) =>
    runWithToolContext(task, () => tool.execute({ n: 7 }, options)) as Promise<unknown>
  return { events, records, task, run }
}

const base = { name: 'pay', schema, sideEffect: true, idempotent: false }
const described = {
  seq: 1,
  input: { n: 7 },
  kind: 'tool',
  toolName: 'pay',
  sideEffect: true,
  idempotent: false,
  acceptsIdempotencyKey: true,
  hasRevert: false,
  idempotencyKey: 'smithers:run:node:0',
}

describe('records', () => {
  test('"recordToolCall({phase:"started",effectStatus:"intended",…}) awaited BEFORE execute; then {phase:"finished",effectStatus:"succeeded",output}"', async () => {
    const { events, records, run } = scene()
    const tool = defineTool({ ...base, execute: async (_args, _ctx) => (events.push('execute'), 'paid') })
    expect(await run(tool)).toBe('paid')
    expect(events).toEqual(['started', 'execute', 'finished'])
    expect(records).toEqual([
      { phase: 'started', effectStatus: 'intended', ...described },
      { phase: 'finished', effectStatus: 'succeeded', ...described, output: 'paid' },
    ])
  })

  test('"or {phase:"failed",effectStatus:"unknown",error} and rethrow"', async () => {
    const { events, records, run } = scene()
    const error = new RangeError('no money')
    const tool = defineTool({
      ...base,
      execute: (_args, _ctx) => {
        throw error
      },
    })
    await expect(run(tool)).rejects.toBe(error)
    expect(events).toEqual(['started', 'failed'])
    expect(records[1]).toEqual({ phase: 'failed', effectStatus: 'unknown', ...described, error })
  })

  test('"idempotencyKey in the record is null if execute takes <2 params"', async () => {
    const { records, run } = scene()
    await run(defineTool({ ...base, idempotent: true, execute: (_args) => 1 }))
    expect(records[0]).toMatchObject({ acceptsIdempotencyKey: false, idempotencyKey: null })
  })

  test('the AI SDK’s call id is in every record', async () => {
    const { records, run } = scene()
    await run(defineTool({ ...base, execute: (_args, _ctx) => 1 }), { toolCallId: 'call-9' })
    expect(records.map(({ toolCallId }) => toolCallId)).toEqual(['call-9', 'call-9'])
  })

  test('hasRevert is recorded, the handler itself is not', async () => {
    const { records, run } = scene()
    await run(defineTool({ ...base, execute: (_args, _ctx) => 1, revert: async () => undefined }))
    expect(records[0]?.hasRevert).toBe(true)
    expect(records[0]).not.toHaveProperty('revert')
  })

  test('seq counts every call of the task, those that fail too, also when they overlap', async () => {
    const { records, run } = scene()
    const tool = defineTool({ ...base, execute: async (_args, ctx) => (ctx.seq === 1 ? Promise.reject(new Error('x')) : 1) })
    await Promise.allSettled([run(tool), run(tool), run(tool)])
    await run(tool)
    const by = (phase: string) => records.filter((one) => one.phase === phase).map(({ seq }) => seq)
    expect(by('started')).toEqual([1, 2, 3, 4])
    expect(by('failed')).toEqual([2])
    expect(by('finished').sort()).toEqual([1, 3, 4])
  })
})

describe('recorders that fail', () => {
  test.each(['throws', 'rejects'])('at the start ("throw there = tool not run"): it %s', async (how) => {
    const execute = vi.fn((_args: object, _ctx: object) => 1)
    const failure = new Error('disk full')
    const { run } = scene({
      recordToolCall: () => {
        if (how === 'throws') throw failure
        return Promise.reject(failure)
      },
    })
    await expect(run(defineTool({ ...base, execute }))).rejects.toBe(failure)
    expect(execute).not.toHaveBeenCalled()
  })

  test.each(['throws', 'rejects'])('at the end it never turns success into failure: it %s', async (how) => {
    const phases: string[] = []
    const { run } = scene({
      recordToolCall: ({ phase }) => {
        phases.push(phase)
        if (phase === 'started') return undefined
        if (how === 'throws') throw new Error('disk full')
        return Promise.reject(new Error('disk full'))
      },
    })
    expect(await run(defineTool({ ...base, execute: (_args, _ctx) => 'paid' }))).toBe('paid')
    expect(phases).toEqual(['started', 'finished'])
    expect(warn).toHaveBeenCalledTimes(1)
  })

  test('at the end it never masks the tool’s error', async () => {
    const error = new Error('mine')
    const { run } = scene({
      recordToolCall: ({ phase }) => (phase === 'failed' ? Promise.reject(new Error('disk full')) : undefined),
    })
    const tool = defineTool({ ...base, execute: async (_args, _ctx) => Promise.reject(error) })
    await expect(run(tool)).rejects.toBe(error)
  })
})

describe('durabilitySnapshot', () => {
  test('"After success and sideEffect: durabilitySnapshot(name, …)" with the real tool call id', async () => {
    const durabilitySnapshot = vi.fn()
    const { run, events } = scene({ durabilitySnapshot })
    durabilitySnapshot.mockImplementation(() => events.push('snapshot'))
    await run(defineTool({ ...base, execute: (_args, _ctx) => 1 }), { toolCallId: 'call-3' })
    expect(durabilitySnapshot.mock.calls).toEqual([['pay', 'call-3']])
    expect(events).toEqual(['started', 'finished', 'snapshot'])
  })

  test('the id is that of the context where no agent made the call', async () => {
    const durabilitySnapshot = vi.fn()
    const { run } = scene({ durabilitySnapshot, toolUseId: 'use-1' })
    await run(defineTool({ ...base, execute: (_args, _ctx) => 1 }))
    expect(durabilitySnapshot.mock.calls).toEqual([['pay', 'use-1']])
  })

  test.each(['throws', 'rejects'])('"errors swallowed": it %s', async (how) => {
    const { run } = scene({
      durabilitySnapshot: () => {
        if (how === 'throws') throw new Error('no snapshot')
        return Promise.reject(new Error('no snapshot'))
      },
    })
    expect(await run(defineTool({ ...base, execute: (_args, _ctx) => 'paid' }))).toBe('paid')
  })

  test('not after a failure, not without a side effect', async () => {
    const durabilitySnapshot = vi.fn()
    const { run } = scene({ durabilitySnapshot })
    await run(defineTool({ name: 'pure', schema, execute: (_args, _ctx) => 1 }))
    const failing = defineTool({ ...base, execute: (_args, _ctx) => Promise.reject(new Error('x')) })
    await expect(run(failing)).rejects.toThrow('x')
    expect(durabilitySnapshot).not.toHaveBeenCalled()
  })

  test('it is awaited: the call settles after it', async () => {
    const { run, events } = scene()
    const { run: runSlow } = scene({
      durabilitySnapshot: async () => {
        await sleep(20)
        events.push('snapshot')
      },
    })
    await runSlow(defineTool({ ...base, execute: (_args, _ctx) => 1 }))
    events.push('settled')
    expect(events).toEqual(['snapshot', 'settled'])
    expect(run).toBeTypeOf('function')
  })
})
