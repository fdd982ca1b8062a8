// How long old calls take to be removed or archived beside a constant load: `node bench/postgres/retention.ts [ROWS] [CALLS_A_SECOND] [memory]`.
// The server is one of its own, with its data on the disk of temporary files, unless in memory.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openJournal } from 'toolwright'
import { postgresStore } from 'toolwright/postgres'
import { Pool } from 'pg'
import { startPostgres } from '../../__test__/support/postgres-server.ts'
import { constantLoad } from '../../__test__/systems/postgres/retention/constant-load.ts'
import { ago, manyOld } from '../../__test__/systems/postgres/retention/old-calls.ts'

/** The day that a table of before is. */
const FIRST_DAY = '2000-01-01'
const rows = Number(process.argv[2] ?? '167000')
const perSecond = Number(process.argv[3] ?? '1000')
const server = await startPostgres({ disk: process.argv[4] !== 'memory' })
const pool = new Pool({ ...server.socket, max: 16 })
const folder = mkdtempSync(join(tmpdir(), 'toolwright-bench-'))
console.log(`PostgreSQL ${server.version}, ${rows} rows that are old beside ${2 * rows} that are not`)
for (const name of ['a table', 'days', 'a table as the first day']) {
  const partition = name === 'days' ? 'day' : undefined
  const schema = name
  const store = postgresStore(pool, { schema, partition })
  await store.lastRow()
  await manyOld(pool, schema, rows, 40)
  await manyOld(pool, schema, 2 * rows, 2)
  // Old calls and young ones are in one partition then, which cannot be dropped.
  const converts = name === 'a table as the first day'
  if (converts) await store.migrate({ partition: 'day' })
  const journals = await Promise.all([store, postgresStore(pool, { schema })].map((one) => openJournal(one)))
  const work: Record<string, () => Promise<unknown>> = {
    'archive, kept': () => store.archive({ beforeMs: ago(30), directory: join(folder, schema, 'kept'), keep: true }),
    'archive, removed': () => store.archive({ beforeMs: ago(30), directory: join(folder, schema, 'gone') }),
    prune: () => store.prune({ beforeMs: ago(30) }),
  }
  for (const [what, run] of Object.entries(work)) {
    if (what === 'prune') await manyOld(pool, schema, rows, 40, converts ? FIRST_DAY : undefined)
    const load = constantLoad(journals, perSecond)
    const start = performance.now()
    await run()
    const seconds = (performance.now() - start) / 1_000
    const { calls, perSecond: made, refused, doubled, lost, slowestMs, p99Ms } = await load.end()
    console.log(
      `${name}: ${what.padEnd(17)} ${seconds.toFixed(1)} s beside ${made} calls/s (${calls} ids; ${refused.length} refused, ${doubled.length} doubled, ${lost.length} lost; p99 ${p99Ms} ms, slowest ${slowestMs} ms)`,
    )
  }
  await Promise.all(journals.map((journal) => journal.close()))
}
await pool.end()
await server.stop()
rmSync(folder, { recursive: true })
process.exit(0)
