import { postgresThreads } from 'toolwright/postgres'
import { threadSuite } from 'toolwright/standard-agents/testing'
import { describe, expect, test } from 'vitest'
import { suiteInBun, useClients } from '../clients.ts'
import { useServer } from '../servers.ts'

for (const version of [15, 18]) {
  describe(`PostgreSQL ${version}`, () => {
    const own = useServer(version)
    for (const [name, client] of Object.entries(useClients(own))) {
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
      expect(await suiteInBun(client, own.server.socket.host, 'threads')).toEqual({ passed: 65, failed: [] })
    })
  })
}
