import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { bash, defineTool, edit, runWithToolContext, type ToolCallRecord } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { makeSandbox } from '../support/sandbox.ts'

const never = new Promise<never>(() => undefined)

function probe(ran: string[], execute: () => unknown = () => 'done') {
  return defineTool({
    name: 'probe',
    schema: z.object({}),
    sideEffect: true,
    idempotent: false,
    execute: (_, ctx) => {
      ran.push(ctx.toolName)
      return execute()
    },
  })
}

describe('a call and its recorder', () => {
  test('001 edit: "Logs patch hash and byte size"', async () => {
    const fixture = makeSandbox()
    fixture.put('a', 'one\n')
    const patch = '@@ -1 +1 @@\n-one\n+two\n'
    const records: ToolCallRecord[] = []
    await fixture.within(() => edit.execute({ path: 'a', patch }), { recordToolCall: (record) => records.push(record) })
    const patchHash = createHash('sha256').update(patch).digest('hex')
    expect(records[0]?.input).toEqual({ path: 'a', patchBytes: Buffer.byteLength(patch), patchHash })
  })

  test('an abort while the start is recorded stops the call before it acts, and is recorded', async () => {
    const ran: string[] = []
    const phases: string[] = []
    const controller = new AbortController()
    const recordToolCall = async ({ phase }: ToolCallRecord): Promise<void> => {
      phases.push(phase)
      if (phase === 'started') queueMicrotask(() => controller.abort(new Error('stop')))
      await Promise.resolve()
      await Promise.resolve()
    }
    const call = runWithToolContext({ recordToolCall, signal: controller.signal }, () => probe(ran).execute({}))
    await expect(call).rejects.toThrow('stop')
    await pause(0)
    expect({ ran, phases }).toEqual({ ran: [], phases: ['started', 'failed'] })
  })

  test('a recorder that aborts the call it is told of, and never answers, does not hold it', async () => {
    const ran: string[] = []
    const controller = new AbortController()
    const recordToolCall = () => {
      controller.abort(new Error('at once'))
      return never
    }
    const call = runWithToolContext({ recordToolCall, signal: controller.signal }, () => probe(ran).execute({}))
    await expect(call).rejects.toThrow('at once')
    expect(ran).toEqual([])
  })

  test('a recorder that refuses the start is told of no end', async () => {
    const ran: string[] = []
    const phases: string[] = []
    const controller = new AbortController()
    const recordToolCall = async ({ phase }: ToolCallRecord) => {
      phases.push(phase)
      throw new Error('refused')
    }
    const call = runWithToolContext({ recordToolCall, signal: controller.signal }, () => probe(ran).execute({}))
    await expect(call).rejects.toThrow('refused')
    await pause(0)
    expect({ ran, phases }).toEqual({ ran: [], phases: ['started'] })
  })

  test('a recorder that never answers does not hold an aborted call', async () => {
    const ran: string[] = []
    const controller = new AbortController()
    setTimeout(() => controller.abort(new Error('enough')), 50)
    const call = runWithToolContext({ recordToolCall: () => never, signal: controller.signal }, () => probe(ran).execute({}))
    await expect(call).rejects.toThrow('enough')
    expect(ran).toEqual([])
  })

  test('what returns an iterable without being a generator is run, and its last value is the result', async () => {
    const ran: string[] = []
    const steps: number[] = []
    async function* counting() {
      for (const n of [1, 2, 3]) {
        steps.push(n)
        yield n
      }
    }
    const phases: [string, unknown][] = []
    const recordToolCall = ({ phase, output }: ToolCallRecord) => phases.push([phase, output])
    const result = await runWithToolContext({ recordToolCall }, () => probe(ran, counting).execute({}))
    expect({ result, steps }).toEqual({ result: 3, steps: [1, 2, 3] })
    expect(phases).toEqual([
      ['started', undefined],
      ['finished', 3],
    ])
  })

  test('the record of an aborted bash holds what it had printed', async () => {
    const fixture = makeSandbox()
    const records: ToolCallRecord[] = []
    const controller = new AbortController()
    const call = fixture.within(
      () => bash.execute({ cmd: 'sh', args: ['-c', 'echo begun; touch begun; sleep 30'] }, { abortSignal: controller.signal }),
      { recordToolCall: (record) => records.push(record) },
    )
    while (!existsSync(fixture.at('begun'))) await pause(10)
    controller.abort(new Error('enough'))
    await expect(call).rejects.toThrow('enough')
    expect(records.at(-1)).toMatchObject({ phase: 'failed', effectStatus: 'unknown', output: 'begun\n' })
  })

  test('a frozen context is no reason to fail', async () => {
    const ran: string[] = []
    const context = Object.freeze({ runId: 'r', nodeId: 'n' })
    expect(await runWithToolContext(context, () => probe(ran).execute({}))).toBe('done')
  })

  test("a sideEffect that is no boolean is refused: 'false' is true in a condition", () => {
    const options = { name: 'x', schema: z.object({}), execute: () => 1 }
    expect(() => defineTool({ ...options, sideEffect: 'false' as never })).toThrow(/sideEffect must be true or false/u)
    expect(() => defineTool({ ...options, idempotent: 0 as never })).toThrow(/idempotent must be true or false/u)
  })
})
