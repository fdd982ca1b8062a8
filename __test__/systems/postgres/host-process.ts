// A host that runs one task: `host-process.ts SOCKETS SCHEMA LEASE_MS EFFECTS BEFORE_MS AFTER_MS`. Its tool waits, acts, and waits. It
// tries until it has the task, and prints what happened as lines of JSON.
import { appendFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { defineTool, openJournal, runTask } from 'toolwright'
import { postgresStore } from 'toolwright/postgres'
import { Pool } from 'pg'
import { z } from 'zod'

const [host = '', schema = '', leaseMs = '', effects = '', beforeMs = '', afterMs = ''] = process.argv.slice(2)
const pool = new Pool({ host, port: 5432, user: 'toolwright', database: 'postgres', max: 4 })
pool.on('error', () => undefined)
const journal = await openJournal(postgresStore(pool, { schema, leaseMs: Number(leaseMs), migrate: false }))
const say = (line: object): boolean => process.stdout.write(`${JSON.stringify({ at: Date.now(), ...line })}\n`)

const charge = defineTool({
  name: 'charge',
  schema: z.object({}),
  sideEffect: true,
  execute: async (_args, ctx) => {
    await pause(Number(beforeMs))
    appendFileSync(effects, `${ctx.callIdempotencyKey}\n`)
    say({ acted: true })
    await pause(Number(afterMs))
    return 'charged'
  },
})

for (;;) {
  try {
    const text = await runTask({ journal, runId: 'run', nodeId: 'charge' }, async (task) => {
      say({ attempt: task.attempt, prior: task.priorEffects.map(({ toolName, status }) => `${toolName} ${status}`) })
      // Who finds that it may have happened does not do it again.
      if (task.priorEffects.length > 0) return 'left alone'
      // It does not listen to the signal: a call that runs is not taken back.
      const result = await charge.execute({}, {})
      const next = await Promise.resolve(charge.execute({}, {})).catch((error: unknown) => String((error as { code?: unknown }).code))
      say({ result, next })
      return 'made'
    })
    say({ text })
    break
  } catch (error) {
    const { code } = error as { code?: string }
    if (code !== 'JOURNAL_TASK_LOCKED') {
      say({ failed: code ?? String(error) })
      // What the call that still runs is told.
      await pause(3_000)
      break
    }
    await pause(20)
  }
}
await journal.close()
await pool.end()
