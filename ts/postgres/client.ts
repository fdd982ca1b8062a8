/** The clients that a store can use: `pg`, postgres.js, Bun.sql, or anything that runs a statement. */
import { invalid } from '../core/options.js'

/** A row of an answer, by the names of its columns. */
export type SqlRow = Readonly<Record<string, unknown>>

/** What a store needs of a client. Each statement is a transaction of its own. */
export interface SqlClient {
  /**
   * Runs one statement.
   *
   * @param values the parameters `$1`, `$2`, … as texts.
   * @param name a name that stands for this text alone, where the statement may stay prepared on its connection.
   */
  query(text: string, values: readonly (string | null)[], name?: string): Promise<readonly SqlRow[]>
  /** Closes what the store has opened itself. */
  end?(): Promise<void>
}

/** A pool of `pg`. */
export interface PgPool {
  query(query: { text: string; values: (string | null)[]; name?: string }): Promise<{ rows: SqlRow[] }>
  connect(...args: never[]): unknown
  listenerCount?(event: string): number
  on?(event: 'error', listener: (error: Error) => void): unknown
}

/** The `sql` of postgres.js, or of Bun. */
export interface SqlFunction {
  (...args: never[]): unknown
  unsafe(text: string, values?: never, options?: never): PromiseLike<unknown>
}

/** What `postgresStore` takes. */
export type PostgresClient = PgPool | SqlFunction | SqlClient

/** @param prepare whether statements may stay prepared on their connections. */
export function clientOf(client: unknown, prepare: boolean): SqlClient {
  if (typeof client === 'function' && typeof (client as Partial<SqlFunction>).unsafe === 'function') {
    return functionClient(client as SqlFunction, prepare)
  }
  if (typeof client === 'object' && client !== null && typeof (client as Partial<SqlClient>).query === 'function') {
    if (typeof (client as Partial<PgPool>).connect === 'function') return poolClient(client as PgPool, prepare)
    return client as SqlClient
  }
  throw invalid('The client must be a pool of pg, the sql of postgres.js or of Bun, or an object with query.')
}

function poolClient(pool: PgPool, prepare: boolean): SqlClient {
  // An idle connection that is cut would end the process, if nobody listened.
  if (pool.listenerCount?.('error') === 0) pool.on?.('error', () => undefined)
  return {
    async query(text, values, name) {
      const query = { text, values: [...values] }
      return (await pool.query(prepare && name !== undefined ? { ...query, name } : query)).rows
    },
  }
}

function functionClient(sql: SqlFunction, prepare: boolean): SqlClient {
  const unsafe = sql.unsafe.bind(sql) as unknown as (text: string, values: (string | null)[], options: object) => PromiseLike<SqlRow[]>
  // Both prepare under names of their own.
  return { query: async (text, values, name) => unsafe(text, [...values], { prepare: prepare && name !== undefined }) }
}
