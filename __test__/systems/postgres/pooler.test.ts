// Stores behind PgBouncer, whose transactions have another connection each.
import { openJournal } from 'toolwright'
import { journalSuite } from 'toolwright/journal/testing'
import { type PostgresClient, postgresStore, postgresThreads } from 'toolwright/postgres'
import { threadSuite } from 'toolwright/standard-agents/testing'
import { Pool } from 'pg'
import postgres from 'postgres'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { pgbouncerProgram, type Pooler, startPgbouncer } from '../../support/pgbouncer.ts'
import { suiteInBun } from './clients.ts'
import { useServer } from './servers.ts'

const own = useServer()
let pooler: Pooler | undefined
let pool: Pool
let sql: postgres.Sql
let reason: string | undefined

beforeAll(async () => {
  // Without a server, the tests are skipped anyway.
  if (own.server === undefined) return
  const program = pgbouncerProgram()
  if (typeof program === 'string') {
    reason = program
    return console.log(`skipped: ${reason}`)
  }
  pooler = await startPgbouncer(program, own.server)
  const options = { ...own.server.socket, host: pooler.host, port: 5432 }
  pool = new Pool({ ...options, max: 16 })
  // What it sends ahead would be lost: a pooler gives the connection away after each answer.
  sql = postgres({ ...options, max: 16, prepare: false, ...({ max_pipeline: 0 } as object), onnotice: () => undefined })
}, 120_000)
afterAll(async () => {
  await pool?.end()
  await sql?.end()
  await pooler?.stop()
})
beforeEach(({ skip }) => {
  if (reason !== undefined) skip(reason)
})

const clients: Record<string, () => PostgresClient> = { pg: () => pool, 'postgres.js': () => sql as unknown as PostgresClient }

for (const [name, client] of Object.entries(clients)) {
  const journal = (schema: string) => openJournal(postgresStore(client(), { schema, prepare: false }))
  const threads = (schema: string) => postgresThreads(client(), { schema, prepare: false })
  const two = <T>(open: (schema: string) => T): [T, T] => {
    const schema = own.schema()
    return [open(schema), open(schema)]
  }
  describe(`${name}, nothing prepared`, () => {
    journalSuite(
      { describe, test },
      {
        name: 'journal',
        open: () => journal(own.schema()),
        openTwo: async () => {
          const [first, second] = two(journal)
          return [await first, await second]
        },
      },
    )
    threadSuite({ describe, test }, { name: 'threads', open: async () => threads(own.schema()), openTwo: async () => two(threads) })
  })
}

test('its clients are more than its connections, and share them', async () => {
  const pids = await Promise.all(
    Array.from({ length: 200 }, async () => (await pool.query('SELECT pg_backend_pid() AS pid, pg_sleep(0.002)')).rows[0].pid as number),
  )
  expect(pool.totalCount).toBe(16)
  expect(new Set(pids).size).toBeLessThanOrEqual(5)
})

test('64 calls at once are recorded, and none is lost', async () => {
  const journal = await openJournal(postgresStore(pool, { schema: own.schema(), prepare: false }))
  const calls = Array.from({ length: 64 }, async (_, lane) => {
    for (let seq = 1; seq <= 20; seq += 1) {
      const call = { runId: `run ${lane}`, nodeId: 'n', attempt: 1, seq, toolName: 'pay', sideEffect: true }
      await journal.updateToolCall(await journal.insertToolCall(call), { status: 'success' })
    }
  })
  await Promise.all(calls)
  const runs = await journal.listRuns()
  expect([runs.length, runs.reduce((sum, { succeeded }) => sum + succeeded, 0)]).toEqual([64, 64 * 20])
  await journal.close()
})

test('a store that was not told of the pooler prepares nothing once it has met it, and an address can say so', async () => {
  const schema = own.schema()
  const address = own.server.url.replace(/host=[^&]*/u, `host=${encodeURIComponent(pooler?.host ?? '')}`)
  const told = await openJournal(`${address}&schema=${schema}&prepare=false`)
  const untold = await openJournal(postgresStore(pool, { schema }))
  for (const [side, journal] of [told, untold].entries()) {
    const calls = Array.from({ length: 32 }, async (_, lane) => {
      for (let seq = 1; seq <= 5; seq += 1) {
        const call = { runId: `run ${side} ${lane}`, nodeId: 'n', attempt: 1, seq, toolName: 'pay', sideEffect: true }
        await journal.updateToolCall(await journal.insertToolCall(call), { status: 'success' })
      }
    })
    await Promise.all(calls)
  }
  const runs = await told.listRuns()
  expect([runs.length, runs.reduce((sum, { succeeded }) => sum + succeeded, 0)]).toEqual([64, 64 * 5])
  await expect(openJournal(`${address}&prepare=maybe`)).rejects.toMatchObject({ code: 'JOURNAL_LOCATION_INVALID' })
  await Promise.all([told.close(), untold.close()])
})

describe.each(['pg', 'postgres.js', 'bun'])('in Bun, with %s', (client) => {
  test.each([
    ['journal', 43],
    ['threads', 65],
  ])('%s', { timeout: 300_000 }, async (suite, passed) => {
    expect(await suiteInBun(client, pooler?.host ?? '', suite, 'unprepared')).toEqual({ passed, failed: [] })
  })
})
