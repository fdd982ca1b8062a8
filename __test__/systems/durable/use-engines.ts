import { postgresStore } from 'toolwright/postgres'
import { Pool } from 'pg'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { RegistryUnreachable } from '../../support/installed-packages.ts'
import { freePort, noPostgres, type PostgresServer, startPostgres } from '../../support/postgres-server.ts'
import { type RestateServer, restateProgram, startRestate } from './restate-server.ts'
import { type Service, startService } from './service.ts'

/** What the tests of a file have in common: a server with the tables of a journal, and the service outside. */
export interface EngineTest {
  server: PostgresServer
  /** Of the server's first database. */
  pool: Pool
  service: Service
  /** The folder with the engines. */
  engines: string
  /** Why the tests are skipped. */
  reason: string | undefined
  /** Makes another database with these tables. @returns its address. */
  database(name: string): Promise<string>
}

/** Starts it before the tests of a file, and stops it after them. Where there are no engines or no servers, they are skipped. */
export function useEngines(install: () => Promise<string>): EngineTest {
  const own = { engines: '', reason: noPostgres() } as EngineTest
  own.database = async (name) => {
    await own.pool.query(`CREATE DATABASE ${name}`)
    const pool = new Pool({ ...own.server.socket, database: name, max: 1 })
    await postgresStore(pool).migrate()
    await pool.end()
    return own.server.url.replace(/postgres$/u, name)
  }
  beforeAll(async () => {
    try {
      if (own.reason === undefined) own.engines = await install()
    } catch (error) {
      if (!(error instanceof RegistryUnreachable)) throw error
      own.reason = error.message
    }
    if (own.reason !== undefined) return console.log(`skipped: engines: ${own.reason}`)
    own.server = await startPostgres({ tcp: true })
    own.service = await startService()
    own.pool = new Pool({ ...own.server.socket, max: 4 })
    own.pool.on('error', () => undefined)
    await postgresStore(own.pool).migrate()
  }, 900_000)
  afterAll(async () => {
    await own.service?.close()
    await own.pool?.end()
    await own.server?.stop()
  })
  beforeEach(({ skip }) => {
    if (own.reason !== undefined) skip(own.reason)
  })
  return own
}

/** A server of Restate, and a port for its workers. */
export interface RestateTest {
  server: RestateServer
  workerPort: number
}

/** Starts it before the tests of a file or a `describe`, which are skipped where there is none for this platform. */
export function useRestate(own: EngineTest): RestateTest {
  const restate = {} as RestateTest
  beforeAll(async () => {
    if (own.reason !== undefined) return
    const program = restateProgram(own.engines)
    if (program === undefined) return
    restate.workerPort = await freePort()
    restate.server = await startRestate(program)
  }, 120_000)
  afterAll(() => restate.server?.stop())
  beforeEach(({ skip }) => {
    if (restate.server === undefined) skip(own.reason ?? 'Restate has no server for this platform')
  })
  return restate
}
