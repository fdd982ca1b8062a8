import { createTools, openJournal, runTask } from 'toolwright'
import { expect, test } from 'vitest'
import { makeSandbox } from '../../support/sandbox.ts'
import { useServer } from './servers.ts'

const own = useServer()

test('an attempt begins and ends with two statements besides its calls', async () => {
  const store = own.open()
  const journal = await openJournal(store)
  await runTask({ journal, runId: 'first', nodeId: 'node' }, () => 1)
  const sandbox = makeSandbox()
  const { write, read } = createTools({ rootDir: sandbox.root })
  for (const attempt of [1, 2]) {
    await journal.flush()
    let before = store.statements
    await runTask({ journal, runId: 'run', nodeId: 'node' }, (task) => {
      expect(task.attempt).toBe(1)
      // A first attempt, and one after an attempt that made no call.
      return attempt
    })
    expect(store.statements - before).toBe(2)
    before = store.statements
    await runTask({ journal, runId: `run ${attempt}`, nodeId: 'node' }, async () => {
      for (const n of [1, 2, 3]) await write.execute({ path: `${n}.txt`, content: 'a' })
      for (const n of [1, 2]) await read.execute({ path: `${n}.txt` })
    })
    // Three effects in two statements each, two reads in one or two of them, the beginning and the end.
    expect(store.statements - before).toBeLessThanOrEqual(10)
  }
  await journal.close()
})

test('no index is touched by an outcome, nor by the note of a key that was read', async () => {
  const schema = own.schema()
  const journal = await openJournal(own.open({ schema }))
  const call = async (seq: number): Promise<void> => {
    const ref = await journal.insertToolCall({ runId: 'r', nodeId: 'n', attempt: 1, seq, toolName: 'pay', sideEffect: true })
    if (seq % 2 === 0) await journal.noteKeyRead?.(ref)
    if (seq % 4 === 0) await journal.flush()
    await journal.updateToolCall(ref, { status: 'success', outputJson: '"ok"', keyRead: seq % 2 === 0 })
  }
  const calls = Array.from({ length: 8 }, async (_, lane) => {
    for (let seq = lane + 1; seq <= 500; seq += 8) await call(seq)
  })
  await Promise.all(calls)
  await journal.close()
  const changes = async () => {
    const { rows } = await own.pool.query(
      `SELECT n_tup_upd::int AS all, n_tup_hot_upd::int AS hot FROM pg_stat_user_tables WHERE schemaname = $1 AND relname = '_smithers_tool_calls'`,
      [schema],
    )
    return rows[0]
  }
  // The server counts with some delay.
  await expect.poll(async () => (await changes()).all, { timeout: 20_000 }).toBeGreaterThanOrEqual(500)
  const { all, hot } = await changes()
  expect(hot).toBe(all)
})

test('a table that is filled from empty by one connection does not get slower', { timeout: 120_000 }, async () => {
  const journal = await openJournal(own.open())
  const batch = async (start: number): Promise<number> => {
    const began = performance.now()
    await Promise.all(
      Array.from({ length: 500 }, async (_, index) => {
        const call = { runId: `run ${start}`, nodeId: 'node', attempt: 1, seq: index + 1, toolName: 'pay', sideEffect: true }
        await journal.updateToolCall(await journal.insertToolCall(call), { status: 'success', outputJson: '"x"' })
      }),
    )
    return performance.now() - began
  }
  const times: number[] = []
  for (let round = 0; round < 40; round += 1) times.push(await batch(round))
  const median = (some: number[]): number => some.toSorted((a, b) => a - b)[some.length >> 1] ?? 0
  const [first, last] = [median(times.slice(2, 12)), median(times.slice(-10))]
  console.log(`500 calls at once: ${first.toFixed(0)} ms in a table of some thousand rows, ${last.toFixed(0)} ms in one of 20,000`)
  expect(last).toBeLessThan(2 * first + 10)
  await journal.close()
})
