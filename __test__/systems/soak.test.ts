// The mixed soak, for seconds instead of half an hour: that it works, and that nothing is left after it.
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'

const soak = fileURLToPath(new URL('../../scripts/soak/mixed.mjs', import.meta.url))
const KINDS = ['read', 'write', 'edit', 'grep', 'bash', 'isolated', 'timedOut', 'aborted', 'streamed', 'session', 'task']

test.skipIf(process.platform !== 'linux').each(['node', 'bun'])(
  'all kinds of calls at once leave nothing in %s',
  async (runtime) => {
    const folder = mkdtempSync(join(tmpdir(), 'soak-test-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const samples = join(folder, 'samples.json')
    const args = [soak, '--runtime', runtime, '--seconds', '6', '--every', '2', '--samples', samples]
    const ran = await promisify(execFile)('node', args).catch((error: { stdout: string }) => error)
    const { results } = JSON.parse(readFileSync(samples, 'utf8'))
    expect(results).toHaveLength(1)
    const [{ calls, errors, samples: taken, before, after, ended }] = results
    expect({ errors, ended }).toEqual({ errors: [], ended: 0 })
    for (const kind of KINDS) expect(calls[kind].count, kind).toBeGreaterThan(0)
    expect(taken.length).toBeGreaterThan(0)
    expect(taken[0]).toMatchObject({ rssMb: expect.any(Number), descriptors: expect.any(Number), wallMs: { p99: expect.any(Number) } })
    expect(after.descriptors).toBeLessThanOrEqual(before.descriptors + 16)
    expect(after.children).toBe(0)
    // How long the event loop does not turn is for a quiet machine to say.
    expect(ran.stdout).toMatch(/^ {2}event loop +(?:ok|not judged|FAILED) +by the clock p50 /mu)
    expect(ran.stdout).toMatch(/^ {2}memory +not judged /mu)
  },
  120_000,
)

test('what makes no sense is refused', async () => {
  const failure = await promisify(execFile)('node', [soak, '--seconds', 'none']).catch((error: unknown) => error)
  expect(failure).toMatchObject({ code: 2, stderr: expect.stringMatching(/--seconds is a number above 0/u) as string })
})
