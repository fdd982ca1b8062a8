// What a session costs its host, and what is left of it when the host is killed.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { expectGone, running, sleepingMark } from '../support/processes.ts'
import { makeSandbox } from '../support/sandbox.ts'

const host = fileURLToPath(new URL('limits-process.ts', import.meta.url))
const isBun = process.versions['bun'] !== undefined
const CONTENT_BYTES = 400 << 20
const MAX_GROWTH = 32 << 20

test.each(['file', '/tmp/file'])('400 MB through writeFile and readFile take less than 32 MB: %s', { timeout: 60_000 }, async (path) => {
  const args = isBun ? [host] : ['--expose-gc', host]
  const measured = async (): Promise<Record<'written' | 'read', [number, number]>> => {
    const { stdout } = await promisify(execFile)(process.execPath, [...args, 'stream', makeSandbox().root, path])
    return JSON.parse(stdout) as Record<'written' | 'read', [number, number]>
  }
  const isSmall = ({ written, read }: Awaited<ReturnType<typeof measured>>): boolean => written[1] < MAX_GROWTH && read[1] < MAX_GROWTH
  // What a collector has not come to is no growth: what is kept is there in each run.
  let run = await measured()
  // eslint-disable-next-line no-await-in-loop -- one after the other
  for (let more = 0; more < 2 && !isSmall(run); more += 1) run = await measured()
  const { written, read } = run
  expect([written[0], read[0]]).toEqual([CONTENT_BYTES, CONTENT_BYTES])
  expect({ written: written[1], read: read[1] }).toEqual({
    written: expect.toSatisfy((bytes: number) => bytes < MAX_GROWTH),
    read: expect.toSatisfy((bytes: number) => bytes < MAX_GROWTH),
  })
})

test('64 processes that ignore signals end with their host, which is killed', { timeout: 60_000 }, async () => {
  const mark = sleepingMark()
  const child = spawn(process.execPath, [host, 'spawn', makeSandbox().root, mark], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  await expect.poll(() => running(mark).length, { timeout: 10_000 }).toBeGreaterThanOrEqual(128)
  child.kill('SIGKILL')
  await once(child, 'exit')
  await expectGone(mark)
})
