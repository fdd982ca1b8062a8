import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'

const run = promisify(execFile)
const bench = fileURLToPath(new URL('../../bench/run.mjs', import.meta.url))

interface Summary {
  count: number
  median: number
  min: number
}

interface Row {
  id: string
  unit: 'ratio' | 'times' | 'ms'
  measured: number | null
  verdict: string
  atFloor?: number
  toOriginal?: number
  contenders: Record<string, Summary>
}

interface Report {
  format: number
  quick: boolean
  build: string
  machine: { node: string; cpus: number; kernel: string; loadBefore: number[]; loadAfter: number[] }
  rows: Row[]
  results: Record<string, { samples: Record<string, { samplesMs: number[] }>; problems: Record<string, string> }>
}

/** What one call takes more than another one may be less for once. */
const isDifference = (id: string): boolean => /^(?:contract|journal)-read/u.test(id)

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'toolwright-bench-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('a quick benchmark of read and edit tells ratios, samples and the machine', async () => {
  const json = join(folder, 'report.json')
  const { stdout } = await run(process.execPath, [bench, '--quick', '--only', 'read,edit', '--json', json])
  expect(stdout).toMatch(/^operation +must +target +measured \(minima\) +ours +smithers /mu)
  expect(stdout).toMatch(/^read 1 KB +6x +9x +[\d.]+x /mu)

  const report = JSON.parse(readFileSync(json, 'utf8')) as Report
  expect(report).toMatchObject({ format: 1, quick: true, build: expect.stringMatching(/^[0-9a-f]{12}$/u) as string })
  expect(report.machine.node).toMatch(/^v\d+\./u)
  expect(report.machine.cpus).toBeGreaterThan(0)
  expect(report.machine.kernel).not.toBe('')
  expect([...report.machine.loadBefore, ...report.machine.loadAfter]).toHaveLength(6)

  const ids = report.rows.map(({ id }) => id)
  expect(stdout).toMatch(/^read 200 KB, times Node's readFileSync +<= 1\.35x /mu)
  expect(ids).toEqual(expect.arrayContaining(['read-1k', 'read-200k-sync', 'read-200k-bun', 'edit-500', 'parallel-edit-delay']))
  expect(ids).not.toContain('write-1k')
  for (const { id, unit, measured, verdict, contenders } of report.rows) {
    expect(['ok', 'below target', 'BELOW MUST', 'measured'], id).toContain(verdict)
    if (unit !== 'ms') expect(measured, id).toBeGreaterThan(0)
    else if (isDifference(id)) expect(measured, id).toBeTypeOf('number')
    else expect(measured, id).toBeGreaterThanOrEqual(0)
    const { ours, smithers } = contenders
    // What nobody else does is measured alone.
    for (const summary of unit === 'ratio' ? [ours, smithers] : [ours]) {
      expect(summary?.count, id).toBeGreaterThan(0)
      expect(summary?.min, id).toBeLessThanOrEqual(summary?.median ?? Number.NaN)
    }
  }
  for (const [id, { samples, problems }] of Object.entries(report.results)) {
    expect(problems, id).toEqual({})
    for (const { samplesMs } of Object.values(samples)) {
      expect(
        samplesMs.every((ms) => (isDifference(id) ? Number.isFinite(ms) : ms > 0)),
        id,
      ).toBe(true)
    }
  }
}, 300_000)

test('beside commands stands the least that an addon takes to start them', async () => {
  const json = join(folder, 'commands.json')
  const { stdout } = await run(process.execPath, [bench, '--quick', '--only', '330', '--json', json])
  const { rows, results } = JSON.parse(readFileSync(json, 'utf8')) as Report
  expect(rows.map(({ id }) => id)).toEqual(['exec-330', 'exec-small-330'])
  for (const { id, atFloor = 0, contenders } of rows) {
    expect(results[id]?.problems, id).toEqual({})
    const { smithers, floor } = contenders
    expect(atFloor, id).toBeCloseTo((smithers?.median ?? 0) / (floor?.median ?? 1), 6)
    expect(atFloor, id).toBeGreaterThan(0)
  }
  const [row] = rows
  const { ours, smithers, floor } = row?.contenders ?? {}
  // What confinement costs is judged against the least that an addon takes; the original stands beside it.
  expect(row).toMatchObject({ unit: 'times', must: 1.3 })
  expect(row?.measured).toBeCloseTo((ours?.median ?? 0) / (floor?.median ?? 1), 6)
  expect(row?.toOriginal).toBeCloseTo((smithers?.median ?? 0) / (ours?.median ?? 1), 6)
  expect(stdout).toMatch(/^exec `true` in 330 MB, times the floor +<= 1\.3x +– +[\d.]+x .*\), [\d.]+x +/mu)
}, 300_000)

test('a row that does not exist is refused, with those that do', async () => {
  const failure = await run(process.execPath, [bench, '--only', 'raed']).catch((error: unknown) => error)
  expect(failure).toMatchObject({ code: 2, stderr: expect.stringMatching(/no row raed; they are read-1k, /u) as string })
})
