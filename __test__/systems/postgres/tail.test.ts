import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { opened, useServer } from './servers.ts'

const own = useServer()

test('beside slow writers and such that take back, a tail misses no row and shows each once', { timeout: 120_000 }, async () => {
  const schema = own.schema()
  const journal = await opened(own.open({ schema }))
  await journal.recover()
  const calls = `"${schema}"._smithers_tool_calls`
  const insert = `INSERT INTO ${calls} (run_id, node_id, iteration, attempt, seq, tool_name, started_at_ms, finished_at_ms, status)
    SELECT 'run', $1, $2, 1, n, 'pay', 0, 0, 'success' FROM generate_series(1, $3::int) n`
  const lanes = 8
  const written: number[] = []
  const writers = Array.from({ length: lanes }, async (_, lane) => {
    let rows = 0
    for (let turn = 0; rows < 10_000 / lanes; turn += 1) {
      const client = await own.pool.connect()
      const size = 1 + Math.floor(Math.random() * 20)
      const isKept = Math.random() > 0.2
      await client.query('BEGIN')
      await client.query(insert, [`lane ${lane}`, turn, size])
      if (Math.random() < 0.2) await pause(Math.random() * 40)
      await client.query(isKept ? 'COMMIT' : 'ROLLBACK')
      client.release()
      if (isKept) rows += size
    }
    written.push(rows)
  })
  const seen: number[] = []
  const naive = new Set<number>()
  const stop = new AbortController()
  const tailing = (async () => {
    for await (const row of journal.tail({ pollMs: 5, signal: stop.signal })) seen.push(row.row)
  })().catch(() => undefined)
  // The control: a reader by the numbers of rows.
  const state = { isOver: false }
  const reading = (async () => {
    let last = 0
    while (!state.isOver) {
      for (const { row } of await journal.readRows(last, 500)) {
        naive.add(row)
        last = row
      }
      await pause(5)
    }
  })()
  await Promise.all(writers)
  const all = written.reduce((sum, rows) => sum + rows, 0)
  await expect.poll(() => seen.length, { timeout: 20_000 }).toBe(all)
  state.isOver = true
  stop.abort()
  await Promise.all([tailing, reading])
  console.log(`tail: ${all} rows, ${all - new Set(seen).size} missed; by number ${all - naive.size} missed`)
  expect(new Set(seen).size).toBe(all)
  expect(naive.size).toBeLessThan(all)
  await journal.close()
})

test('a row is seen within a moment', { timeout: 60_000 }, async () => {
  const schema = own.schema()
  const [journal, other] = [await opened(own.open({ schema })), await opened(own.open({ schema }))]
  await journal.recover()
  const stop = new AbortController()
  const lags: number[] = []
  const tailing = (async () => {
    for await (const row of other.tail({ after: 'end', signal: stop.signal })) lags.push(Date.now() - row.startedAtMs)
  })().catch(() => undefined)
  await pause(200)
  for (let seq = 1; seq <= 50; seq += 1) {
    const call = { runId: 'run', nodeId: 'node', attempt: 1, seq, toolName: 'pay', sideEffect: true, startedAtMs: Date.now() }
    await journal.insertToolCall({ ...call, status: 'success' })
    await pause(20)
  }
  await expect.poll(() => lags.length).toBe(50)
  stop.abort()
  await tailing
  lags.sort((a, b) => a - b)
  console.log(`tail: lag p50 ${lags[25]} ms, longest ${lags.at(-1)} ms`)
  expect(lags[25]).toBeLessThanOrEqual(150)
  await Promise.all([journal.close(), other.close()])
})
