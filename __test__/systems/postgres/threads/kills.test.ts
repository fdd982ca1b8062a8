import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { postgresThreads } from 'toolwright/postgres'
import { expect, test } from 'vitest'
import { expectHandedOver, expectWholeChain } from '../../../support/whole-chain.ts'
import { startScript } from '../../../support/child-script.ts'
import { runs, seed } from '../../../support/randomised.ts'
import { useServer } from '../servers.ts'

const LEASE_MS = 500
const own = useServer()
const program = fileURLToPath(new URL('work-process.ts', import.meta.url))
const start = (schema: string, point = '') => startScript(program, [own.server.socket.host, schema, String(LEASE_MS), point])

/** Makes the tables, so that no process is killed while it does. */
async function emptySchema(): Promise<string> {
  const schema = own.schema()
  const store = postgresThreads(own.pool, { schema })
  await store.listThreads()
  await store.close()
  return schema
}

/** Looks whether everything that was acknowledged is there, and nothing by half; gives the calls' statuses. */
async function inspect(schema: string, acknowledged: readonly string[]): Promise<string[]> {
  const store = postgresThreads(own.pool, { schema, leaseMs: LEASE_MS })
  const calls = await expectWholeChain(store)
  const done = new Set(calls.flatMap(({ id, status }) => (status === 'success' ? [id] : [])))
  expect(acknowledged.filter((id) => !done.has(id))).toEqual([])
  // When the lease of the dead one is over.
  await expectHandedOver(store, calls, 10 * LEASE_MS)
  // What the dead had staged is gone.
  const { rows } = await own.pool.query(`SELECT count(*)::int AS n FROM "${schema}"._toolwright_thread_files WHERE staged_by IS NOT NULL`)
  expect(rows).toEqual([{ n: 0 }])
  await store.close()
  return calls.map(({ status }) => status)
}

test.each<[string, string[]]>([
  ['claimed', ['running']],
  ['staged', ['running']],
  ['committed', ['success', 'queued']],
])('a process that is killed: %s', { timeout: 60_000 }, async (point, expected) => {
  const schema = await emptySchema()
  const { child, ended, printed } = start(schema, point)
  await printed(point)
  child.kill('SIGKILL')
  expect((await ended).stderr).toBe('')
  expect(await inspect(schema, [])).toEqual(expected)
})

const moments = fc.sample(fc.integer({ min: 0, max: 300 }), { numRuns: runs(20), seed })
test(
  `processes that are killed at ${moments.length} random points: each time the next one goes on`,
  { timeout: 60_000 + moments.length * 6_000 },
  async () => {
    const schema = await emptySchema()
    const acknowledged: string[] = []
    let [cut, length] = [0, 0]
    for (const [round, ms] of moments.entries()) {
      const { child, ended, printed } = start(schema)
      // On a busy machine a process gets nothing done in this time, so every second one has done something before.
      await printed(round % 2 === 0 ? 'done' : 'ready')
      await pause(ms)
      child.kill('SIGKILL')
      const { signal, stdout, stderr } = await ended
      expect({ signal, stderr }).toEqual({ signal: 'SIGKILL', stderr: '' })
      for (const [, id = ''] of stdout.matchAll(/^done (?<id>c\d+)$/gmu)) acknowledged.push(id)
      const statuses = await inspect(schema, acknowledged)
      expect(statuses.length).toBeGreaterThanOrEqual(length)
      length = statuses.length
      if (statuses.includes('running')) cut += 1
    }
    console.log(`${moments.length} kills: ${acknowledged.length} acknowledged commits, ${cut} calls cut, 0 lost`)
    // No call is made twice over all of them.
    expect(new Set(acknowledged).size).toBe(acknowledged.length)
    // Otherwise nothing was tried.
    expect(cut).toBeGreaterThan(moments.length / 4)
    expect(length).toBeGreaterThan(moments.length / 2)
  },
)
