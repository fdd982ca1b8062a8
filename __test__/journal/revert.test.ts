import { createTools, defineTool, openJournal, revertRun, runTask, type ToolRevertContext } from 'toolwright'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { makeSandbox } from '../support/sandbox.ts'

async function scene(options = {}) {
  const fixture = makeSandbox()
  const journal = await openJournal(`file:${fixture.at('../runs.db')}`, options)
  onTestFinished(() => journal.close())
  const undone: [unknown, ToolRevertContext][] = []
  const order = defineTool({
    name: 'order',
    schema: z.object({ n: z.number(), apiKey: z.string().optional() }),
    sideEffect: true,
    execute: async ({ n }, _ctx) => {
      if (n < 0) throw new Error('sold out')
      return { id: n }
    },
    revert: async (args, ctx) => {
      undone.push([args, ctx])
      if (args.n === 13) throw new Error('not returnable')
    },
  })
  const run = (numbers: object[], more = {}) =>
    runTask({ journal, runId: 'run', nodeId: 'shop', rootDir: fixture.root, ...more }, async () => {
      for (const args of numbers) await order.execute(args as { n: number }).catch(() => undefined)
    })
  return { fixture, journal, order, undone, run }
}

describe('revertRun', () => {
  test('undoes the last call first, with its arguments, output and place', async () => {
    const { journal, order, undone, run } = await scene()
    await run([{ n: 1 }, { n: -1 }, { n: 2 }])
    const done = await revertRun(journal, 'run', { tools: { anything: order } })
    expect(done.map(({ call, outcome }) => [call.seq, outcome])).toEqual([
      [3, 'reverted'],
      [2, 'reverted'],
      [1, 'reverted'],
    ])
    const place = { runId: 'run', nodeId: 'shop', iteration: 0, attempt: 1, idempotencyKey: 'smithers:run:shop:0' }
    expect(undone).toEqual([
      [{ n: 2 }, { ...place, output: { id: 2 }, effectStatus: 'succeeded', toolCallSeq: 3 }],
      [{ n: -1 }, { ...place, output: null, effectStatus: 'unknown', toolCallSeq: 2 }],
      [{ n: 1 }, { ...place, output: { id: 1 }, effectStatus: 'succeeded', toolCallSeq: 1 }],
    ])
    expect(await journal.listRun('run')).toMatchObject([
      { revertStatus: 'reverted', revertedAtMs: expect.any(Number) },
      { revertStatus: 'reverted' },
      { revertStatus: 'reverted' },
    ])
    // What was undone needs no warning.
    await runTask({ journal, runId: 'run', nodeId: 'shop' }, (task) => expect(task.warning).toBeNull())
  })

  test('the last call first, also where the clock is set back meanwhile', async () => {
    const { journal, order, undone, run } = await scene()
    onTestFinished(() => void vi.restoreAllMocks())
    let now = Date.now()
    vi.spyOn(Date, 'now').mockImplementation(() => (now -= 1000))
    for (const nodeId of ['one', 'two']) await run([{ n: 1 }, { n: 2 }], { nodeId })
    await revertRun(journal, 'run', { tools: { order } })
    expect(undone.map(([, { nodeId, toolCallSeq }]) => [nodeId, toolCallSeq])).toEqual([
      ['two', 2],
      ['two', 1],
      ['one', 2],
      ['one', 1],
    ])
  })

  test('each at most once: again, at the same time, after a failure', async () => {
    const { journal, order, undone, run } = await scene()
    await run([{ n: 1 }, { n: 13 }, { n: 3 }])
    const tools = { order }
    const both = await Promise.all([revertRun(journal, 'run', { tools }), revertRun(journal, 'run', { tools })])
    expect(undone).toHaveLength(3)
    expect(both.flat().filter(({ outcome }) => outcome !== 'skipped')).toHaveLength(3)
    expect(both.flat().find(({ outcome }) => outcome === 'failed')).toMatchObject({ error: { message: 'not returnable' } })
    const again = await revertRun(journal, 'run', { tools })
    expect(again.map(({ outcome, reason }) => [outcome, reason])).toEqual([
      ['skipped', 'it is reverted'],
      ['skipped', 'it is revert-failed'],
      ['skipped', 'it is reverted'],
    ])
    expect(undone).toHaveLength(3)
    const failed = (await journal.listRun('run'))[1]
    expect(failed).toMatchObject({ revertStatus: 'revert-failed', revertedAtMs: null })
    expect(JSON.parse(failed?.revertErrorJson ?? '')).toMatchObject({ name: 'Error', message: 'not returnable' })
    // It still has to be told of.
    await runTask({ journal, runId: 'run', nodeId: 'shop' }, (task) => {
      expect(task.warning).toContain('- tool order (attempt 1, seq 2, status succeeded, registered revert handler)')
      expect(task.warning).not.toContain('seq 1')
    })
  })

  test('a call of a process that died may have happened, and is undone as unknown', async () => {
    const { fixture, journal, order, undone } = await scene()
    const dying = await openJournal(`file:${fixture.at('../runs.db')}`)
    const key = { runId: 'run', nodeId: 'shop', attempt: 1, seq: 1, toolName: 'order', inputJson: '{"n":4}' }
    await dying.insertToolCall({ ...key, sideEffect: true, hasRevert: true })
    expect(await revertRun(journal, 'run', { tools: { order } })).toMatchObject([{ outcome: 'skipped', reason: 'it has no outcome yet' }])
    await dying.close()
    expect(await revertRun(journal, 'run', { tools: { order } })).toMatchObject([{ outcome: 'reverted' }])
    expect(undone).toMatchObject([[{ n: 4 }, { output: null, effectStatus: 'unknown' }]])
  })

  test('what has no handler, or no tool, is left alone', async () => {
    const { journal, order, undone, run } = await scene()
    await run([{ n: 1 }])
    const { write } = createTools()
    await runTask({ journal, runId: 'run', nodeId: 'files', rootDir: process.cwd() }, () =>
      write.execute({ path: '../x', content: '' }).catch(() => undefined),
    )
    const done = await revertRun(journal, 'run', { tools: { write } })
    expect(done).toMatchObject([
      { call: { toolName: 'order' }, outcome: 'skipped', reason: expect.stringContaining('no tool named order') },
    ])
    expect(await revertRun(journal, 'run', { tools: { order }, nodeId: 'files' })).toEqual([])
    expect(await revertRun(journal, 'another run', { tools: { order } })).toEqual([])
    expect(undone).toEqual([])
  })

  test('an effect without a handler is answered with the reason, and the others are undone', async () => {
    const { journal, order, undone, run } = await scene()
    await run([{ n: 1 }])
    const fixture = makeSandbox()
    const tools = { order, ...createTools({ rootDir: fixture.root, extraTools: ['apply_patch'] }) }
    const pay = defineTool({ name: 'pay', schema: z.object({}), sideEffect: true, idempotent: true, execute: () => 'ok' })
    await runTask({ journal, runId: 'run', nodeId: 'files' }, async () => {
      await tools.write.execute({ path: 'a', content: '1\n' })
      await tools.read.execute({ path: 'a' })
      await tools.apply_patch.execute({ patch: '*** Begin Patch\n*** Update File: a\n@@\n-1\n+2\n*** End Patch' })
      await tools.apply_patch.execute({ patch: 'nonsense' }).catch(() => undefined)
      await tools.bash.execute({ cmd: 'true' })
      await pay.execute({})
    })
    const done = await revertRun(journal, 'run', { tools })
    expect(done.map(({ call, outcome, reason }) => [call.toolName, outcome, reason])).toEqual([
      ['pay', 'irreversible', 'pay has no revert handler'],
      ['bash', 'irreversible', 'what a command has changed is not known: take the files from version control'],
      ['apply_patch', 'irreversible', expect.stringContaining('the journal holds no contents of files')],
      ['write', 'irreversible', expect.stringContaining('the journal holds no contents of files')],
      ['order', 'reverted', undefined],
    ])
    expect(undone).toHaveLength(1)
    expect(fixture.text('a')).toBe('2\n')
  })

  test('arguments that were not kept are not made up', async () => {
    const { journal, order, undone, run } = await scene({ redactKeys: true })
    await run([{ n: 1, apiKey: 'sk-1' }])
    expect(await journal.listRun('run')).toMatchObject([{ inputJson: '{"apiKey":"[redacted]","n":1}' }])
    expect(await revertRun(journal, 'run', { tools: { order } })).toMatchObject([
      { outcome: 'skipped', reason: 'its arguments were not kept as they were' },
    ])
    expect(undone).toEqual([])
  })

  test('an outcome that cannot be recorded is told on stderr; what was undone stays undone', async () => {
    const { journal, order, undone, run } = await scene()
    await run([{ n: 1 }])
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    vi.spyOn(journal, 'finishRevert').mockRejectedValue(new Error('disk full'))
    expect(await revertRun(journal, 'run', { tools: { order } })).toMatchObject([{ outcome: 'reverted' }])
    expect(undone).toHaveLength(1)
    expect(warn).toHaveBeenCalledTimes(1)
    vi.restoreAllMocks()
    expect(await revertRun(journal, 'run', { tools: { order } })).toMatchObject([{ outcome: 'skipped', reason: 'it is reverting' }])
  })

  test('an abort ends it before the next handler', async () => {
    const { journal, order, undone, run } = await scene()
    await run([{ n: 1 }])
    const signal = AbortSignal.abort(new Error('enough'))
    await expect(revertRun(journal, 'run', { tools: { order }, signal })).rejects.toThrow('enough')
    await expect(revertRun(journal, 'run', {} as never)).rejects.toThrow(/tools must be/u)
    expect(undone).toEqual([])
  })
})
