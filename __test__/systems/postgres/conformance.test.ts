import { openJournal } from 'toolwright'
import { journalSuite } from 'toolwright/journal/testing'
import { postgresStore } from 'toolwright/postgres'
import { describe, expect, test } from 'vitest'
import { suiteInBun, useClients } from './clients.ts'
import { useServer } from './servers.ts'

for (const version of [15, 18]) {
  describe(`PostgreSQL ${version}`, () => {
    const own = useServer(version)
    for (const [name, client] of Object.entries(useClients(own))) {
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

    journalSuite(
      { describe, test },
      {
        name: 'a partition for each day',
        open: () => openJournal(own.open({ partition: 'day' })),
        openTwo: async () => {
          const schema = own.schema()
          return [await openJournal(own.open({ schema, partition: 'day' })), await openJournal(own.open({ schema, partition: 'day' }))]
        },
      },
    )

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
      expect(await suiteInBun(client, own.server.socket.host)).toEqual({ passed: 43, failed: [] })
      expect(await suiteInBun(client, own.server.socket.host, 'journal', 'day')).toEqual({ passed: 43, failed: [] })
    })
  })
}
