// The cost of a recorded call beside bare inserts by the same client, interleaved in one run:
// `node bench/postgres/calls.ts [ROUNDS [disk]]`. The server is one of its own, with its data in memory, or on the disk of temporary files.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Journal, openJournal } from 'toolwright'
import { postgresStore } from 'toolwright/postgres'
import { Pool } from 'pg'
import { startPostgres } from '../../__test__/support/postgres-server.ts'

const rounds = Number(process.argv[2] ?? '7')
const SEQUENTIAL = 400
const PARALLEL = 64
const AT_ONCE = 4_000
const output = JSON.stringify('x'.repeat(230))
const input = JSON.stringify({ path: 'a/b/c.txt', content: 'x', mode: 1 })

const server = await startPostgres({ disk: process.argv[3] === 'disk' })
const pool = new Pool({ ...server.socket, max: 16 })
const bare = new Pool({ ...server.socket, max: 8 })
await bare.query('CREATE TABLE bare (run TEXT, node TEXT, seq BIGINT, input TEXT, output TEXT, status TEXT)')
const store = postgresStore(pool)
const journal = await openJournal(store)
// The same with a partition for each day of a month.
const dayStore = postgresStore(pool, { schema: 'days', partition: 'day' })
const days = await openJournal(dayStore)
await dayStore.migrate()
await pool.query('SELECT days._toolwright_make_days(29)')
const folder = mkdtempSync(join(tmpdir(), 'toolwright-bench-'))
const file = await openJournal(join(folder, 'runs.db'))

let seq = 0
const call = async (on: Journal): Promise<void> => {
  const ref = await on.insertToolCall({
    runId: `r${seq >> 6}`,
    nodeId: 'n',
    attempt: 1,
    seq: (seq += 1),
    toolName: 'pay',
    inputJson: input,
    sideEffect: true,
  })
  await on.updateToolCall(ref, { status: 'success', outputJson: output })
}
const text = 'INSERT INTO bare VALUES ($1, $2, $3, $4, $5, $6)'
const two = async (): Promise<void> => {
  for (let turn = 0; turn < 2; turn += 1) {
    await bare.query({ name: 'bare', text, values: [`r${seq >> 6}`, 'n', (seq += 1), input, output, 'started'] })
  }
}
const kinds: Record<string, () => Promise<void>> = {
  'two bare inserts': two,
  store: () => call(journal),
  'store by days': () => call(days),
  'SQLite file': () => call(file),
}

const quantile = (sorted: number[], part: number): number => sorted[Math.floor(sorted.length * part)] ?? Number.NaN
const times: Record<string, number[]> = {}
const rates: Record<string, number[]> = {}
let statements = 0
let calls = 0
for (const run of Object.values(kinds)) for (let turn = 0; turn < 200; turn += 1) await run()
for (let round = 0; round < rounds; round += 1) {
  for (const [name, run] of Object.entries(kinds)) {
    for (let turn = 0; turn < SEQUENTIAL; turn += 1) {
      const start = performance.now()
      await run()
      ;(times[name] ??= []).push(performance.now() - start)
    }
    const before = store.statements
    const start = performance.now()
    let left = AT_ONCE
    await Promise.all(
      Array.from({ length: PARALLEL }, async () => {
        while ((left -= 1) >= 0) await run()
      }),
    )
    ;(rates[name] ??= []).push((AT_ONCE / (performance.now() - start)) * 1_000)
    if (name === 'store') {
      statements += store.statements - before
      calls += AT_ONCE
    }
  }
}
const figures: Record<string, { p50: number; best: number; rate: number; bestRate: number }> = {}
for (const name of Object.keys(kinds)) {
  const sorted = (times[name] ?? []).sort((a, b) => a - b)
  const speeds = (rates[name] ?? []).sort((a, b) => a - b)
  figures[name] = { p50: quantile(sorted, 0.5), best: quantile(sorted, 0.05), rate: quantile(speeds, 0.5), bestRate: speeds.at(-1) ?? 0 }
  const { p50, best, rate, bestRate } = figures[name]
  console.log(
    `${name.padEnd(18)} ${p50.toFixed(3)} ms (${best.toFixed(3)})   ${Math.round(rate)} calls/s of ${PARALLEL} at once (${Math.round(bestRate)})`,
  )
}
const theirs = figures['two bare inserts']
for (const name of ['store', 'store by days']) {
  const ours = figures[name]
  console.log(
    `${name} / bare: sequential ${((ours?.p50 ?? 0) / (theirs?.p50 ?? 1)).toFixed(2)}, parallel ${((ours?.rate ?? 0) / (theirs?.rate ?? 1)).toFixed(2)}`,
  )
}
console.log(`statements a call at ${PARALLEL}: ${(statements / calls).toFixed(3)}`)
const { rows } =
  await pool.query(`SELECT pg_relation_size('_smithers_tool_calls') / count(*) AS heap, pg_indexes_size('_smithers_tool_calls') / count(*) AS indexes,
  (SELECT n_tup_hot_upd::float8 / greatest(n_tup_upd, 1) FROM pg_stat_user_tables WHERE relid = '_smithers_tool_calls'::regclass) AS hot FROM _smithers_tool_calls`)
console.log(`bytes a row: heap ${rows[0].heap}, indexes ${rows[0].indexes}; HOT ${(100 * Number(rows[0].hot)).toFixed(0)} %`)
const { rows: indexes } = await pool.query(
  `SELECT i.indexrelname AS name, pg_relation_size(i.indexrelid) / (SELECT count(*) FROM _smithers_tool_calls) AS bytes
   FROM pg_stat_user_indexes i WHERE i.relid = '_smithers_tool_calls'::regclass ORDER BY 2 DESC`,
)
for (const { name, bytes } of indexes) console.log(`  ${String(bytes).padStart(4)} ${name}`)
await Promise.all([journal.close(), days.close(), file.close()])
await Promise.all([pool.end(), bare.end()])
await server.stop()
rmSync(folder, { recursive: true })
process.exit(0)
