// A worker of DBOS: `dbos-worker.ts ENGINES URL SCHEMA MODE SERVICE EXECUTOR LEASE_MS [SUPERVISE] TASK…`. It prints `ready`, and a line for
// each task. With SUPERVISE, `supervise` or `wait`, it begins none, and waits for those that others have begun.
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { openJournal } from 'toolwright'
import { dbosSteps, type SupervisedDbos, superviseDbos } from 'toolwright/durable'
import { postgresStore } from 'toolwright/postgres'
import { Pool } from 'pg'
import { type Mode, runAgent } from './agent.ts'

const [engines = '', url = '', schema = '', mode = '', service = '', executor = '', leaseMs = '', ...more] = process.argv.slice(2)
const role = more[0] === 'supervise' || more[0] === 'wait' ? more[0] : 'begin'
const tasks = role === 'begin' ? more : more.slice(1)
const module = createRequire(`${engines}/`).resolve('@dbos-inc/dbos-sdk')
const { DBOS } = (await import(pathToFileURL(module).href)) as {
  DBOS: SupervisedDbos & {
    retrieveWorkflow(id: string): { getResult(): Promise<number[]> }
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
const store = postgresStore(pool, { schema, leaseMs: Number(leaseMs), migrate: false, label: executor })
const journal = await openJournal(store)
if (role === 'begin') await store.join()
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
const supervision = role === 'supervise' ? await superviseDbos(DBOS, store, { everyMs: 300 }) : undefined
console.log('ready')
const begun = tasks.map(async (id) => {
  const handle = role === 'begin' ? await DBOS.startWorkflow(task, { workflowID: id })(id) : DBOS.retrieveWorkflow(id)
  return { id, handle }
})
void Promise.all(begun).then(() => console.log('begun'))
await Promise.all(
  begun.map(async (one) => {
    const { id, handle } = await one
    const told = await handle.getResult()
    console.log(JSON.stringify({ id, told }))
  }),
)
console.log('finished')
await supervision?.stop()
await DBOS.shutdown()
await journal.close()
await pool.end()
process.exit(0)
