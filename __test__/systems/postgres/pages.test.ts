import { openJournal } from 'toolwright'
import { expect, test } from 'vitest'
import { useServer } from './servers.ts'

const own = useServer()

test.each([false, true])(
  'a page of runs costs what it holds, whatever the table does (analyzed: %s)',
  { timeout: 120_000 },
  async (isAnalyzed) => {
    const schema = own.schema()
    const store = own.open({ schema })
    await store.migrate()
    const calls = `"${schema}"._smithers_tool_calls`
    // 20,000 runs of 5 calls, three of which begin in each millisecond.
    await own.pool.query(
      `INSERT INTO ${calls} (run_id, node_id, attempt, seq, tool_name, started_at_ms, status)
     SELECT 'run ' || r, 'n', 1, s, 'pay', 1000 + r / 3 + s * 10, 'success' FROM generate_series(1, 20000) r, generate_series(1, 5) s`,
    )
    if (isAnalyzed) await own.pool.query(`ANALYZE ${calls}`)
    const journal = await openJournal(store)
    const began = performance.now()
    const all = await journal.listRuns()
    const allMs = performance.now() - began
    expect(all).toHaveLength(20_000)
    let before = all.at(-1)
    const times: number[] = []
    const paged: string[] = []
    for (let page = 0; page < 40; page += 1) {
      const start = performance.now()
      const runs = await journal.listRuns({ limit: 50, ...(before && { before }) })
      times.push(performance.now() - start)
      paged.unshift(...runs.map(({ runId }) => runId))
      before = runs[0]
    }
    expect(paged).toEqual(all.slice(-2_001, -1).map(({ runId }) => runId))
    // One in the middle of the table is not slower.
    const middle = performance.now()
    expect(await journal.listRuns({ limit: 50, before: all[10_000] as never })).toEqual(all.slice(9_950, 10_000))
    times.push(performance.now() - middle)
    const p50 = times.toSorted((a, b) => a - b)[20] as number
    console.log(`pages: all runs ${Math.round(allMs)} ms, a page ${p50.toFixed(1)} ms, the middle ${times.at(-1)?.toFixed(1)} ms`)
    expect(p50 * 10).toBeLessThan(allMs)
    await journal.close()
  },
)
