import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createTools, defineTool, openJournal, runTask } from 'toolwright'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { startScript } from '../support/child-script.ts'
import { runs } from '../support/randomised.ts'
import { makeSandbox } from '../support/sandbox.ts'

const script = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
const PROCESSES = 8
const rowsEach = runs(1_000)

describe('several processes on one journal', () => {
  test(
    `${PROCESSES} × ${rowsEach} rows: nothing is lost, and the order of each task is kept`,
    { timeout: 60_000 + rowsEach * 100 },
    async () => {
      const fixture = makeSandbox()
      const file = join(fixture.outside, 'runs.db')
      const nodes = Array.from({ length: PROCESSES }, (_, index) => `node-${index}`)
      const ended = await Promise.all(
        nodes.map((node) => startScript(script('many-rows-process.ts'), [file, node, String(rowsEach)]).ended),
      )
      for (const { code, stderr } of ended) expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      const journal = await openJournal(`file:${file}`)
      onTestFinished(() => journal.close())
      for (const node of nodes) {
        const rows = await journal.listToolCalls('run', node, 0)
        expect(rows.length).toBe(rowsEach)
        expect(rows.every((row, index) => row.seq === index + 1 && row.inputJson === `{"n":${index + 1}}`)).toBe(true)
        expect(rows.every((row) => row.status === 'success' && row.outputJson === String(row.seq))).toBe(true)
        // Effects stand in the file in the order in which they were begun.
        const effects = rows.filter((row) => row.sideEffect === true).map((row) => row.row)
        expect(effects).toEqual(effects.toSorted((a, b) => a - b))
      }
      expect(await journal.listRuns()).toMatchObject([{ calls: PROCESSES * rowsEach, succeeded: PROCESSES * rowsEach }])
    },
  )

  test('a task that another process runs is locked; the lock goes with a killed process', async () => {
    const fixture = makeSandbox()
    const file = join(fixture.outside, 'runs.db')
    const { child, printed, ended } = startScript(script('crash-process.ts'), [file, fixture.root])
    await printed('ready')
    const journal = await openJournal(`file:${file}`)
    onTestFinished(() => journal.close())
    const attempt = () => runTask({ journal, runId: 'run', nodeId: 'node' }, (task) => task.attempt)
    await expect(attempt()).rejects.toMatchObject({ code: 'JOURNAL_TASK_LOCKED', message: expect.stringContaining(String(child.pid)) })
    await expect.poll(() => journal.lastRow()).toBeGreaterThan(0)
    child.kill('SIGKILL')
    await ended
    expect(await attempt()).toBe(2)
  })

  test('while another process holds the file, calls wait for it, and the event loop for nobody', async () => {
    const fixture = makeSandbox()
    const file = join(fixture.outside, 'runs.db')
    const journal = await openJournal(`file:${file}`)
    onTestFinished(() => journal.close())
    const put = defineTool({ name: 'put', schema: z.object({ n: z.number() }), sideEffect: true, execute: ({ n }, _ctx) => n })
    const { read } = createTools()
    fixture.put('a', 'text')
    await runTask({ journal, runId: 'run', nodeId: 'node', rootDir: fixture.root }, async () => {
      await put.execute({ n: 0 })
      const holder = startScript(script('holding-process.ts'), [file, '700'])
      await holder.printed('holding')
      const started = performance.now()
      const delay = monitorEventLoopDelay({ resolution: 1 })
      delay.enable()
      const calls = Array.from({ length: 20 }, (_, n) => put.execute({ n }))
      const reads = await Promise.all(Array.from({ length: 20 }, () => read.execute({ path: 'a' })))
      expect(reads).toHaveLength(20)
      // Reads are written behind, and wait for nobody.
      const readAfter = performance.now() - started
      await Promise.all(calls)
      const writtenAfter = performance.now() - started
      delay.disable()
      expect(readAfter).toBeLessThan(writtenAfter)
      expect(writtenAfter).toBeGreaterThan(300)
      // In Bun the monitor counts other things.
      if (process.versions['bun'] === undefined) expect(delay.max / 1e6).toBeLessThan(200)
      expect((await holder.ended).code).toBe(0)
    })
    expect(await journal.listRuns()).toMatchObject([{ calls: 41, succeeded: 41 }])
  })

  test('a journal that stays busy is a typed error, and the call is not made', async () => {
    const fixture = makeSandbox()
    const file = join(fixture.outside, 'runs.db')
    const journal = await openJournal(`file:${file}`, { busyTimeoutMs: 100 })
    onTestFinished(() => journal.close())
    const ran: number[] = []
    const put = defineTool({
      name: 'put',
      schema: z.object({ n: z.number() }),
      sideEffect: true,
      execute: ({ n }, _ctx) => ran.push(n),
    })
    await runTask({ journal, runId: 'run', nodeId: 'node' }, async () => {
      await put.execute({ n: 0 })
      const holder = startScript(script('holding-process.ts'), [file, '1500'])
      await holder.printed('holding')
      await expect(put.execute({ n: 1 })).rejects.toMatchObject({ code: 'JOURNAL_BUSY', details: { path: expect.any(String) } })
      await holder.ended
      await pause(10)
      await put.execute({ n: 2 })
    })
    expect(ran).toEqual([0, 2])
  })

  test('an abort does not wait for a busy journal, and what was recorded late has its end', async () => {
    const fixture = makeSandbox()
    const file = join(fixture.outside, 'runs.db')
    const journal = await openJournal(`file:${file}`)
    onTestFinished(() => journal.close())
    const holder = startScript(script('holding-process.ts'), [file, '800'])
    await holder.printed('holding')
    const controller = new AbortController()
    const started = performance.now()
    const call = createTools({ journal, rootDir: fixture.root }).write.execute(
      { path: 'a', content: '' },
      { abortSignal: controller.signal },
    )
    await pause(50)
    controller.abort(new Error('enough'))
    await expect(call).rejects.toThrow('enough')
    expect(performance.now() - started).toBeLessThan(600)
    await holder.ended
    await expect
      .poll(async () => (await journal.readRows(0, 10)).map(({ status, acted }) => ({ status, acted })))
      .toEqual([{ status: 'error', acted: false }])
    expect(existsSync(fixture.at('a'))).toBe(false)
  })
})
