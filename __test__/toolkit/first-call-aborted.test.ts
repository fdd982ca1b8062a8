import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { startScript } from '../support/child-script.ts'
import { makeSandbox } from '../support/sandbox.ts'

const script = fileURLToPath(new URL('first-call-aborted-process.ts', import.meta.url))

// How long loading takes differs: one of these moments lies within it.
const moments = [0, 1, 2, 4].flatMap((ms) => [['call', ms] as const, ['stream', ms] as const])

test.each(moments)('an abort while the addon is loaded stops the first %s of a process (after %i ms)', async (kind, ms) => {
  const started = performance.now()
  const { stdout, stderr } = await startScript(script, [makeSandbox().root, kind, String(ms)]).ended
  expect({ stdout, stderr }).toEqual({ stdout: 'AbortError\n', stderr: '' })
  expect(performance.now() - started).toBeLessThan(20_000)
})
