// Reads a long output by sequence into one piece of memory, and prints its hash, its length and how much more memory that took.
import { createHash } from 'node:crypto'
import { startProcess } from '../../dist/core/kept-process.js'
import { planCommand } from '../../dist/toolkit/tools/call-plan.js'
import { resolveSettings } from '../../dist/toolkit/settings.js'

const [root = '', last = ''] = process.argv.slice(2)
const tools = { rootDir: root }

async function read(upTo: string): Promise<{ sha256: string; bytes: number; most: number }> {
  const plan = planCommand({ cmd: 'seq', args: ['1', upTo] }, { settings: resolveSettings(undefined, tools, 'bash') }, tools)
  const source = await startProcess(
    plan.limits,
    (addon, keep, cancel) => addon.startProcess(plan.settings(addon), plan.command, keep, cancel),
    { holds: true, headBytes: 0, tailBytes: 1 << 20 },
  )
  const hash = createHash('sha256')
  const memory = new Uint8Array(262_144)
  let [from, most] = [0, 0]
  for (;;) {
    const { at, length, isEnded } = await source.readInto(memory, { from, waitMs: Infinity })
    if (at !== from) throw new Error(`${at - from} bytes are missing`)
    hash.update(memory.subarray(0, length))
    from += length
    most = Math.max(most, process.memoryUsage.rss())
    if (isEnded) return { sha256: hash.digest('hex'), bytes: from, most }
  }
}

// What the runtime and the workers need anyhow.
await read('2000000')
const before = process.memoryUsage.rss()
const { most, ...result } = await read(last)
process.stdout.write(`${JSON.stringify({ ...result, grown: most - before })}\n`)
