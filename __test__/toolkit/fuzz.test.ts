import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { complaintAbout, randomCall } from '../support/random-calls.ts'
import { runs, seed } from '../support/randomised.ts'
import { makeSandbox } from '../support/sandbox.ts'

console.log(`fuzz: TOOLWRIGHT_SEED=${seed}`)

const cwd = process.cwd()
const unhandled: unknown[] = []
const collect = (reason: unknown): void => void unhandled.push(reason)

beforeEach(() => {
  unhandled.length = 0
  process.on('unhandledRejection', collect)
  vi.spyOn(console, 'warn').mockImplementation(() => undefined)
})
afterEach(() => {
  process.off('unhandledRejection', collect)
  process.chdir(cwd)
  vi.restoreAllMocks()
})

describe('any value as any argument, option or field of a context', () => {
  test(
    'every call settles; what it rejects with is a ToolError or a TypeError',
    async () => {
      const fixture = makeSandbox()
      mkdirSync(fixture.at('dir'))
      fixture.put('f', 'one\n')
      process.chdir(fixture.root)
      await fc.assert(
        fc.asyncProperty(randomCall, async (call) => {
          expect(await complaintAbout(call)).toBeUndefined()
        }),
        { seed, numRuns: runs(1_000) },
      )
      await new Promise((resolve) => {
        setTimeout(resolve, 50)
      })
      expect(unhandled).toEqual([])
    },
    60_000 * runs(1),
  )

  test(
    'a process that makes random calls ends with exit code 0, and nothing has panicked',
    () => {
      const fixture = makeSandbox()
      const main = fileURLToPath(new URL('../support/random-calls-process.ts', import.meta.url))
      const { status, signal, stdout, stderr } = spawnSync(process.execPath, [main, String(runs(1_000)), String(seed + 1)], {
        cwd: fixture.root,
        encoding: 'utf8',
        timeout: 60_000 * runs(1),
      })
      expect(stderr).not.toContain('panicked')
      expect({ status, signal, stdout }).toEqual({ status: 0, signal: null, stdout: '' })
    },
    60_000 * runs(1),
  )
})
