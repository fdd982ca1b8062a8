/** Old runs go while a thousand calls a second are made, or as many as the machine can do: nobody is refused, and nothing is made twice. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openJournal } from 'toolwright'
import { expect, onTestFinished, test } from 'vitest'
import { runs } from '../../../support/randomised.ts'
import { useServer } from '../servers.ts'
import { constantLoad } from './constant-load.ts'
import { ago, manyOld } from './old-calls.ts'

const own = useServer()
/** 167,000 with TOOLWRIGHT_SOAK_FACTOR=10. */
const OLD = runs(16_700)
const FIRST_DAY = '2000-01-01'

test.each(['a table', 'days', 'a table as the first day'])('%s: archive, prune', { timeout: 580_000 }, async (layout) => {
  const schema = own.schema()
  const directory = mkdtempSync(join(tmpdir(), 'toolwright-archive-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const store = own.open({ schema, ...(layout === 'days' && { partition: 'day' }) })
  await store.lastRow()
  await manyOld(own.pool, schema, OLD, 40)
  await manyOld(own.pool, schema, OLD, 2)
  const isConverted = layout === 'a table as the first day'
  if (isConverted) await store.migrate({ partition: 'day' })
  const count = async (which: string): Promise<number> => {
    const { rows } = await own.pool.query(`SELECT count(*)::int AS n FROM "${schema}"._smithers_tool_calls WHERE ${which}`)
    return rows[0].n
  }
  const journals = await Promise.all([store, own.open({ schema })].map((one) => openJournal(one)))
  const beforeMs = ago(30)
  const load = constantLoad(journals, 1_000)
  const began = performance.now()
  const kept = await store.archive({ beforeMs, directory: join(directory, 'kept'), keep: true })
  const gone = await store.archive({ beforeMs, directory: join(directory, 'gone') })
  expect([kept.rows, gone.rows, kept.left, gone.left]).toEqual([OLD, OLD, [], []])
  expect(await count(`run_id LIKE 'old 40 %'`)).toBe(0)
  await manyOld(own.pool, schema, OLD, 40, isConverted ? FIRST_DAY : undefined)
  expect(await store.prune({ beforeMs })).toBe(OLD)
  const seconds = (performance.now() - began) / 1_000
  const { calls, perSecond, slowestMs, ...wrong } = await load.end()
  console.log(`${layout}: 3 times ${OLD} rows in ${seconds.toFixed(1)} s beside ${perSecond} calls/s, the slowest ${slowestMs} ms`)
  expect({ ...wrong, p99Ms: 0 }).toEqual({ refused: [], doubled: [], lost: [], p99Ms: 0 })
  expect(await count(`run_id LIKE 'old 40 %'`)).toBe(0)
  expect(await count(`run_id LIKE 'old 2 %'`)).toBe(OLD)
  expect(await count(`run_id LIKE 'load %' AND status = 'success'`)).toBe(calls)
  await Promise.all(journals.map((journal) => journal.close()))
})
