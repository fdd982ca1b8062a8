// Archives the runs of a journal, until somebody kills it: `archive-process.ts SOCKETS SCHEMA FOLDER`. Says `begun` when it begins.
import { postgresStore } from 'toolwright/postgres'
import { Pool } from 'pg'

const [host = '', schema = '', directory = ''] = process.argv.slice(2)
const pool = new Pool({ host, port: 5432, user: 'toolwright', database: 'postgres', max: 4 })
const store = postgresStore(pool, { schema, leaseMs: 200 })
await store.lastRow()
console.log('begun')
try {
  const { rows } = await store.archive({ beforeMs: Date.now() - 30 * 86_400_000, directory, batchRows: 50 })
  console.log(`ended ${rows}`)
} catch (error) {
  console.log(`refused ${(error as { code?: string }).code}`)
}
await store.close()
await pool.end()
