/** The clients that a conformance suite runs on: two in this process, and all of them in one of Bun. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { PostgresClient } from 'toolwright/postgres'
import postgres from 'postgres'
import { afterAll, beforeAll } from 'vitest'
import type { TestServer } from './servers.ts'

const run = promisify(execFile)
const bun = fileURLToPath(new URL('../../../node_modules/.bin/bun', import.meta.url))
const program = fileURLToPath(new URL('suite-process.ts', import.meta.url))

/** Opens them before the tests of a `describe`, and closes them after. */
export function useClients(own: TestServer): Record<string, () => PostgresClient> {
  let sql: postgres.Sql | undefined
  beforeAll(() => {
    if (own.server !== undefined) sql = postgres({ ...own.server.socket, max: 8, onnotice: () => undefined })
  })
  afterAll(() => sql?.end())
  return { pg: () => own.pool, 'postgres.js': () => sql as unknown as PostgresClient }
}

/**
 * Runs a suite in Bun: how many cases passed, and the names of those that failed.
 *
 * @param host the folder of the server's socket, or of a pooler's
 * @param suite `journal`, `threads`; and `unprepared`, if no statement may stay prepared
 */
export async function suiteInBun(client: string, host: string, ...suite: string[]): Promise<unknown> {
  const { stdout } = await run(bun, [program, client, host, ...suite])
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
}
