import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const checkout = fileURLToPath(new URL('../..', import.meta.url))

/** The rehearsal of a release, without its registry. */
const rehearse = (...args: string[]): Promise<{ code: number; output: string }> =>
  new Promise((resolve) => {
    const command = ['scripts/release/rehearse.mjs', ...args]
    const child = execFile('node', command, { cwd: checkout, maxBuffer: 1 << 26 }, (_, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, output: stdout + stderr }),
    )
  })

const FAULTS = `missing-addon wrong-glibc missing-licence bad-types dead-link stray-file wrong-version no-integrity postinstall
  undeclared-peer`.split(/\s+/u)

describe('a rehearsal of a release', () => {
  test('passes for the packages of this checkout, and finds each of ten faults in a copy of them', async () => {
    const { code, output } = await rehearse('--checks', '--fresh')
    expect({ code, end: output.trim().split('\n').at(-1) }).toEqual({ code: 0, end: expect.stringMatching(/^\d+ passed, 0 failed/u) })
    for (const fault of FAULTS) expect(output).toMatch(new RegExp(`planted: ${fault} … ok .*: \\S`, 'u'))
  }, 300_000)

  test.each(['dead-link', 'postinstall'])(
    'fails for a fault that is planted: %s',
    async (fault) => {
      const { code, output } = await rehearse('--plant', fault)
      expect({ code, output }).toMatchObject({ code: 1, output: expect.stringMatching(/passed, 1 failed\n$/u) })
    },
    120_000,
  )

  test('says which faults there are', async () => {
    const { code, output } = await rehearse('--plant', 'nothing')
    expect({ code, output }).toMatchObject({ code: 2, output: expect.stringContaining(FAULTS.join(', ')) })
  }, 120_000)
})
