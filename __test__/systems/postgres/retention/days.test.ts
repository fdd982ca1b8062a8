import { openJournal } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { useServer } from '../servers.ts'
import { ago, dayOf, makeDay, partitions, recordOld } from './old-calls.ts'

const call = { nodeId: 'n', attempt: 1, toolName: 'pay', sideEffect: true }

describe.each([15, 18])('a partition for each day, PostgreSQL %i', (version) => {
  const own = useServer(version)
  const options = () => ({ schema: own.schema(), partition: 'day' as const })
  const ids = async (schema: string): Promise<string[]> => {
    const { rows } = await own.pool.query(`SELECT DISTINCT run_id FROM "${schema}"._smithers_tool_calls ORDER BY 1`)
    return rows.map((row) => row.run_id)
  }

  test('today and a week ahead have one, and more come with a later store', async () => {
    const { schema, partition } = options()
    const first = own.open({ schema, partition })
    await first.migrate()
    await first.close()
    const made = await partitions(own, schema)
    expect(made).toHaveLength(8)
    expect(made[0]).toBe(`_smithers_tool_calls_${dayOf(Date.now()).replaceAll('-', '')}`)
    await own.pool.query(`DROP TABLE "${schema}"."${made[7]}"; DELETE FROM "${schema}"._toolwright_days WHERE day > current_date + 6`)
    const later = own.open({ schema })
    await later.lastRow()
    expect(await partitions(own, schema)).toEqual(made)
    await later.close()
  })

  test('a run stays in its partition, and calls of other days are not looked at', async () => {
    const { schema, partition } = options()
    await recordOld(own, { schema, partition }, [
      { runId: 'old', days: 3, calls: 4 },
      { runId: 'older', days: 9, calls: 4 },
    ])
    const journal = await openJournal(own.open({ schema }))
    await journal.insertToolCall({ ...call, runId: 'old', seq: 99, status: 'success' })
    const scans = async (): Promise<number> => {
      await own.pool.query('SELECT pg_stat_clear_snapshot()')
      const { rows } = await own.pool.query(
        `SELECT coalesce(sum(coalesce(idx_scan, 0) + seq_scan), 0)::int AS scans FROM pg_stat_user_tables WHERE schemaname = $1
           AND relname = '_smithers_tool_calls_' || to_char(current_date - 9, 'YYYYMMDD')`,
        [schema],
      )
      return rows[0].scans
    }
    // Those who recorded it have looked there.
    await new Promise((resolve) => setTimeout(resolve, 2_000))
    await expect.poll(scans, { timeout: 20_000 }).toBeGreaterThan(0)
    const before = await scans()
    for (let seq = 5; seq < 15; seq += 1) {
      const ref = await journal.insertToolCall({ ...call, runId: 'old', seq })
      await journal.updateToolCall(ref, { status: 'success' })
    }
    const { claimed } = (await journal.claimCall({ ...call, runId: 'old', callId: 'c1', argsHash: 'x' })) as { claimed: never }
    await journal.updateToolCall(claimed, { status: 'success' })
    expect(await journal.listRun('old')).toHaveLength(16)
    // The statistics of a connection are sent once it has been idle for a while.
    await new Promise((resolve) => setTimeout(resolve, 2_000))
    await own.pool.query('SELECT pg_sleep(0.1)')
    expect(await scans()).toBe(before)
    await journal.close()
    const { rows } = await own.pool.query(
      `SELECT count(DISTINCT tableoid)::int AS tables FROM "${schema}"._smithers_tool_calls WHERE run_id = 'old'`,
    )
    expect(rows[0].tables).toBe(1)
  })

  test('a table becomes the first partition, and its runs go on', async () => {
    const schema = own.schema()
    const before = await openJournal(own.open({ schema }))
    const done = (await before.claimCall({ ...call, runId: 'r', callId: 'c1', argsHash: 'x' })) as { claimed: never }
    await before.updateToolCall(done.claimed, { status: 'success', outputJson: '"paid"' })
    for (let seq = 2; seq < 50; seq += 1) await before.insertToolCall({ ...call, runId: `r${seq}`, seq, status: 'success' })
    const rows = await before.readRows(0, 1_000)
    await before.close()
    const store = own.open({ schema })
    await store.migrate({ partition: 'day' })
    await store.migrate()
    await store.migrate({ partition: 'day' })
    const after = await openJournal(store)
    expect(await after.readRows(0, 1_000)).toEqual(rows)
    expect((await after.readSince(undefined, 1_000)).rows).toEqual(rows)
    expect(await after.claimCall({ ...call, runId: 'r', callId: 'c1', argsHash: 'x' })).toMatchObject({
      recorded: { outputJson: '"paid"' },
    })
    await after.insertToolCall({ ...call, runId: 'r', seq: 9, status: 'success' })
    await after.insertToolCall({ ...call, runId: 'new', seq: 1, status: 'success' })
    const { rows: places } = await own.pool.query(
      `SELECT run_id, tableoid::regclass::text AS place FROM "${schema}"._smithers_tool_calls WHERE run_id IN ('r', 'new') GROUP BY 1, 2 ORDER BY 1`,
    )
    expect(places.map(({ place }) => place.replace(/^.*calls_/u, ''))).toEqual([dayOf(Date.now()).replaceAll('-', ''), '20000101'])
    await after.close()
  })

  test('a store that was open when the table was partitioned finishes the calls that it began, and makes the next ones', async () => {
    const schema = own.schema()
    const journal = await openJournal(own.open({ schema }))
    const ref = await journal.insertToolCall({ ...call, runId: 'r', seq: 1 })
    const other = own.open({ schema })
    await other.migrate({ partition: 'day' })
    await journal.updateToolCall(ref, { status: 'success' })
    await journal.updateToolCall(await journal.insertToolCall({ ...call, runId: 'r', seq: 2 }), { status: 'success' })
    await journal.insertToolCall({ ...call, runId: 'r', seq: 3, sideEffect: false, status: 'success' })
    expect(await journal.listRun('r')).toMatchObject([{ status: 'success' }, { status: 'success' }, { status: 'success' }])
    // From then on it knows the days: a new run begins today.
    await journal.insertToolCall({ ...call, runId: 'new', seq: 1, status: 'success' })
    const { rows } = await own.pool.query(
      `SELECT run_id, tableoid::regclass::text AS place FROM "${schema}"._smithers_tool_calls GROUP BY 1, 2 ORDER BY 1`,
    )
    expect(rows.map(({ place }) => place.replace(/^.*calls_/u, ''))).toEqual([dayOf(Date.now()).replaceAll('-', ''), '20000101'])
    await journal.close()
    await other.close()
  })

  test('a store that was open when the table was partitioned makes days ahead, and drops old ones', async () => {
    const schema = own.schema()
    const store = own.open({ schema })
    await store.lastRow()
    const other = own.open({ schema })
    await other.migrate({ partition: 'day' })
    const [first, ...ahead] = await partitions(own, schema)
    expect(first).toBe('_smithers_tool_calls_20000101')
    await own.pool.query(`DROP TABLE "${schema}"."${ahead.at(-1)}"; DELETE FROM "${schema}"._toolwright_days WHERE day > current_date + 6`)
    await store.prune({ beforeMs: ago(30) })
    expect(await partitions(own, schema)).toEqual(ahead)
    await Promise.all([store.close(), other.close()])
  })

  test('no call is refused while the table is partitioned: claims, tasks and calls by the dozen', { timeout: 60_000 }, async () => {
    const schema = own.schema()
    const stores = Array.from({ length: 3 }, () => own.open({ schema }))
    const journals = await Promise.all(stores.map((store) => openJournal(store)))
    const made: Record<string, number> = { claim: 0, task: 0, call: 0 }
    const state = { isOver: false }
    const refused: unknown[] = []
    const again = async (kind: string, work: (turn: number) => Promise<unknown>): Promise<void> => {
      for (let turn = 1; !state.isOver && refused.length < 10; turn += 1) {
        await work(turn).then(
          () => (made[kind] = Number(made[kind]) + 1),
          (error: unknown) => refused.push(error),
        )
      }
    }
    const load = journals.flatMap((journal, index) => [
      again('claim', async (turn) => {
        const { claimed } = (await journal.claimCall({ ...call, runId: `c${index}`, callId: `${turn}`, argsHash: 'x' })) as {
          claimed: never
        }
        await journal.updateToolCall(claimed, { status: 'success' })
      }),
      again('task', async (turn) => {
        const { lock, attempt } = await journal.beginTask({ runId: `t${index}`, nodeId: `${turn % 5}`, iteration: 0 })
        await journal.updateToolCall(
          await journal.insertToolCall({ ...call, runId: `t${index}`, nodeId: `${turn % 5}`, attempt, seq: 1 }),
          {
            status: 'success',
          },
        )
        await lock.release()
      }),
      ...[1, 2].map((lane) =>
        again('call', async (seq) => {
          const ref = await journal.insertToolCall({ ...call, runId: `r${index}`, nodeId: `${lane}`, seq })
          await journal.updateToolCall(ref, { status: 'success' })
        }),
      ),
    ])
    await expect.poll(() => Math.min(...Object.values(made)), { timeout: 20_000 }).toBeGreaterThan(50)
    const other = own.open({ schema })
    await other.migrate({ partition: 'day' })
    const before = { ...made }
    const since = (): number => Math.min(...Object.keys(made).map((kind) => Number(made[kind]) - Number(before[kind])))
    await expect.poll(() => since() > 50 || refused.length > 0, { timeout: 20_000 }).toBe(true)
    state.isOver = true
    await Promise.all(load)
    expect(refused).toEqual([])
    const rows = await journals[0]?.readRows(0, 1_000_000)
    expect(rows?.filter(({ status }) => status !== 'success')).toEqual([])
    expect(rows).toHaveLength(Object.values(made).reduce((sum, count) => sum + count, 0))
    await Promise.all([...journals, other].map((one) => one.close()))
  })

  test('prune drops a day whose runs are over, and deletes the others of a day that has to stay', async () => {
    const { schema, partition } = options()
    await recordOld(own, { schema, partition }, [
      { runId: 'a', days: 40, calls: 3 },
      { runId: 'b', days: 40, calls: 2 },
      { runId: 'c', days: 35, calls: 3 },
      { runId: 'open', days: 35, calls: 2 },
      { runId: 'young', days: 3, calls: 5 },
    ])
    const store = own.open({ schema })
    // Somebody still works at it.
    const working = await openJournal(own.open({ schema }))
    await working.insertToolCall({ ...call, runId: 'open', seq: 3 })
    await own.pool.query(`UPDATE "${schema}"._smithers_tool_calls SET started_at_ms = $1 WHERE run_id = 'open'`, [ago(35)])
    expect(await store.prune({ beforeMs: ago(30) })).toBe(8)
    expect(await ids(schema)).toEqual(['open', 'young'])
    const left = await partitions(own, schema)
    expect(left).not.toContain(`_smithers_tool_calls_${dayOf(ago(40)).replaceAll('-', '')}`)
    expect(left).toContain(`_smithers_tool_calls_${dayOf(ago(35)).replaceAll('-', '')}`)
    expect(await store.prune({ beforeMs: ago(30) })).toBe(0)
    await own.pool.query(`UPDATE "${schema}"._smithers_tool_calls SET status = 'success' WHERE run_id = 'open'`)
    await working.close()
    // Everything: the day of new runs stays.
    expect(await store.prune({ beforeMs: Date.now() + 60_000 })).toBe(8)
    const journal = await openJournal(store)
    await journal.insertToolCall({ ...call, runId: 'a', seq: 1, status: 'success' })
    expect(await journal.listRun('a')).toHaveLength(1)
    await journal.close()
  })

  test('one process at a time prunes', async () => {
    const { schema, partition } = options()
    await recordOld(own, { schema, partition }, [{ runId: 'a', days: 40, calls: 1 }])
    const [one, two] = [own.open({ schema }), own.open({ schema })]
    const lock = await one.lockTask?.({ runId: '_toolwright', nodeId: 'retention', iteration: 0 }, 1)
    await expect(two.prune({ beforeMs: ago(30) })).rejects.toMatchObject({ code: 'JOURNAL_TASK_LOCKED' })
    await lock?.release()
    expect(await two.prune({ beforeMs: ago(30) })).toBe(1)
    await one.close()
    await two.close()
  })

  test('a call of a run whose day is being removed is there afterwards', { timeout: 120_000 }, async () => {
    const { schema, partition } = options()
    const outcomes = { stayed: 0, anew: 0 }
    const journal = await openJournal(own.open({ schema, partition }))
    const pruning = own.open({ schema })
    for (let round = 0; round < 25; round += 1) {
      const runId = `run ${round}`
      await recordOld(own, { schema, partition }, [{ runId, days: 40 + round, calls: 3 }])
      const later = async (): Promise<void> => {
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 40))
        const ref = await journal.insertToolCall({ ...call, runId, seq: 10 })
        await journal.updateToolCall(ref, { status: 'success' })
      }
      await Promise.all([pruning.prune({ beforeMs: ago(30) }), later()])
      const rows = await journal.listRun(runId)
      expect(rows.at(-1)).toMatchObject({ seq: 10, status: 'success' })
      expect([1, 4]).toContain(rows.length)
      outcomes[rows.length === 1 ? 'anew' : 'stayed'] += 1
      const { rows: count } = await own.pool.query(`SELECT count(*)::int AS n FROM "${schema}"._smithers_tool_calls WHERE run_id = $1`, [
        runId,
      ])
      expect(count[0].n).toBe(rows.length)
    }
    console.log(`a run went on while its day was removed: ${JSON.stringify(outcomes)}`)
    await journal.close()
    await pruning.close()
  })

  test('a removal that ended between two of its statements is taken up', { timeout: 120_000 }, async () => {
    let isComplete = false
    for (let survives = 1; !isComplete; survives += 1) {
      const { schema, partition } = options()
      await recordOld(own, { schema, partition }, [
        { runId: 'a', days: 40, calls: 2 },
        { runId: 'young', days: 2, calls: 2 },
      ])
      let left = survives
      const dying = own.openOn(
        {
          query: async (text, values, name) => {
            if (/prune|_days|PARTITION|DROP|is_over|_smithers_tool_calls/u.test(text) && !/_owners/u.test(text) && (left -= 1) < 0)
              throw new Error('killed')
            return (await own.pool.query(name === undefined ? { text, values: [...values] } : { text, values: [...values], name })).rows
          },
        },
        { schema, leaseMs: 200 },
      )
      isComplete = await dying.prune({ beforeMs: ago(30) }).then(
        () => true,
        () => false,
      )
      await dying.close().catch(() => undefined)
      const store = own.open({ schema })
      await store.prune({ beforeMs: ago(30) })
      expect(await ids(schema), `after ${survives} statements`).toEqual(['young'])
      expect((await partitions(own, schema)).filter((name) => name.includes(dayOf(ago(40)).replaceAll('-', '')))).toEqual([])
      const { rows } = await own.pool.query(
        `SELECT count(*)::int AS n FROM "${schema}"._toolwright_days WHERE is_closing OR day < current_date - 30`,
      )
      expect(rows[0].n).toBe(0)
      const journal = await openJournal(store)
      await journal.insertToolCall({ ...call, runId: 'a', seq: 1, status: 'success' })
      expect(await journal.listRun('a')).toHaveLength(1)
      await journal.close()
    }
  })

  test('a role that may not make partitions records into the newest one', async () => {
    const { schema, partition } = options()
    const store = own.open({ schema, partition })
    await store.migrate()
    await store.close()
    const role = `recorder_${schema}`
    await own.pool.query(`CREATE ROLE ${role} LOGIN; GRANT USAGE ON SCHEMA "${schema}" TO ${role};
      GRANT SELECT, INSERT, UPDATE, DELETE ON "${schema}"._smithers_tool_calls, "${schema}"._toolwright_owners, "${schema}"._toolwright_gone,
        "${schema}"._toolwright_task_locks, "${schema}"._toolwright_run_days TO ${role};
      GRANT SELECT ON "${schema}"._toolwright_schema, "${schema}"._toolwright_days TO ${role};
      GRANT USAGE ON SEQUENCE "${schema}"._toolwright_rows, "${schema}"._toolwright_fence, "${schema}"._toolwright_owners_id_seq TO ${role}`)
    await recordOld(own, { schema, partition }, [{ runId: 'old', days: 40, calls: 3 }])
    // A week in which nobody made partitions.
    await makeDay(own, schema, dayOf(ago(8)))
    await own.pool.query(`DELETE FROM "${schema}"._toolwright_days WHERE day > current_date - 8`)
    const pool = own.poolOf(role)
    const recording = own.openOn(pool, { schema })
    const journal = await openJournal(recording)
    await journal.insertToolCall({ ...call, runId: 'r', seq: 1, status: 'success' })
    expect(await journal.listRun('r')).toHaveLength(1)
    await journal.close()
    // It may not drop days, and removes their rows.
    const pruning = own.openOn(pool, { schema })
    expect(await pruning.prune({ beforeMs: ago(30) })).toBe(3)
    expect(await ids(schema)).toEqual(['r'])
    await pruning.close()
    await pool.end()
  })

  test('a day that cannot be detached now is as it was', async () => {
    const { schema, partition } = options()
    await recordOld(own, { schema, partition }, [{ runId: 'a', days: 40, calls: 3 }])
    const failing = own.openOn(
      {
        query: async (text, values) => {
          if (text.includes('DETACH')) throw Object.assign(new Error('canceling statement due to lock timeout'), { code: '57014' })
          return (await own.pool.query(text, [...values])).rows
        },
      },
      { schema },
    )
    await expect(failing.prune({ beforeMs: ago(30) })).rejects.toMatchObject({ code: 'JOURNAL_BUSY' })
    const journal = await openJournal(failing)
    await journal.insertToolCall({ ...call, runId: 'a', seq: 9, status: 'success' })
    expect(await journal.listRun('a')).toHaveLength(4)
    await journal.close()
  })
})
