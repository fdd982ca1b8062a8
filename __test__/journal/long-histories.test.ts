// A task with a long history behind it: looked through without what its calls gave.
import { join } from 'node:path'
import { defineTool, openJournal, replayRun, revertRun, runTask, type Journal } from 'toolwright'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { runCli } from '../support/run-cli.ts'
import { makeSandbox } from '../support/sandbox.ts'

const CALLS = 200
const OUTPUT = 'x'.repeat(199_000)

async function withHistory(): Promise<{ journal: Journal; path: string }> {
  const path = join(makeSandbox().root, 'runs.db')
  const journal = await openJournal(`file:${path}`)
  onTestFinished(() => journal.close())
  for (let seq = 1; seq <= CALLS; seq += 1) {
    const ref = await journal.insertToolCall({
      runId: 'run',
      nodeId: 'node',
      attempt: 1,
      seq,
      toolName: 'act',
      inputJson: `{"n":${seq}}`,
      sideEffect: true,
      idempotent: false,
    })
    await journal.updateToolCall(ref, { status: 'success', outputText: `${seq} ${OUTPUT}` })
  }
  return { journal, path }
}

/** How much the process grew at most while `act` ran. */
async function measured<T>(act: () => Promise<T>): Promise<{ value: T; grown: number }> {
  const before = process.memoryUsage().rss
  let grown = 0
  const timer = setInterval(() => {
    grown = Math.max(grown, process.memoryUsage().rss - before)
  }, 1)
  try {
    return { value: await act(), grown: Math.max(grown, process.memoryUsage().rss - before) }
  } finally {
    clearInterval(timer)
  }
}

test('a retry is warned without reading what the calls gave', { timeout: 120_000 }, async () => {
  const { journal } = await withHistory()
  const { value, grown } = await measured(() => runTask({ journal, runId: 'run', nodeId: 'node' }, (task) => task))
  expect(value.attempt).toBe(2)
  expect(value.warning).toContain(`...and ${CALLS - 5} more`)
  expect(value.priorEffects).toHaveLength(CALLS)
  expect(value.priorEffects[0]).toMatchObject({ seq: 1, inputJson: '{"n":1}', outputJson: null, isCut: false, status: 'success' })
  // All outputs are 40 MB, and were in memory three times.
  expect(grown).toBeLessThan(50e6)
})

test('an outline has all but the outputs, and the list has those too', { timeout: 120_000 }, async () => {
  const { journal } = await withHistory()
  const outline = await journal.listRun('run', { outline: true })
  expect(outline).toHaveLength(CALLS)
  expect(outline.every(({ outputJson, isCut, outputBytes }) => outputJson === null && !isCut && Number(outputBytes) > 199_000)).toBe(true)
  const whole = await journal.listRun('run')
  expect(whole.map(({ seq }) => seq)).toEqual(outline.map(({ seq }) => seq))
  expect(whole.every(({ seq, outputJson }) => outputJson?.startsWith(`"${seq} x`))).toBe(true)
  expect(await journal.listToolCalls('run', 'node', 0)).toEqual(whole)
  const rows = await journal.readRows(0, 1_000)
  expect(rows.map(({ row }) => row)).toEqual(whole.map(({ row }) => row))
})

test('replaying and undoing read one call after the other', { timeout: 120_000 }, async () => {
  const { journal } = await withHistory()
  let count = 0
  for await (const { output, seq } of replayRun(journal, 'run')) {
    expect(String(output).startsWith(`${seq} x`)).toBe(true)
    count += 1
  }
  expect(count).toBe(CALLS)
  const act = defineTool({ name: 'act', schema: z.object({}), sideEffect: true, idempotent: false, execute: (_args, _ctx) => '' })
  const undone = await measured(() => revertRun(journal, 'run', { tools: { act } }))
  expect(new Set(undone.value.map(({ outcome }) => outcome))).toEqual(new Set(['irreversible']))
  expect(undone.grown).toBeLessThan(50e6)
})

test('the command line shows it without holding it in memory', { timeout: 120_000 }, async () => {
  const { path, journal } = await withHistory()
  await journal.close()
  const shown = await runCli(['calls', path])
  expect(shown.stdout).toContain(`${CALLS} calls`)
  expect(shown.stdout.split('\n').filter((line) => line.includes('199KB'))).toHaveLength(CALLS)
})
