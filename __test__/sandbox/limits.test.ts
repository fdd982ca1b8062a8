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
  const { stdout } = await promisify(execFile)(process.execPath, [...args, 'stream', makeSandbox().root, path])
  const { written, read } = JSON.parse(stdout) as Record<'written' | 'read', [number, number]>
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
