/** Calls that nobody can decide by themselves: nobody waits for them for ever. */
import { join } from 'node:path'
import { defineTool, type Journal, openJournal, type ToolCallEnd, type ToolCallRef, ToolError } from 'toolwright'
import { callOnce, settleCall } from 'toolwright/durable'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { unsettledCalls } from '../../ts/journal/settle-call.ts'
import { runCli } from '../support/run-cli.ts'
import { makeSandbox } from '../support/sandbox.ts'

async function twoJournals() {
  const file = join(makeSandbox().root, 'runs.db')
  const journals = [await openJournal(file), await openJournal(file)] as const
  onTestFinished(async () => void (await Promise.all(journals.map((journal) => journal.close()))))
  return { file, here: journals[0], there: journals[1] }
}

const call = (tool: unknown, more: object = {}) => ({ runId: 'run', callId: 'call', tool, input: {}, ...more })

function payTool(more: object = {}) {
  const effects: number[] = []
  const tool = defineTool({
    name: 'pay',
    schema: z.object({}),
    sideEffect: true,
    usesIdempotencyKey: false,
    execute: async () => `paid ${effects.push(1)}`,
    ...more,
  })
  return { effects, tool }
}

/** A journal whose outcomes cannot be recorded for a number of times. */
function failing(journal: Journal, times: number, code = 'JOURNAL_DISK_FULL'): Journal & { tries: ToolCallEnd[] } {
  const tries: ToolCallEnd[] = []
  const wrapped = Object.create(journal) as Journal & { tries: ToolCallEnd[] }
  for (const name of ['claimCall', 'rows', 'listRun', 'listToolCalls', 'priorEffects', 'insertToolCall', 'flush', 'close'] as const) {
    Object.assign(wrapped, { [name]: (journal[name] as (...args: unknown[]) => unknown).bind(journal) })
  }
  const updateToolCall = async (ref: ToolCallRef, end: ToolCallEnd): Promise<void> => {
    tries.push(end)
    if (tries.length <= times) throw Object.assign(new Error('no'), { code })
    await journal.updateToolCall(ref, end)
  }
  return Object.assign(wrapped, { updateToolCall, tries })
}

describe('an outcome that cannot be recorded', () => {
  test('is written behind, and whoever waits gets it', async () => {
    const { here, there } = await twoJournals()
    const { effects, tool } = payTool()
    const broken = failing(here, 3)
    expect(await callOnce(broken, call(tool))).toBe('paid 1')
    // In this process at once, from memory; in another one as soon as it is written.
    expect(await Promise.all([callOnce(broken, call(tool)), callOnce(there, call(tool))])).toEqual(['paid 1', 'paid 1'])
    expect(effects).toHaveLength(1)
    expect(new Set(broken.tries.map(({ finishedAtMs }) => finishedAtMs)).size).toBe(1)
  })

  test.each([
    ['its encoding', () => new Error('it has no equivalent in encoding "LATIN1"')],
    ['its size', () => new ToolError({ code: 'JOURNAL_ROW_TOO_LARGE', summary: 'The call is too large for the journal' })],
  ])('is written without what the store may not be able to keep: %s', async (_, refusal) => {
    const { here, there } = await twoJournals()
    const { effects, tool } = payTool({ execute: async () => `☕ ${effects.push(1)}` })
    const wrapped = failing(here, 0)
    const update = wrapped.updateToolCall
    Object.assign(wrapped, {
      updateToolCall: async (ref: ToolCallRef, end: ToolCallEnd) => {
        if (JSON.stringify(end).includes('☕')) throw refusal()
        await update(ref, end)
      },
    })
    expect(await callOnce(wrapped, call(tool))).toBe('☕ 1')
    await expect(callOnce(there, call(tool))).rejects.toMatchObject({ code: 'REPLAY_INCOMPLETE' })
    expect(effects).toHaveLength(1)
    expect(await there.listRun('run')).toMatchObject([{ status: 'success' }])
  })

  test('is written when the journal is closed, if it can be then', async () => {
    const file = join(makeSandbox().root, 'runs.db')
    const store = await openJournal(file)
    let isFull = true
    const journal = await openJournal({
      ...store,
      updateToolCall: async (ref: ToolCallRef, end: ToolCallEnd) => {
        if (isFull) throw new Error('full')
        await store.updateToolCall(ref, end)
      },
    })
    const { tool } = payTool()
    await callOnce(journal, call(tool))
    isFull = false
    await journal.close()
    const after = await openJournal(file)
    expect(await after.listRun('run')).toMatchObject([{ status: 'success' }])
    await after.close()
  })
})

describe('a tool that hangs', () => {
  /** `began` is fulfilled when the tool acts. */
  const hanging = () => {
    let begin: () => void = () => undefined
    const began = new Promise<void>((resolve) => (begin = resolve))
    const execute = () => {
      begin()
      return new Promise(() => undefined)
    }
    return { tool: payTool({ execute }).tool, began }
  }

  test('does not keep its caller after an abort, and frees its id', async () => {
    const { here, there } = await twoJournals()
    const reason = new Error('the activity has timed out')
    const controller = new AbortController()
    const { tool, began } = hanging()
    const made = expect(callOnce(here, call(tool, { signal: controller.signal }))).rejects.toBe(reason)
    await began
    const start = performance.now()
    controller.abort(reason)
    await made
    expect(performance.now() - start).toBeLessThan(5_000)
    await expect(callOnce(there, call(tool))).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
  })

  test('holds its id no longer than staleAfterMs', async () => {
    const { here, there } = await twoJournals()
    const { tool, began } = hanging()
    const first = callOnce(here, call(tool, { staleAfterMs: 300 }))
    await began
    const second = callOnce(there, call(tool))
    await expect(first).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN', message: expect.stringContaining('has not ended in time') })
    await expect(second).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
  })

  test('is given up by who waits, and its outcome counts if it comes all the same', async () => {
    const { here, there } = await twoJournals()
    let end: (value: string) => void = () => undefined
    let begin: () => void = () => undefined
    const began = new Promise<void>((resolve) => (begin = resolve))
    const execute = () => {
      begin()
      return new Promise<string>((resolve) => (end = resolve))
    }
    const { tool } = payTool({ execute })
    const first = callOnce(here, call(tool))
    await began
    await expect(callOnce(there, call(tool, { staleAfterMs: 300 }))).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    end('paid late')
    expect(await first).toBe('paid late')
    expect(await callOnce(there, call(tool))).toBe('paid late')
  })

  test('a wait ends with the reason of the caller’s own abort', async () => {
    const { here, there } = await twoJournals()
    const { tool, began } = hanging()
    void callOnce(here, call(tool)).catch(() => undefined)
    await began
    const controller = new AbortController()
    const reason = { why: 'a deadline' }
    setTimeout(() => controller.abort(reason), 150)
    await expect(callOnce(there, call(tool, { signal: controller.signal }))).rejects.toBe(reason)
  })
})

describe('a call that a person settles', () => {
  const unknownCall = async () => {
    const { file, here, there } = await twoJournals()
    const controller = new AbortController()
    const { effects, tool } = payTool({
      execute: async (_args: unknown, { signal }: { signal?: AbortSignal }) => {
        effects.push(1)
        if (effects.length > 1) return 'paid again'
        setTimeout(() => controller.abort(new Error('stop')), 20)
        return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)))
      },
    })
    await expect(callOnce(here, call(tool, { signal: controller.signal }))).rejects.toThrow('stop')
    await expect(callOnce(there, call(tool))).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    return { file, here, there, tool, effects }
  }

  test('as done: everybody gets the output, and the row says who', async () => {
    const { there, tool, effects } = await unknownCall()
    const output = { receipt: 7, at: new Date(0) }
    await settleCall(there, { runId: 'run', callId: 'call', outcome: 'done', output, by: 'ada', note: 'it is in the ledger' })
    expect(await callOnce(there, call(tool))).toEqual(output)
    expect(effects).toHaveLength(1)
    const [row] = await there.listRun('run')
    expect(row?.status).toBe('success')
    expect(JSON.parse(row?.outputJson ?? '')).toMatchObject({ settled: { by: 'ada', was: 'unknown', note: 'it is in the ledger' } })
    await expect(settleCall(there, { runId: 'run', callId: 'call', outcome: 'not-done', by: 'bob' })).rejects.toMatchObject({
      code: 'JOURNAL_CALL_FINISHED',
    })
  })

  test('as not done: it is made again', async () => {
    const { there, tool, effects } = await unknownCall()
    await settleCall(there, { runId: 'run', callId: 'call', outcome: 'not-done', by: 'ada' })
    expect(JSON.parse((await there.listRun('run'))[0]?.errorJson ?? '')).toMatchObject({ name: 'Settled', settled: { by: 'ada' } })
    expect(await callOnce(there, call(tool))).toBe('paid again')
    expect(effects).toHaveLength(2)
  })

  test('as failed: the error is thrown to everybody; wrong ones are refused', async () => {
    const { there, tool } = await unknownCall()
    await expect(settleCall(there, { runId: 'run', callId: 'nope', outcome: 'done', by: 'ada' })).rejects.toMatchObject({
      code: 'JOURNAL_CALL_MISSING',
    })
    await expect(settleCall(there, { runId: 'run', outcome: 'done', by: 'ada' })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    await settleCall(there, { runId: 'run', row: 1, outcome: 'failed', by: 'ada', note: 'declined' })
    await expect(callOnce(there, call(tool))).rejects.toThrow('ada says that the call was made and went wrong: declined')
  })

  test('by the command', async () => {
    const { file, there, tool } = await unknownCall()
    const listed = await runCli(['calls', 'settle', file])
    expect(listed).toMatchObject({ code: 0, stdout: expect.stringMatching(/row 1 .*run "run" .*call "call" .*pay .*unknown/u) })
    const wrong = await runCli(['calls', 'settle', file, '--run', 'run', '--call', 'call', '--as', 'maybe'])
    expect(wrong).toMatchObject({ code: 2 })
    const args = ['--run', 'run', '--call', 'call', '--as', 'done', '--output', '"by hand"', '--by', 'ada']
    expect(await runCli(['calls', 'settle', file, ...args])).toMatchObject({ code: 0, stdout: 'pay (row 1) is settled as done.\n' })
    expect(await callOnce(there, call(tool))).toBe('by hand')
    expect(await runCli(['calls', 'settle', file])).toMatchObject({ code: 0, stdout: 'Every call has a known outcome.\n' })
    expect((await runCli(['calls', 'settle', file, ...args])).code).toBe(1)
  })

  test('by the command, whatever its id: a queue counts its jobs, and a row has a number of its own', async () => {
    const { file, there, tool } = await unknownCall()
    const counted = { ...call(tool), callId: '1' }
    expect(await callOnce(there, counted)).toBe('paid again')
    // The call with the id 1 has its outcome. Row 1 is another call.
    const settle = (...which: string[]) => runCli(['calls', 'settle', file, '--run', 'run', ...which, '--as', 'failed', '--by', 'ada'])
    expect(await settle('--call', '1')).toMatchObject({ code: 1, stderr: expect.stringContaining('already has its outcome, success') })
    expect(await settle('--call', '1', '--row', '1')).toMatchObject({ code: 2 })
    expect(await settle('--row', 'one')).toMatchObject({ code: 2 })
    expect(await settle('--row', '1')).toMatchObject({ code: 0, stdout: 'pay (row 1) is settled as failed.\n' })
    expect(await callOnce(there, counted)).toBe('paid again')
  })

  test('is listed without a look at runs whose calls all have an outcome', async () => {
    const { here } = await twoJournals()
    const row = { nodeId: 'n', attempt: 1, toolName: 'pay', sideEffect: true }
    for (let run = 0; run < 50; run += 1) {
      await here.insertToolCall({ ...row, runId: `done ${run}`, seq: 1, status: 'success' })
      await here.insertToolCall({ ...row, runId: `done ${run}`, seq: 2, status: 'error' })
    }
    await here.insertToolCall({ ...row, runId: 'open', seq: 1, status: 'success' })
    await here.insertToolCall({ ...row, runId: 'open', seq: 2 })
    await here.insertToolCall({ ...row, runId: 'unknown', seq: 1, status: 'unknown' })
    const looked: string[] = []
    const listRun: Journal['listRun'] = (runId, options) => {
      looked.push(runId)
      return here.listRun(runId, options)
    }
    const rows = await unsettledCalls({ listRuns: () => here.listRuns(), listRun } as Journal)
    expect(rows).toMatchObject([
      { runId: 'open', seq: 2, status: 'started' },
      { runId: 'unknown', seq: 1, status: 'unknown' },
    ])
    expect(looked).toEqual(['open', 'unknown'])
  })
})
