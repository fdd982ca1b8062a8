import { openJournal } from 'toolwright'
import { postgresStore } from 'toolwright/postgres'
import { Pool } from 'pg'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { sharedStoreCases } from '../../ts/journal/testing/shared-store.ts'
import { journalConformance } from '../journal/conformance.ts'
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts'

let server: PostgresServer
let pool: Pool
let schemas = 0
beforeAll(async () => {
  server = await startPostgres()
  pool = new Pool({ ...server.socket, max: 8 })
})
afterAll(async () => {
  await pool.end()
  await server.stop()
})

journalConformance('PostgreSQL', async () => openJournal(postgresStore(pool, { schema: `s${(schemas += 1)}` })))

describe('two journals in PostgreSQL', () =>
  sharedStoreCases({ describe, test }, async () => {
    const schema = `s${(schemas += 1)}`
    return [await openJournal(postgresStore(pool, { schema })), await openJournal(postgresStore(pool, { schema }))]
  }))
