// Works on a chain of calls on a server until it is killed: `work-process.ts SOCKETS SCHEMA LEASE_MS [POINT]`. At POINT it waits for its end.
import { postgresThreads } from 'toolwright/postgres'
import { Pool } from 'pg'
import { waitAt, workOnChain } from '../../../support/call-chain.ts'

const [host = '', schema = '', leaseMs = '', point] = process.argv.slice(2)
const pool = new Pool({ host, port: 5432, user: 'toolwright', database: 'postgres', max: 4 })
pool.on('error', () => undefined)
await workOnChain(postgresThreads(pool, { schema, leaseMs: Number(leaseMs), migrate: false }), waitAt(point))
