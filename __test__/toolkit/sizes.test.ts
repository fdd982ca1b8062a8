import { execFile, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const host = fileURLToPath(new URL('sizes/host-process.ts', import.meta.url))
const inBun = process.versions['bun'] !== undefined

/** Runs a host of its own, since what it may not do is end. */
async function asked(flags: readonly string[], args: readonly string[]): Promise<{ requests: number; faults: string[] }> {
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, host, ...args], {
    maxBuffer: 1e8,
    env: { ...process.env, MALLOC_ARENA_MAX: '2' },
  })
  return JSON.parse(stdout) as { requests: number; faults: string[] }
}

test('every tool of every entry point answers numbers, texts and lists at, beside and far beyond each limit', async () => {
  const { requests, faults } = await asked([], [])
  expect(faults).toEqual([])
  expect(requests).toBeGreaterThan(900)
}, 600_000)

/*
 * What counts is what the process could write to, RLIMIT_DATA, set from inside on top of what it has then. RLIMIT_AS would say
 * nothing: Node has reserved 1.3 GB of addresses when it begins and Bun 6 GB, of which they use little, and both reserve
 * more for each thread. Garbage is collected before each request, since no runtime knows of such a limit.
 * Node's engine ends the process when it cannot commit memory for its own objects: it is told to make do with 96 MB.
 */
test.skipIf(process.platform !== 'linux' || spawnSync('prlimit', ['--version']).error !== undefined)(
  'a host in 256 MB answers the fifty largest requests of every tool, and goes on',
  async () => {
    const flags = inBun ? ['--smol'] : ['--expose-gc', '--max-old-space-size=96', '--max-semi-space-size=4']
    const { requests, faults } = await asked(flags, [String(256 * 1024 * 1024), '50'])
    expect(faults).toEqual([])
    expect(requests).toBeGreaterThan(500)
  },
  600_000,
)
