import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startScript } from '../../../support/child-script.ts'
import { hostileLines } from './hostile-lines.ts'

/** In a process of its own, since a line that ends the host would end the test with it. */
const script = join(import.meta.dirname, 'command-lines-script.ts')
/** What a call of `bash` may keep the event loop, in ms of the processor's time: measured, it is below 50. */
const MOST_CPU_MS = 500

test('no command line ends the host, or keeps its event loop', async () => {
  const { code, signal, stdout, stderr } = await startScript(script, []).ended
  expect({ code, signal, stderr }).toEqual({ code: 0, signal: null, stderr: '' })
  const results = JSON.parse(stdout) as { type: string; cpuMs: number }[]
  expect(results).toHaveLength(hostileLines.length)
  for (const [index, [name]] of hostileLines.entries()) {
    expect(results[index]?.type, name).toMatch(/^(?:output|error)$/u)
    expect(results[index]?.cpuMs, name).toBeLessThan(MOST_CPU_MS)
  }
}, 60_000)
