import { setTimeout as pause } from 'node:timers/promises'
import { openJournal, runTask } from 'toolwright'
import { postgresStore } from 'toolwright/postgres'
import { expect, test } from 'vitest'
import { runs } from '../../support/randomised.ts'
import { statements } from './lost-answers.ts'
import { opened, useServer } from './servers.ts'

const own = useServer()
const task = { runId: 'run', nodeId: 'node', iteration: 0 }
const effect = (seq: number, more: object = {}) => ({ ...task, attempt: 1, seq, toolName: 'pay', sideEffect: true, ...more })
const expire = (schema: string) => own.pool.query(`UPDATE "${schema}"._toolwright_owners SET expires_at = 'epoch'`)
const count = async (text: string, values: unknown[] = []): Promise<number> =>
  Number((await own.pool.query(`SELECT count(*) AS n FROM ${text}`, values)).rows[0].n)

test('a takeover is final: of intents that are written as fast as possible, none lands after it', { timeout: 120_000 }, async () => {
  const schema = own.schema()
  const other = await opened(own.open({ schema }))
  await other.recover()
  let [acknowledged, late, fencedCalls] = [0, 0, 0]
  for (let round = 0; round < runs(100); round += 1) {
    const journal = await opened(own.open({ schema }))
    // It has a lease from its first call on.
    await journal.insertToolCall(effect(1, { nodeId: `${round}/first` }))
    acknowledged += 1
    const state = { isOver: false }
    const writers = Array.from({ length: 64 }, async (_, lane) => {
      for (let seq = 1; !state.isOver; seq += 1) {
        try {
          await journal.insertToolCall(effect(seq, { nodeId: `${round}/${lane}` }))
          acknowledged += 1
        } catch (error) {
          expect(error).toMatchObject({ code: 'JOURNAL_OWNER_FENCED' })
          fencedCalls += 1
          return
        }
      }
    })
    await pause(5 + Math.random() * 20)
    const { rows } = await own.pool.query(`SELECT max(id) AS id FROM "${schema}"._toolwright_owners WHERE pid = $1`, [process.pid])
    const owner = Number(rows[0].id)
    await own.pool.query(`UPDATE "${schema}"._toolwright_owners SET expires_at = 'epoch' WHERE id = $1`, [owner])
    await other.recover()
    await Promise.all(writers)
    state.isOver = true
    late += await count(`"${schema}"._smithers_tool_calls WHERE tw_owner = $1 AND status = 'started'`, [owner])
    await journal.close()
  }
  expect(await count(`"${schema}"._smithers_tool_calls`)).toBeGreaterThanOrEqual(acknowledged)
  console.log(`fence race: ${acknowledged} acknowledged intents, ${runs(100)} takeovers, ${late} late, ${fencedCalls} refused`)
  expect(late).toBe(0)
  expect(acknowledged).toBeGreaterThan(1_000)
})

test('the control: without the lock on the owner, intents land after a takeover', { timeout: 60_000 }, async () => {
  const schema = own.schema()
  const store = own.open({ schema })
  await store.migrate()
  const owners = `"${schema}"._toolwright_owners`
  const calls = `"${schema}"._smithers_tool_calls`
  let late = 0
  for (let round = 0; round < 20; round += 1) {
    const made = await own.pool.query(`INSERT INTO ${owners} (expires_at, rows_after) VALUES ('infinity', 0) RETURNING id`)
    const owner = Number(made.rows[0].id)
    const state = { isOver: false }
    const writers = Array.from({ length: 8 }, async (_, lane) => {
      for (let turn = 0; !state.isOver; turn += 1) {
        const { rowCount } = await own.pool.query(
          `INSERT INTO ${calls} (run_id, node_id, iteration, attempt, seq, tool_name, started_at_ms, status, tw_owner)
           SELECT 'r', $1, $2, 1, n, 'pay', 0, 'started', o.id FROM ${owners} o, generate_series(1, 64) n WHERE o.id = $3`,
          [`${round}/${lane}`, turn, owner],
        )
        if (rowCount === 0) return
      }
    })
    await pause(20)
    await own.pool.query(`UPDATE ${owners} SET expires_at = 'epoch' WHERE id = $1`, [owner])
    await own.pool.query(`SELECT * FROM "${schema}"._toolwright_recover('{}')`)
    await Promise.all(writers)
    state.isOver = true
    late += await count(`${calls} WHERE tw_owner = $1 AND status = 'started'`, [owner])
  }
  await store.close()
  console.log(`fence race without the lock: ${late} late intents in 20 takeovers`)
  expect(late).toBeGreaterThan(0)
})

test('whoever was taken over: the next intent is refused, a late outcome lands, unless another has claimed the call', async () => {
  const schema = own.schema()
  const zombie = await opened(own.open({ schema }))
  const other = await opened(own.open({ schema }))
  const { lock } = await zombie.beginTask(task)
  const [told, claimed] = [await zombie.insertToolCall(effect(1)), await zombie.claimCall({ ...effect(2), callId: 'call-1' })]
  await expire(schema)
  expect((await other.recover()).calls).toHaveLength(2)
  const again = await other.claimCall({ ...effect(2), callId: 'call-1' }, { repeat: true })
  expect(again).toMatchObject({ claimed: { seq: 2 } })
  await expect(Promise.resolve(zombie.insertToolCall(effect(3)))).rejects.toMatchObject({ code: 'JOURNAL_OWNER_FENCED' })
  // Not the second time either, when the process has a new lease: it was the task's lock that was lost.
  await zombie.insertToolCall(effect(1, { nodeId: 'another task' }))
  await expect(Promise.resolve(zombie.insertToolCall(effect(3)))).rejects.toMatchObject({ code: 'JOURNAL_OWNER_FENCED' })
  await expect(zombie.claimCall({ ...effect(3), callId: 'call-2' })).rejects.toMatchObject({ code: 'JOURNAL_OWNER_FENCED' })
  expect(lock.lost.aborted).toBe(true)
  expect(lock.lost.reason).toMatchObject({ code: 'JOURNAL_OWNER_FENCED' })
  await zombie.updateToolCall(told, { status: 'success', outputJson: '"late"' })
  if (!('claimed' in claimed)) throw new Error('it was not claimed')
  await expect(Promise.resolve(zombie.updateToolCall(claimed.claimed, { status: 'success' }))).rejects.toMatchObject({
    code: 'JOURNAL_OWNER_FENCED',
  })
  expect(await other.listToolCalls('run', 'node', 0)).toMatchObject([
    { status: 'success', outputJson: '"late"' },
    { status: 'started', seq: 2 },
  ])
  // A new attempt may begin here too.
  const next = await zombie.beginTask(task)
  await zombie.insertToolCall(effect(1, { attempt: next.attempt }))
  await next.lock.release()
  await Promise.all([zombie.close(), other.close()])
})

test('runTask ends by itself when its lock is lost', async () => {
  const schema = own.schema()
  const journal = await opened(own.open({ schema, leaseMs: 900 }))
  const other = await opened(own.open({ schema }))
  const began = performance.now()
  let taken = 0
  const running = runTask({ journal, runId: 'run', nodeId: 'node' }, async ({ signal }) => {
    await expire(schema)
    await other.recover()
    taken = performance.now()
    await pause(10_000, undefined, { signal })
  })
  await expect(running).rejects.toMatchObject({ code: 'JOURNAL_OWNER_FENCED' })
  // At the next heartbeat, a third of the lease later.
  expect(performance.now() - taken).toBeLessThan(300 + 250)
  expect(performance.now() - began).toBeLessThan(3_000)
  await Promise.all([journal.close(), other.close()])
})

test('a process that reaches no server refuses by its own clock when its lease ends', async () => {
  const schema = own.schema()
  let isSilent = false
  const client = {
    query: async (text: string, values: readonly (string | null)[]) => {
      // The network is silent: nothing comes back, and nothing fails.
      if (isSilent) await new Promise(() => undefined)
      return (await own.pool.query(text, [...values])).rows
    },
  }
  const journal = await openJournal(postgresStore(client, { schema, leaseMs: 400 }))
  const { lock } = await journal.beginTask(task)
  await journal.insertToolCall(effect(1))
  isSilent = true
  const began = performance.now()
  await new Promise((resolve) => lock.lost.addEventListener('abort', resolve))
  expect(performance.now() - began).toBeLessThan(900)
  await expect(Promise.resolve(journal.insertToolCall(effect(2)))).rejects.toMatchObject({ code: 'JOURNAL_OWNER_FENCED' })
  isSilent = false
  // Nobody has taken over; the attempt is over all the same, and the next one may begin here.
  await expire(schema)
  const next = await journal.beginTask(task)
  expect(next).toMatchObject({ attempt: 2, priorEffects: [{ status: 'unknown' }] })
  await next.lock.release()
  await journal.close()
})

test('a table of calls that is locked for three leases ends no lease, and keeps none from beginning', { timeout: 30_000 }, async () => {
  const schema = own.schema()
  const leaseMs = 900
  const [journal, store] = [await opened(own.open({ schema, leaseMs })), own.open({ schema })]
  await journal.lastRow()
  const maintenance = await own.pool.connect()
  const running = runTask({ journal, runId: 'run', nodeId: 'node' }, async ({ signal }) => {
    await maintenance.query(`BEGIN; LOCK TABLE "${schema}"._smithers_tool_calls IN ACCESS EXCLUSIVE MODE`)
    const joining = Promise.race([store.join().then(() => 'joined'), pause(leaseMs, 'waiting')])
    await pause(3 * leaseMs, undefined, { signal }).finally(() => maintenance.query('COMMIT'))
    return joining
  })
  expect(await running.finally(() => maintenance.release())).toBe('joined')
  await Promise.all([journal.close(), store.close()])
})

test('a heartbeat that the server does not carry out ends no lease', { timeout: 30_000 }, async () => {
  const schema = own.schema()
  // Cancelled, no memory, no disk, an error of the server.
  const refusals = ['57014', '53200', '53100', 'XX000']
  const leaseMs = 1_500
  let isRefusal = false
  const client = {
    query: async (text: string, values: readonly (string | null)[]) => {
      // Every other one.
      const code = statements.heartbeat.test(text) && (isRefusal = !isRefusal) ? refusals.shift() : undefined
      if (code !== undefined) throw Object.assign(new Error('the statement was not carried out'), { code })
      return (await own.pool.query(text, [...values])).rows
    },
  }
  const journal = await openJournal(postgresStore(client, { schema, leaseMs }))
  const running = runTask({ journal, runId: 'run', nodeId: 'node' }, ({ signal }) => pause(3 * leaseMs, 'done', { signal }))
  expect(await running).toBe('done')
  expect(refusals).toEqual([])
  await journal.close()
})

test('a lease whose heartbeats are never carried out ends by its own clock', { timeout: 30_000 }, async () => {
  const schema = own.schema()
  const client = {
    query: async (text: string, values: readonly (string | null)[]) => {
      if (statements.heartbeat.test(text)) throw Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' })
      return (await own.pool.query(text, [...values])).rows
    },
  }
  const journal = await openJournal(postgresStore(client, { schema, leaseMs: 900 }))
  const began = performance.now()
  const running = runTask({ journal, runId: 'run', nodeId: 'node' }, ({ signal }) => pause(10_000, undefined, { signal }))
  await expect(running).rejects.toMatchObject({ code: 'JOURNAL_OWNER_FENCED' })
  expect(performance.now() - began).toBeGreaterThan(800)
  expect(performance.now() - began).toBeLessThan(2_000)
  await journal.close()
})
