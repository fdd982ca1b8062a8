// A worker of DBOS: `dbos-worker.ts ENGINES URL SCHEMA MODE SERVICE EXECUTOR LEASE_MS TASK…`. It prints `ready`, and a line for each task.
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { openJournal } from 'toolwright'
import { dbosSteps } from 'toolwright/durable'
import { postgresStore } from 'toolwright/postgres'
import { Pool } from 'pg'
import { type Mode, runAgent } from './agent.ts'

const [engines = '', url = '', schema = '', mode = '', service = '', executor = '', leaseMs = '', ...tasks] = process.argv.slice(2)
const module = createRequire(`${engines}/`).resolve('@dbos-inc/dbos-sdk')
const { DBOS } = (await import(pathToFileURL(module).href)) as {
  DBOS: {
    setConfig(config: object): void
    registerWorkflow(fn: (task: string) => Promise<number[]>, options: { name: string }): (task: string) => Promise<number[]>
    launch(): Promise<void>
    shutdown(): Promise<void>
    runStep<T>(fn: () => Promise<T>, config: { name: string }): Promise<T>
    startWorkflow(fn: unknown, options: { workflowID: string }): (task: string) => Promise<{ getResult(): Promise<number[]> }>
  }
}
const pool = new Pool({ connectionString: url, max: 12 })
pool.on('error', () => undefined)
const journal = await openJournal(postgresStore(pool, { schema, leaseMs: Number(leaseMs), migrate: false }))
DBOS.setConfig({
  name: 'payments',
  systemDatabasePool: pool,
  systemDatabaseUrl: url,
  executorID: executor,
  applicationVersion: '1',
  logLevel: 'error',
  runAdminServer: false,
})
const task = DBOS.registerWorkflow((id) => runAgent({ task: id, mode: mode as Mode, service, journal, step: dbosSteps(DBOS) }), {
  name: 'task',
})
await DBOS.launch()
console.log('ready')
await Promise.all(
  tasks.map(async (id) => {
    const handle = await DBOS.startWorkflow(task, { workflowID: id })(id)
    const told = await handle.getResult()
    console.log(JSON.stringify({ id, told }))
  }),
)
console.log('finished')
await DBOS.shutdown()
await journal.close()
await pool.end()
process.exit(0)
