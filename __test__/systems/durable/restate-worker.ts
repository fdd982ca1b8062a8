// A worker of Restate: `restate-worker.ts ENGINES URL MODE SERVICE PORT LEASE_MS`. It prints `ready` and serves until it is killed.
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { openJournal } from 'toolwright'
import { restateSteps } from 'toolwright/durable'
import { postgresStore } from 'toolwright/postgres'
import { Pool } from 'pg'
import { type Mode, runAgent } from './agent.ts'

interface Context {
  run<T>(name: string, fn: () => Promise<T>): Promise<T>
}

const [engines = '', url = '', mode = '', service = '', port = '', leaseMs = ''] = process.argv.slice(2)
const module = createRequire(`${engines}/`).resolve('@restatedev/restate-sdk')
const restate = (await import(pathToFileURL(module).href)) as {
  service(definition: object): unknown
  serve(options: { services: unknown[]; port: number }): Promise<number>
}
const pool = new Pool({ connectionString: url, max: 8 })
pool.on('error', () => undefined)
const journal = await openJournal(postgresStore(pool, { leaseMs: Number(leaseMs), migrate: false }))
const agent = restate.service({
  name: 'agent',
  handlers: {
    run: (ctx: Context, task: string) => runAgent({ task, mode: mode as Mode, service, journal, step: restateSteps(ctx) }),
  },
})
await restate.serve({ services: [agent], port: Number(port) })
console.log('ready')
