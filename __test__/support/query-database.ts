import { fileURLToPath } from 'node:url'
import { startScript } from './child-script.ts'

const script = fileURLToPath(new URL('sqlite-process.ts', import.meta.url))

/** The rows that another program finds in a database. */
export async function queryDatabase(file: string, sql: string): Promise<Record<string, unknown>[]> {
  const { code, stdout, stderr } = await startScript(script, [file, sql]).ended
  if (code !== 0) throw new Error(`${sql}: ${stderr}`)
  return JSON.parse(stdout) as Record<string, unknown>[]
}
