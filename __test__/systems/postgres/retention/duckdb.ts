/** Another reader of Parquet files than the writer's own. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { installedPackages } from '../../../support/installed-packages.ts'

interface Duck {
  DuckDBInstance: {
    create(): Promise<{ connect(): Promise<{ runAndReadAll(sql: string): Promise<{ getRowObjectsJson(): Record<string, unknown>[] }> }> }>
  }
}

/** @throws {RegistryUnreachable} */
export async function openDuckDb(): Promise<(sql: string) => Promise<Record<string, unknown>[]>> {
  const folder = await installedPackages('duckdb', ['@duckdb/node-api@1.5.6-r.1'])
  const { DuckDBInstance } = createRequire(join(folder, 'package.json'))('@duckdb/node-api') as Duck
  const connection = await (await DuckDBInstance.create()).connect()
  return async (sql) => (await connection.runAndReadAll(sql)).getRowObjectsJson()
}
