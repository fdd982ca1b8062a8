import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { openJournal, runTask, type ToolCallRow } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { startScript } from '../support/child-script.ts'
import { queryDatabase } from '../support/query-database.ts'
import { runs, seed } from '../support/randomised.ts'
import { makeSandbox, type Sandbox } from '../support/sandbox.ts'

const program = fileURLToPath(new URL('crash-process.ts', import.meta.url))

const start = (fixture: Sandbox, ...point: string[]) => startScript(program, [join(fixture.outside, 'runs.db'), fixture.root, ...point])

test('the next attempt knows what a killed process has left, without a word of its host', async () => {
  const fixture = makeSandbox()
  expect(await start(fixture, 'acted').ended).toMatchObject({ signal: 'SIGKILL' })
  await using journal = await openJournal(`file:${join(fixture.outside, 'runs.db')}`)
  await runTask({ journal, runId: 'run', nodeId: 'node' }, (task) => {
    expect(task.priorEffects).toMatchObject([{ toolName: 'act', status: 'unknown', errorJson: expect.stringContaining('PROCESS_DIED') }])
    expect(task.warning).toContain('- tool act (attempt 1, seq 1, status unknown)')
  })
}, 30_000)

/** What is in the way of what a row says: `undefined` when all is as it says. */
function complaint(fixture: Sandbox, row: ToolCallRow): string | undefined {
  const { toolName, inputJson, status } = row
  if (status !== 'success' || toolName === 'read') return undefined
  const input = JSON.parse(inputJson ?? '') as { path?: string; args?: string[] }
  const path = input.path ?? input.args?.[0] ?? ''
  const there = existsSync(fixture.at(path))
  if (!there) return `${toolName} claims ${path}, which is not there`
  if (toolName === 'edit' && !fixture.text(path).endsWith('edited\n')) return `edit claims ${path}: ${fixture.text(path)}`
  return undefined
}

/** Looks at what a killed process has left, and at what the next attempt is told. */
async function inspect(fixture: Sandbox): Promise<ToolCallRow[]> {
  const file = join(fixture.outside, 'runs.db')
  if (!existsSync(file)) return []
  const journal = await openJournal(`file:${file}`)
  // A child that the process was about to start has its lock until it executes its program.
  const recovered = async (): Promise<ToolCallRow[]> => {
    await journal.recover()
    return journal.listToolCalls('run', 'node', 0)
  }
  let rows = await recovered()
  for (let tries = 0; tries < 50 && rows.some((row) => row.status === 'started'); tries += 1) {
    await pause(100)
    rows = await recovered()
  }
  expect(rows.filter((row) => row.status === 'started')).toEqual([])
  expect(rows.flatMap((row) => complaint(fixture, row) ?? [])).toEqual([])
  // Every effect has a row.
  const mentioned = rows.map((row) => row.inputJson ?? '').join('\n')
  const effects = existsSync(fixture.at('effects')) ? readdirSync(fixture.at('effects')) : []
  const published = effects.filter((name) => !name.startsWith('.toolwright'))
  expect(published.filter((name) => !mentioned.includes(`effects/${name}"`))).toEqual([])
  for (const name of published.filter((one) => one.startsWith('write-'))) {
    if (!readFileSync(fixture.at(`effects/${name}`), 'utf8').endsWith('edited\n')) continue
    expect(rows.some((row) => row.toolName === 'edit' && row.inputJson?.includes(`effects/${name}"`))).toBe(true)
  }
  // Those whose end nobody knows have no time of it.
  for (const row of rows) expect(row.finishedAtMs === null, JSON.stringify(row)).toBe(row.status === 'unknown')
  await runTask({ journal, runId: 'run', nodeId: 'node', rootDir: fixture.root }, (task) => {
    const unsafe = rows.filter((row) => row.sideEffect === true && row.acted)
    expect(task.priorEffects.map((row) => row.row)).toEqual(unsafe.map((row) => row.row))
    expect(task.warning === null).toBe(unsafe.length === 0)
    expect(task.attempt).toBe(rows.length === 0 ? 1 : 2)
  })
  await journal.close()
  expect(await queryDatabase(file, 'PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }])
  return rows
}

describe('a process that is killed', () => {
  test.each<[string, [string, string][], boolean]>([
    ['opened', [], false],
    ['running', [], false],
    ['begun', [['act', 'unknown']], false],
    ['acted', [['act', 'unknown']], true],
    ['finished', [['act', 'success']], true],
  ])('%s', async (point, expected, isThere) => {
    const fixture = makeSandbox()
    const { signal, stderr } = await start(fixture, point).ended
    expect({ signal, stderr }).toEqual({ signal: 'SIGKILL', stderr: '' })
    const rows = await inspect(fixture)
    expect(rows.map((row) => [row.toolName, row.status])).toEqual(expected)
    expect(existsSync(fixture.at('effects/act-a-1'))).toBe(isThere)
    if (expected[0]?.[1] === 'unknown') {
      expect(JSON.parse(rows[0]?.errorJson ?? '')).toMatchObject({ name: 'ToolError', code: 'PROCESS_DIED' })
    }
  })

  const moments = fc.sample(fc.integer({ min: 0, max: 400 }), { numRuns: runs(20), seed })
  test(`at ${moments.length} random points`, { timeout: moments.length * 3_000 }, async () => {
    let cut = 0
    for (const ms of moments) {
      const fixture = makeSandbox()
      const { child, ended, printed } = start(fixture)
      await printed('ready')
      await pause(ms)
      child.kill('SIGKILL')
      expect((await ended).signal).toBe('SIGKILL')
      const rows = await inspect(fixture)
      if (rows.some((row) => row.status === 'unknown')) cut += 1
    }
    // Otherwise nothing was tried.
    expect(cut).toBeGreaterThan(moments.length / 4)
  })
})
