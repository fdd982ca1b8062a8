// Tasks of five calls, three of them with effects, in several processes: `node bench/postgres/tasks.ts [TASKS] [PROCESSES]`.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { postgresStore } from 'toolwright/postgres'
import { Pool } from 'pg'
import { startPostgres } from '../../__test__/support/postgres-server.ts'

const tasks = Number(process.argv[2] ?? '10000')
const processes = Number(process.argv[3] ?? '8')
const server = await startPostgres({ tcp: true, settings: ['shared_preload_libraries=pg_stat_statements', 'track_io_timing=off'] }).catch(
  () => startPostgres({ tcp: true }),
)
const pool = new Pool({ ...server.socket, max: 2 })
const tracks = await pool.query('CREATE EXTENSION pg_stat_statements').then(
  () => true,
  () => false,
)
await postgresStore(pool).migrate()
const program = fileURLToPath(new URL('tasks-worker.ts', import.meta.url))
const share = Math.ceil(tasks / processes)
const start = performance.now()
const workers = await Promise.all(
  Array.from({ length: processes }, async (_, index) => {
    const count = Math.min(share, tasks - index * share)
    const { stdout } = await promisify(execFile)(process.execPath, [program, server.url, String(index * share), String(count), '4'])
    return JSON.parse(stdout) as { statements: number; cpuMs: number }
  }),
)
const seconds = (performance.now() - start) / 1_000
const sum = (of: (worker: { statements: number; cpuMs: number }) => number): number =>
  workers.reduce((total, worker) => total + of(worker), 0)
const { rows } = await pool.query(`SELECT count(*) AS rows, count(*) FILTER (WHERE status = 'success') AS successful,
  pg_relation_size('_smithers_tool_calls') / count(*) AS heap, pg_indexes_size('_smithers_tool_calls') / count(*) AS indexes FROM _smithers_tool_calls`)
await pool.query('SELECT pg_stat_force_next_flush()')
const hot = await pool.query(
  `SELECT n_tup_hot_upd::float8 / greatest(n_tup_upd, 1) AS part FROM pg_stat_user_tables WHERE relname = '_smithers_tool_calls'`,
)
console.log(`${tasks} tasks in ${processes} processes: ${seconds.toFixed(1)} s, ${Math.round(tasks / seconds)} tasks/s`)
console.log(
  `rows ${rows[0].rows}, successful ${rows[0].successful}; a row: heap ${rows[0].heap} B, indexes ${rows[0].indexes} B; HOT ${(100 * hot.rows[0].part).toFixed(1)} %`,
)
console.log(
  `a task: ${(sum(({ statements }) => statements) / tasks).toFixed(1)} statements, ${(sum(({ cpuMs }) => cpuMs) / tasks).toFixed(1)} ms CPU of clients`,
)
if (tracks) {
  const spent = await pool.query(
    `SELECT sum(total_exec_time) AS ms FROM pg_stat_statements WHERE query LIKE '%_toolwright%' OR query LIKE '%_smithers%'`,
  )
  console.log(`execution in the server: ${(Number(spent.rows[0].ms) / tasks).toFixed(2)} ms a task`)
}
await pool.end()
await server.stop()
process.exit(0)
