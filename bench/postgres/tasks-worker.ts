// One of the workers of `tasks.ts`: `tasks-worker.ts URL FIRST COUNT AT_ONCE`.
import { defineTool, openJournal, runTask } from 'toolwright'
import { postgresStore } from 'toolwright/postgres'
import { Pool } from 'pg'
import { z } from 'zod'

const [url = '', first = '', count = '', atOnce = ''] = process.argv.slice(2)
const pool = new Pool({ connectionString: url, max: 4 })
const store = postgresStore(pool, { migrate: false })
const journal = await openJournal(store)
const output = 'x'.repeat(400)
const make = (name: string, sideEffect: boolean) =>
  defineTool({ name, schema: z.object({ n: z.number() }), sideEffect, execute: async (_args, _ctx) => output })
const [pay, look] = [make('pay', true), make('look', false)]
let next = Number(first)
const end = next + Number(count)
await Promise.all(
  Array.from({ length: Number(atOnce) }, async () => {
    while (next < end) {
      const runId = `run ${(next += 1)}`
      await runTask({ journal, runId, nodeId: 'task' }, async () => {
        for (const [n, tool] of [look, pay, pay, look, pay].entries()) await tool.execute({ n })
      })
    }
  }),
)
await journal.close()
const { user, system } = process.cpuUsage()
console.log(JSON.stringify({ statements: store.statements, cpuMs: (user + system) / 1_000 }))
await pool.end()
