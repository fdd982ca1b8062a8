// One process of the mixed soak. It makes calls for a given time, then is idle, and writes down what it used.
// mixed.mjs starts it with its settings as JSON.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeCalls } from './calls.mjs'
import { LoopMonitor, usage } from './monitor.mjs'

const { seconds, atOnce, idleSeconds, everySeconds, resultFile } = JSON.parse(process.argv[2])
const runtime = process.versions.bun === undefined ? `Node ${process.versions.node}` : `Bun ${process.versions.bun}`
const say = (text) => process.stderr.write(`soak  ${runtime}: ${text}\n`)

const folder = mkdtempSync(join(tmpdir(), 'toolwright-soak-'))
const result = { runtime, seconds, atOnce, samples: [], calls: {}, errors: [], errorCount: 0 }
const { kinds, close } = await makeCalls(folder)
const names = Object.keys(kinds)
let number = 0

async function callOnce(kind) {
  const began = performance.now()
  number += 1
  const own = (result.calls[kind] ??= { count: 0, worstMs: 0 })
  try {
    await kinds[kind](number)
  } catch (error) {
    result.errorCount += 1
    if (result.errors.length < 20) result.errors.push(`${kind}: ${error?.stack ?? error}`)
  }
  own.count += 1
  own.worstMs = Math.max(own.worstMs, Math.round(performance.now() - began))
}

// What is opened once and kept is no growth.
for (const kind of names) await callOnce(kind)
result.before = usage()

const monitor = new LoopMonitor()
const began = performance.now()
const elapsed = () => (performance.now() - began) / 1000
const sampling = setInterval(() => {
  const sample = { at: Math.round(elapsed()), calls: number, errors: result.errorCount, ...usage(), ...monitor.window() }
  result.samples.push(sample)
  writeFileSync(resultFile, JSON.stringify(result))
  say(
    `${sample.at} s, ${number} calls, ${sample.errors} errors, ${sample.rssMb} MB, ${sample.descriptors} descriptors, delay p99 ${sample.wallMs.p99} ms`,
  )
}, everySeconds * 1000)

/** One of those that call without a pause; each begins with another kind. */
async function lane(first) {
  for (let turn = first; elapsed() < seconds; turn += 1) await callOnce(names[turn % names.length])
}
await Promise.all(Array.from({ length: atOnce }, (_, index) => lane(index)))
clearInterval(sampling)
result.loop = monitor.stop()
result.tookSeconds = Number(elapsed().toFixed(1))
result.last = usage()

// What waits for more commands leaves by itself.
say(`${number} calls, ${result.errorCount} errors; idle for ${idleSeconds} s`)
await close()
await sleep(idleSeconds * 1000)
globalThis.gc?.()
result.after = usage()
rmSync(folder, { recursive: true, force: true })
writeFileSync(resultFile, JSON.stringify(result))
