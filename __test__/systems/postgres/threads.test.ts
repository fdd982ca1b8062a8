import { threadSuite } from 'toolwright/standard-agents/testing'
import { postgresThreads } from 'toolwright/postgres'
import { describe, test } from 'vitest'
import { useServer } from './servers.ts'

for (const version of [15, 18]) {
  describe(`PostgreSQL ${version}`, () => {
    const own = useServer(version)
    threadSuite(
      { describe, test },
      {
        name: 'pg',
        open: async () => postgresThreads(own.pool, { schema: own.schema() }),
        openTwo: async () => {
          const schema = own.schema()
          return [postgresThreads(own.pool, { schema }), postgresThreads(own.pool, { schema })]
        },
      },
    )
  })
}
