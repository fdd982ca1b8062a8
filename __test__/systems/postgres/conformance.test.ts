import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { openJournal } from 'toolwright'
import { journalSuite } from 'toolwright/journal/testing'
import { type PostgresClient, postgresStore } from 'toolwright/postgres'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { useServer } from './servers.ts'

const run = promisify(execFile)
const bun = fileURLToPath(new URL('../../../node_modules/.bin/bun', import.meta.url))
const program = fileURLToPath(new URL('suite-process.ts', import.meta.url))

for (const version of [15, 18]) {
  describe(`PostgreSQL ${version}`, () => {
    const own = useServer(version)
    let sql: postgres.Sql | undefined
    beforeAll(() => {
      if (own.server !== undefined) sql = postgres({ ...own.server.socket, max: 8, onnotice: () => undefined })
    })
    afterAll(() => sql?.end())
    const clients: Record<string, () => PostgresClient> = {
      pg: () => own.pool,
      'postgres.js': () => sql as unknown as PostgresClient,
    }
    for (const [name, client] of Object.entries(clients)) {
      journalSuite(
        { describe, test },
        {
          name,
          open: () => openJournal(postgresStore(client(), { schema: own.schema() })),
          openTwo: async () => {
            const schema = own.schema()
            return [await openJournal(postgresStore(client(), { schema })), await openJournal(postgresStore(client(), { schema }))]
          },
        },
      )
    }

    test('without prepared statements, one writer', async () => {
      const journal = await openJournal(own.open({ prepare: false, writers: 1 }))
      const calls = Array.from({ length: 300 }, async (_, index) => {
        const call = { runId: 'r', nodeId: 'n', attempt: 1, seq: index + 1, toolName: 'pay', sideEffect: true }
        await journal.updateToolCall(await journal.insertToolCall(call), { status: 'success' })
      })
      await Promise.all(calls)
      const [summary] = await journal.listRuns()
      expect(summary).toMatchObject({ calls: 300, succeeded: 300 })
      await journal.close()
    })

    test.each(['pg', 'postgres.js', 'bun'])('in Bun, with %s', { timeout: 120_000 }, async (client) => {
      const { stdout } = await run(bun, [program, client, own.server.socket.host])
      expect(JSON.parse(stdout.trim().split('\n').at(-1) ?? '')).toEqual({ passed: 40, failed: [] })
    })
  })
}
