import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { globSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openJournal } from 'toolwright'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { RegistryUnreachable } from '../../../support/installed-packages.ts'
import { useServer } from '../servers.ts'
import { ago, dayOf, makeDay, recordOld } from './old-calls.ts'
import { openDuckDb } from './duckdb.ts'

const bun = fileURLToPath(new URL('../../../../node_modules/.bin/bun', import.meta.url))
const program = fileURLToPath(new URL('archive-process.ts', import.meta.url))
const folders: string[] = []
const folder = (): string => folders[folders.push(mkdtempSync(join(tmpdir(), 'toolwright-archive-'))) - 1] as string
afterEach(() => {
  for (const path of folders.splice(0)) rmSync(path, { recursive: true, force: true })
})

let duck: Awaited<ReturnType<typeof openDuckDb>> | undefined
beforeAll(async () => {
  duck = await openDuckDb().catch((error: unknown) => {
    if (!(error instanceof RegistryUnreachable)) throw error
    console.log(`DuckDB does not read the files again: ${error.message}`)
    return undefined
  })
}, 300_000)

const own = useServer()
const COLUMNS =
  'run_id, node_id, iteration, attempt, seq, tool_name, input_json, output_json, started_at_ms, finished_at_ms, status, side_effect, tw_row'
const text = (rows: readonly object[]): unknown[] =>
  rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, value === null ? null : String(value)])))

describe.each(['table', 'day'] as const)('an archive of a journal: %s', (layout) => {
  const options = () => ({ schema: own.schema(), ...(layout === 'day' && { partition: 'day' as const }) })
  const rowsOf = async (schema: string, where = 'true') =>
    (await own.pool.query(`SELECT ${COLUMNS} FROM "${schema}"._smithers_tool_calls WHERE ${where} ORDER BY tw_row`)).rows

  test('old runs are written to a file for each day, and removed; DuckDB reads each row as it was', async ({ skip }) => {
    const opened = options()
    await recordOld(own, opened, [
      { runId: 'a', days: 40, calls: 3 },
      { runId: 'b "quoted", \\ and {braces},\n\t\u0001 NULL ä', days: 40, calls: 4 },
      { runId: 'c', days: 35, calls: 30 },
      { runId: 'young', days: 3, calls: 5 },
    ])
    const before = await rowsOf(opened.schema, "run_id <> 'young'")
    const store = own.open({ schema: opened.schema })
    const directory = join(folder(), 'not', 'yet')
    const archived = await store.archive({ beforeMs: ago(30), directory })
    expect(archived.rows).toBe(37)
    expect(archived.files.map((file) => /day=[^/]+/u.exec(file)?.[0]).sort()).toEqual([`day=${dayOf(ago(40))}`, `day=${dayOf(ago(35))}`])
    expect(globSync('**/*', { cwd: directory }).filter((name) => !name.endsWith('.parquet') && /\./u.test(name))).toEqual([])
    expect(await rowsOf(opened.schema)).toHaveLength(5)
    expect(await store.archive({ beforeMs: ago(30), directory })).toEqual({ rows: 0, files: [], left: [] })
    await store.close()
    if (duck === undefined) return skip('DuckDB cannot be installed')
    const read = await duck(`SELECT ${COLUMNS} FROM read_parquet('${directory}/**/*.parquet', hive_partitioning = true) ORDER BY tw_row`)
    expect(text(read)).toEqual(text(before))
    const [one] = await duck(
      `SELECT count(*) AS n, min(day)::text AS day FROM read_parquet('${directory}/**/*.parquet', hive_partitioning = true) WHERE run_id = 'c'`,
    )
    expect(text([one as object])).toEqual([{ n: '30', day: dayOf(ago(35)) }])
  })

  test('no archive replaces the file of another one', async () => {
    const [opened, other, directory, beforeMs] = [options(), options(), folder(), Math.trunc(ago(30))]
    for (const { schema } of [opened, other, opened]) {
      // The next run that is over since the same time, and the same day of another journal.
      const runId = `run ${folders.length}`
      await recordOld(own, { ...opened, schema }, [{ runId, days: 40, calls: 3 }])
      const store = own.open({ schema })
      expect(await store.archive({ beforeMs, directory })).toMatchObject({ rows: 3 })
      await store.close()
    }
    expect(globSync('**/*.parquet', { cwd: directory })).toHaveLength(3)
  })

  test('keep leaves the rows where they are', async () => {
    const opened = options()
    await recordOld(own, opened, [{ runId: 'a', days: 40, calls: 3 }])
    const store = own.open({ schema: opened.schema })
    expect(await store.archive({ beforeMs: ago(30), directory: folder(), keep: true })).toMatchObject({ rows: 3 })
    expect(await rowsOf(opened.schema)).toHaveLength(3)
    await store.close()
  })

  test('a folder that cannot be written leaves everything, and the next archive takes it', async () => {
    const opened = options()
    await recordOld(own, opened, [{ runId: 'a', days: 40, calls: 3 }])
    const store = own.open({ schema: opened.schema })
    const directory = join(folder(), 'a-file')
    writeFileSync(directory, '')
    await expect(store.archive({ beforeMs: ago(30), directory })).rejects.toMatchObject({
      code: 'JOURNAL_IO_FAILED',
      details: { osCode: 'ENOTDIR' },
    })
    rmSync(directory)
    expect(await store.archive({ beforeMs: ago(30), directory })).toMatchObject({ rows: 3 })
    await store.close()
  })

  test('a full disk leaves everything', async ({ skip }) => {
    // Root keeps its own rights, with which it reaches the folder of the server's sockets.
    const flags = process.getuid?.() === 0 ? '-m' : '-rm'
    if (spawnSync('unshare', [flags, 'mount', '-t', 'tmpfs', 'none', '/tmp']).status !== 0) return skip('no file system can be mounted')
    const opened = options()
    await recordOld(own, opened, [{ runId: 'a', days: 40, calls: 60 }])
    const directory = folder()
    const script = 'mount -t tmpfs -o size=4k none "$0" && exec "$@"'
    const full = spawnSync('unshare', [
      flags,
      'sh',
      '-c',
      script,
      directory,
      process.execPath,
      program,
      own.server.socket.host,
      opened.schema,
      directory,
    ])
    expect(String(full.stdout)).toContain('refused JOURNAL_DISK_FULL')
    const store = own.open({ schema: opened.schema })
    await expect
      .poll(() => store.archive({ beforeMs: ago(30), directory }).catch(() => undefined), { timeout: 10_000 })
      .toMatchObject({ rows: 60 })
    await store.close()
  })

  test('in Bun', async ({ skip }) => {
    const opened = options()
    await recordOld(own, opened, [{ runId: 'a', days: 40, calls: 60 }])
    const before = await rowsOf(opened.schema)
    const directory = folder()
    const ended = spawnSync(bun, [program, own.server.socket.host, opened.schema, directory])
    expect(String(ended.stdout)).toContain('ended 60')
    if (duck === undefined) return skip('DuckDB cannot be installed')
    expect(text(await duck(`SELECT ${COLUMNS} FROM read_parquet('${directory}/*/*.parquet') ORDER BY tw_row`))).toEqual(text(before))
  })

  test('without statistics, no plan reads the whole table', { timeout: 120_000 }, async () => {
    const opened = options()
    const store = own.open(opened)
    await store.migrate()
    const calls = `"${opened.schema}"._smithers_tool_calls`
    const day = dayOf(ago(40))
    if (layout === 'day') await makeDay(own, opened.schema, day)
    const table = layout === 'day' ? `${calls}_${day.replaceAll('-', '')}` : calls
    await own.pool.query(`ALTER TABLE ${table} SET (autovacuum_enabled = off)`)
    await own.pool.query(
      `INSERT INTO ${calls} (run_id, node_id, attempt, seq, tool_name, started_at_ms, status${layout === 'day' ? ', tw_day' : ''})
       SELECT 'run ' || r, 'n', 1, s, 'pay', ${Math.trunc(ago(40))} + r, 'success'${layout === 'day' ? `, '${day}'` : ''} FROM generate_series(1, 4000) r, generate_series(1, 5) s`,
    )
    if (layout === 'day')
      await own.pool.query(`INSERT INTO "${opened.schema}"._toolwright_run_days SELECT DISTINCT run_id, tw_day FROM ${calls}`)
    const read = async (): Promise<number> => {
      await new Promise((resolve) => setTimeout(resolve, 1_500))
      const { rows } = await own.pool.query(`SELECT seq_tup_read::int AS n FROM pg_stat_user_tables WHERE relid = '${table}'::regclass`)
      return rows[0].n
    }
    const before = await read()
    expect(await store.archive({ beforeMs: ago(30), directory: folder(), keep: true })).toMatchObject({ rows: 20_000 })
    if (layout === 'table') expect(await store.prune({ beforeMs: ago(30) })).toBe(20_000)
    // A page has 500 runs: a plan that read everything would do so eight times. The test itself has read it once.
    expect((await read()) - before).toBeLessThan(50_000)
    await store.close()
  })

  test('an archive that is killed loses nothing', { timeout: 240_000 }, async ({ skip }) => {
    if (duck === undefined) return skip('DuckDB cannot be installed')
    const opened = options()
    await recordOld(own, opened, [
      ...Array.from({ length: 12 }, (_, index) => ({ runId: `run ${index}`, days: 40 + (index % 4), calls: 40 })),
      { runId: 'young', days: 2, calls: 4 },
    ])
    const all = (await rowsOf(opened.schema)).map((row) => String(row.tw_row)).sort()
    const directory = folder()
    let kills = 0
    for (let round = 0; round < 15; round += 1) {
      const child = spawn(process.execPath, [program, own.server.socket.host, opened.schema, directory], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      let said = ''
      const begun = new Promise<void>((resolve) => child.stdout.on('data', (data) => /begun/u.test((said += String(data))) && resolve()))
      const ended = once(child, 'exit')
      await begun
      // Later and later: a whole archive takes some tens of milliseconds.
      await new Promise((resolve) => setTimeout(resolve, 8 * round * Math.random()))
      child.kill('SIGKILL')
      await ended
      if (said.includes('ended')) break
      kills += 1
      await new Promise((resolve) => setTimeout(resolve, 300))
    }
    expect(kills).toBeGreaterThan(0)
    const store = own.open({ schema: opened.schema })
    await store.archive({ beforeMs: ago(30), directory })
    await store.close()
    const left = await rowsOf(opened.schema)
    expect(left).toHaveLength(4)
    const read = await duck(`SELECT DISTINCT tw_row FROM read_parquet('${directory}/**/*.parquet')`)
    expect([...read, ...left].map((row) => String(row['tw_row'])).sort()).toEqual(all)
    const [copies] = await duck(`SELECT count(*) - count(DISTINCT tw_row) AS twice FROM read_parquet('${directory}/**/*.parquet')`)
    console.log(`an archive that was killed ${kills} times wrote ${String(copies?.['twice'])} rows twice`)
  })

  test('large rows are read and written in parts', { timeout: 120_000 }, async () => {
    const opened = options()
    await recordOld(own, opened, [{ runId: 'a', days: 40, calls: 1 }])
    await own.pool.query(
      `INSERT INTO "${opened.schema}"._smithers_tool_calls (run_id, node_id, attempt, seq, tool_name, started_at_ms, finished_at_ms, status, output_json${layout === 'day' ? ', tw_day' : ''})
       SELECT 'a', 'n', 1, s + 10, 'read', $1, $1, 'success', (SELECT string_agg(md5((s * 10000 + i)::text), '') FROM generate_series(1, 6000) i)${layout === 'day' ? `, '${dayOf(ago(40))}'` : ''} FROM generate_series(1, 400) s`,
      [Math.trunc(ago(40))],
    )
    const store = own.open({ schema: opened.schema })
    const directory = folder()
    globalThis.gc?.()
    const before = process.memoryUsage().rss
    let peak = before
    const timer = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 5)
    const { rows, files } = await store.archive({ beforeMs: ago(30), directory })
    clearInterval(timer)
    expect(rows).toBe(401)
    const size = statSync(String(files[0])).size
    console.log(`77 MB of outputs: ${Math.round((peak - before) / 1e6)} MB more memory, ${(size / 1e6).toFixed(1)} MB on the disk`)
    expect(size).toBeLessThan(60e6)
    // A window, a group and its encoded copies, whatever the number of rows.
    expect(peak - before).toBeLessThan(300e6)
    await store.close()
  })

  test('a run that goes on while it is archived keeps its rows', { timeout: 120_000 }, async () => {
    const opened = options()
    const journal = await openJournal(own.open(opened))
    for (let round = 0; round < 12; round += 1) {
      const runId = `run ${round}`
      await recordOld(own, opened, [{ runId, days: 40 + round, calls: 3 }])
      const store = own.open({ schema: opened.schema })
      const later = async (): Promise<void> => {
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 60))
        const call = { runId, nodeId: 'n', attempt: 1, seq: 10, toolName: 'pay', sideEffect: true }
        await journal.updateToolCall(await journal.insertToolCall(call), { status: 'success' })
      }
      await Promise.all([store.archive({ beforeMs: ago(30), directory: folder() }), later()])
      expect((await journal.listRun(runId)).at(-1)).toMatchObject({ seq: 10, status: 'success' })
      await store.close()
    }
    await journal.close()
  })
})
