import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type PostgresClient, postgresThreads } from 'toolwright/postgres'
import { threadSuite } from 'toolwright/standard-agents/testing'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { useServer } from '../servers.ts'

const run = promisify(execFile)
const bun = fileURLToPath(new URL('../../../../node_modules/.bin/bun', import.meta.url))
const program = fileURLToPath(new URL('../suite-process.ts', import.meta.url))

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
      threadSuite(
        { describe, test },
        {
          name,
          open: async () => postgresThreads(client(), { schema: own.schema() }),
          openTwo: async () => {
            const schema = own.schema()
            return [postgresThreads(client(), { schema }), postgresThreads(client(), { schema })]
          },
        },
      )
    }

    threadSuite(
      { describe, test },
      { name: 'pg, nothing prepared', open: async () => postgresThreads(own.pool, { schema: own.schema(), prepare: false }) },
    )

    test.each(['pg', 'postgres.js', 'bun'])('in Bun, with %s', { timeout: 300_000 }, async (client) => {
      const { stdout } = await run(bun, [program, client, own.server.socket.host, 'threads'])
      expect(JSON.parse(stdout.trim().split('\n').at(-1) ?? '')).toEqual({ passed: 65, failed: [] })
    })
  })
}
