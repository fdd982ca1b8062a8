// Runs a suite in any runtime: `suite-process.ts CLIENT SOCKETS [journal|threads [unprepared|day]]`. Prints what passed and what failed.
import { openJournal } from 'toolwright'
import { journalSuite } from 'toolwright/journal/testing'
import { type PostgresClient, postgresStore, postgresThreads } from 'toolwright/postgres'
import { threadSuite } from 'toolwright/standard-agents/testing'

const [name = '', host = '', suite = 'journal', prepares = ''] = process.argv.slice(2)
const prepare = prepares !== 'unprepared'
const layout = prepares === 'day' ? { partition: 'day' as const } : {}

async function connect(): Promise<{ client: PostgresClient; end(): Promise<unknown> }> {
  if (name === 'pg') {
    const { Pool } = await import('pg')
    const pool = new Pool({ host, port: 5432, user: 'toolwright', database: 'postgres', max: 8 })
    return { client: pool, end: () => pool.end() }
  }
  if (name === 'postgres.js') {
    const { default: postgres } = await import('postgres')
    const sql = postgres({
      host,
      port: 5432,
      user: 'toolwright',
      database: 'postgres',
      max: 8,
      prepare,
      ...(!prepare && { max_pipeline: 0 }),
      onnotice: () => undefined,
    })
    return { client: sql as unknown as PostgresClient, end: () => sql.end() }
  }
  const { SQL } = (await import('bun' as string)) as { SQL: new (options: object) => PostgresClient & { end(): Promise<unknown> } }
  const path = `${host}/.s.PGSQL.5432`
  const sql = new SQL({ adapter: 'postgres', path, username: 'toolwright', database: 'postgres', max: 8, prepare })
  return { client: sql, end: () => sql.end() }
}

const cases: [string, () => Promise<void>][] = []
const { client, end } = await connect()
let schemas = 0
const nextSchema = (): string => `bun_${suite}_${name.replace('.', '_')}_${prepares}_${(schemas += 1)}`
const runner = {
  describe: (_: string, define: () => void) => define(),
  test: (title: string, run: () => Promise<void>) => void cases.push([title, run]),
}
if (suite === 'threads') {
  const open = (schema: string) => postgresThreads(client, { schema, prepare })
  threadSuite(runner, {
    name,
    open: async () => open(nextSchema()),
    openTwo: async () => {
      const schema = nextSchema()
      return [open(schema), open(schema)]
    },
  })
} else {
  const open = (schema: string) => openJournal(postgresStore(client, { schema, prepare, ...layout }))
  journalSuite(runner, {
    name,
    open: () => open(nextSchema()),
    openTwo: async () => {
      const schema = nextSchema()
      return [await open(schema), await open(schema)]
    },
  })
}
const failed: string[] = []
for (const [title, run] of cases) {
  try {
    await run()
  } catch (error) {
    failed.push(`${title}: ${String((error as Error).stack)}`)
  }
}
await end()
console.log(JSON.stringify({ passed: cases.length - failed.length, failed }))
process.exit(0)
