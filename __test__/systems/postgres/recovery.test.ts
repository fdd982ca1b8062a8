import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { runs } from '../../support/randomised.ts'
import { opened, useServer } from './servers.ts'

/** A million with TOOLWRIGHT_SOAK_FACTOR=10. */
const MANY = runs(100_000)
const task = { runId: 'run', nodeId: 'node', iteration: 0 }
const effect = (seq: number, more: object = {}) => ({ ...task, attempt: 1, seq, toolName: 'pay', sideEffect: true, ...more })

describe.each(['table', 'days'] as const)('calls in a %s', (layout) => {
  const own = useServer()
  const options = layout === 'days' ? ({ partition: 'day' } as const) : {}
  let schema: string

  beforeAll(async () => {
    if (own.pool === undefined) return
    schema = own.schema()
  })

  const query = async (text: string, values: unknown[] = []) => (await own.pool.query(text.replaceAll('@', `"${schema}".`), values)).rows
  const expire = (owner: number | string) => query(`UPDATE @_toolwright_owners SET expires_at = 'epoch' WHERE id = $1`, [owner])
  const ownerOf = async (journal: { label: string }) =>
    (await query(`SELECT * FROM @_toolwright_owners WHERE label = $1`, [journal.label]))[0]
  /** A process whose heartbeats are far apart, unless it says otherwise. */
  const labelled = async (label: string, more: object = {}) => {
    const store = own.open({ schema, label, leaseMs: 600_000, ...options, ...more })
    const journal = await opened(store)
    await store.join()
    return Object.assign(journal, { label })
  }
  /** Calls that others have made since. */
  const others = async (count: number) => {
    const day = layout === 'days' ? ', tw_day' : ''
    const value = layout === 'days' ? `, @_toolwright_day('others')` : ''
    await query(
      `INSERT INTO @_smithers_tool_calls (run_id, node_id, iteration, attempt, seq, tool_name, started_at_ms, status, tw_owner${day})
      SELECT 'others', 'n', i / 1000, 1, i, 'pay', i, 'success', 0${value} FROM generate_series(1, ${count}) i
      ON CONFLICT DO NOTHING`.replace("_toolwright_day('others')", "_toolwright_day('others')"),
    )
  }
  /** The rows of calls that a statement reads, by any plan: the server counts them. */
  const rowsRead = async (text: string, values: unknown[] = []): Promise<number> => {
    const client = await own.pool.connect()
    const count = async (): Promise<number> => {
      const { rows } = await client.query(
        `SELECT sum(coalesce(s.seq_tup_read, 0) + coalesce(s.idx_tup_fetch, 0)) AS rows FROM pg_stat_xact_all_tables s
         WHERE s.schemaname = $1 AND s.relname LIKE '\\_smithers\\_tool\\_calls%'`,
        [schema],
      )
      return Number(rows[0].rows)
    }
    try {
      await client.query('BEGIN')
      const before = await count()
      await client.query(text.replaceAll('@', `"${schema}".`), values)
      const read = (await count()) - before
      await client.query('COMMIT')
      return read
    } finally {
      client.release()
    }
  }
  const claimText = `SELECT * FROM @_toolwright_claim($1, $2::json, $3, false, false, '{}')`
  const claimValues = (owner: number, callId: string) => [
    owner,
    JSON.stringify({
      run_id: 'claims',
      node_id: 'n',
      iteration: 0,
      attempt: 1,
      seq: 0,
      tool_name: 'pay',
      started_at_ms: 1,
      status: 'started',
      accepts_idempotency_key: 0,
    }),
    callId,
  ]

  test('whoever claims beside a dead process reads a few rows, and whoever recovers a part of them', { timeout: 300_000 }, async () => {
    const dead = await labelled('dead')
    const { row } = await dead.insertToolCall(effect(1))
    await others(MANY)
    const living = await labelled('living')
    await living.insertToolCall(effect(1, { runId: 'living' }))
    const [gone, alive] = [await ownerOf(dead), await ownerOf(living)]
    // It has never had a heartbeat since.
    expect(Number(gone.rows_after)).toBeLessThan(Number(row))
    await expire(gone.id)
    expect(await rowsRead(claimText, claimValues(alive.id, 'one'))).toBeLessThan(20)
    expect(await rowsRead(`SELECT * FROM @_toolwright_lock($1, 'r', 'n', 0, 1, false, '{}')`, [alive.id])).toBeLessThan(20)
    // Nothing was marked for it, and whoever needs to know is told all the same.
    expect(await living.leftOpen?.()).toEqual([row])
    const recovering = `SELECT * FROM @_toolwright_recover('{}')`
    expect(await rowsRead(recovering)).toBeLessThanOrEqual(2 * 5_000 + 10)
    expect(await query('SELECT rows_to - rows_after AS left FROM @_toolwright_gone')).toEqual([{ left: expect.stringMatching(/^\d+$/u) }])
    await living.recover()
    expect(await query('SELECT * FROM @_toolwright_gone')).toEqual([])
    expect(await living.listRun('run')).toMatchObject([{ status: 'unknown' }])
    await Promise.all([dead.close(), living.close()])
  })

  test('a heartbeat names what runs, so that the rest of the table need not be read', { timeout: 300_000 }, async () => {
    const dead = await labelled('busy', { leaseMs: 3_000 })
    const refs = [await dead.insertToolCall(effect(11)), await dead.insertToolCall(effect(12))]
    await others(MANY + 10_000)
    const [{ last }] = await query('SELECT max(tw_row) AS last FROM @_smithers_tool_calls')
    // One learns how far the table has come, and the next says so.
    const named = refs.map(({ row }) => String(row))
    await expect.poll(async () => ownerOf(dead), { timeout: 30_000 }).toMatchObject({ rows_after: String(last), open_rows: named })
    const claimed = await ownerOf(dead)
    const living = await labelled('heir', { leaseMs: 3_000 })
    await expire(claimed.id)
    // Nobody asks for it: the heartbeat of another process does.
    await living.claimCall({ ...effect(0, { runId: 'other' }), callId: 'c' })
    expect(await rowsRead(`SELECT * FROM @_toolwright_recover('{}')`)).toBeLessThan(100)
    await expect.poll(() => query('SELECT * FROM @_toolwright_gone'), { timeout: 30_000 }).toEqual([])
    const rows = await living.listRun('run')
    expect(rows.filter(({ seq }) => seq > 10).map(({ status }) => status)).toEqual(['unknown', 'unknown'])
    await Promise.all([dead.close(), living.close()])
  })

  test('an attempt that begins knows what was left, and the heartbeat of any process marks the rest', { timeout: 300_000 }, async () => {
    const dead = await labelled('left')
    await dead.insertToolCall(effect(21, { runId: 'mine' }))
    const { row } = await dead.insertToolCall(effect(22, { runId: 'not mine' }))
    await expire((await ownerOf(dead)).id)
    const living = await labelled('next', { leaseMs: 3_000 })
    const start = await living.beginTask({ ...task, runId: 'mine' })
    expect(start.priorEffects).toMatchObject([{ seq: 21, status: 'unknown' }])
    await expect.poll(async () => (await living.rows([Number(row)]))[0]?.status, { timeout: 30_000 }).toBe('unknown')
    await start.lock.release()
    await Promise.all([dead.close(), living.close()])
  })

  test('an older call that was claimed again is named until its heartbeat names it', { timeout: 300_000 }, async () => {
    const first = await labelled('first')
    const claim = (journal: typeof first, repeat = false) =>
      journal.claimCall({ ...effect(0, { runId: 'again' }), callId: 'c' }, { repeat })
    await claim(first)
    await expire((await ownerOf(first)).id)
    await others(MANY + 20_000)
    const second = await labelled('second')
    const answer = await claim(second, true)
    if (!('claimed' in answer)) throw new Error('it was not claimed')
    const { open_rows: named, rows_after: after } = await ownerOf(second)
    expect(named).toEqual([String(answer.claimed.row)])
    expect(Number(after)).toBeGreaterThan(Number(answer.claimed.row))
    await expire((await ownerOf(second)).id)
    const third = await labelled('third')
    expect((await third.recover()).calls).toEqual([answer.claimed.row])
    await Promise.all([first.close(), second.close(), third.close()])
  })

  test('a call whose beginning nobody heard of is not forgotten by the next heartbeat', { timeout: 300_000 }, async () => {
    const { FailingClient, statements } = await import('./lost-answers.ts')
    const client = new FailingClient(own.pool)
    const store = own.openOn(client, { schema, label: 'unheard', leaseMs: 3_000, patienceMs: 300, ...options })
    const journal = await opened(store)
    await store.join()
    client.failAt(statements.intent, 'late', 350)
    await expect(Promise.resolve(journal.insertToolCall(effect(31, { runId: 'unheard' })))).rejects.toMatchObject({
      code: 'JOURNAL_UNREACHABLE',
    })
    const { rows_after: before } = await ownerOf({ label: 'unheard' })
    await others(MANY + 30_000)
    // Two heartbeats later.
    await pause(2_300)
    expect((await ownerOf({ label: 'unheard' })).rows_after).toBe(before)
    await journal.close()
  })
})
