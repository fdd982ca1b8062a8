import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { expectHandedOver, expectWholeChain } from '../../support/whole-chain.ts'
import { startScript } from '../../support/child-script.ts'
import { queryDatabase } from '../../support/query-database.ts'
import { runs, seed } from '../../support/randomised.ts'
import { makeSandbox } from '../../support/sandbox.ts'
import { openThreadStore } from './stores.ts'

const program = fileURLToPath(new URL('crash-process.ts', import.meta.url))

/** Looks whether everything that was committed is there, and nothing by half; gives the calls' statuses. */
async function inspect(file: string): Promise<string[]> {
  const store = await openThreadStore(file)
  const calls = (await store.getThread('t')) === undefined ? [] : await expectWholeChain(store)
  if (calls.length > 0) await expectHandedOver(store, calls, 0)
  await store.close()
  // What was staged and not committed is gone, with the locks.
  const orphans =
    '(SELECT count(*) FROM files WHERE staged_by IS NOT NULL) + (SELECT count(*) FROM file_chunks WHERE file_path NOT IN (SELECT path FROM files))'
  const whole = '(SELECT group_concat(integrity_check, char(10)) FROM pragma_integrity_check)'
  expect(await queryDatabase(file, `SELECT ${orphans} AS orphans, ${whole} AS whole`)).toEqual([{ orphans: 0, whole: 'ok' }])
  expect(readdirSync(dirname(file))).toEqual(['thread.db'])
  return calls.map(({ status }) => status)
}

describe('a process that is killed', () => {
  test.each<[string, string[]]>([
    ['opened', []],
    ['claimed', ['running']],
    ['staged', ['running']],
    ['committed', ['success', 'queued']],
  ])('%s', async (point, expected) => {
    const file = join(makeSandbox().root, 'thread.db')
    const { child, ended, printed } = startScript(program, [file, point])
    await printed(point)
    child.kill('SIGKILL')
    expect((await ended).stderr).toBe('')
    expect(await inspect(file)).toEqual(expected)
  })

  const moments = fc.sample(fc.integer({ min: 0, max: 300 }), { numRuns: runs(20), seed })
  test(`at ${moments.length} random points, each time resumed where it was`, { timeout: 10_000 + moments.length * 3_000 }, async () => {
    const file = join(makeSandbox().root, 'thread.db')
    let [cut, length] = [0, 0]
    for (const ms of moments) {
      const { child, ended, printed } = startScript(program, [file])
      await printed('ready')
      await pause(ms)
      child.kill('SIGKILL')
      expect(await ended).toMatchObject({ signal: 'SIGKILL', stderr: '' })
      const statuses = await inspect(file)
      expect(statuses.length).toBeGreaterThanOrEqual(length)
      length = statuses.length
      if (statuses.includes('running')) cut += 1
    }
    // Otherwise nothing was tried.
    expect(cut).toBeGreaterThan(moments.length / 4)
    expect(length).toBeGreaterThan(moments.length)
  })
})
