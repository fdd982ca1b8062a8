// Makes all kinds of calls at once for a long time, in Node and in Bun, and says whether anything grows.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { binDir } from '../setup/paths.mjs'
import { IDLE_SECONDS, judge } from './verdicts.mjs'

const HELP = `Usage: npm run soak:mixed -- [options]

Makes eleven kinds of calls, 16 at a time: read, write, edit, grep; bash plain, isolated, timed out, aborted
and streamed; sessions of the contract with seven calls each, every other one with a journal; tasks with three
calls. Each answer is checked. Then nothing is done for a while, and what is left is compared with the beginning.
Memory is judged from ten minutes on. The event loop is judged by the clock, which needs a quiet machine; the
processor time of its thread is printed beside it.

  --seconds N      for how long, in each runtime (1800)
  --at-once N      how many calls at a time (16)
  --idle N         how long nothing is done then (${IDLE_SECONDS}); descriptors and processes are judged from ${IDLE_SECONDS} on
  --every N        seconds between two samples (10)
  --runtime NAME   node or bun (repeatable; both)
  --samples FILE   where all samples go, as JSON (soak-samples.json in the directory for temporary files)
  --help           show this text

The exit code is 1 when something does not hold.
`

const programs = { node: join(binDir, 'node'), bun: join(binDir, 'bun') }
const worker = fileURLToPath(new URL('worker.mjs', import.meta.url))

function readArguments() {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '1800' },
      'at-once': { type: 'string', default: '16' },
      idle: { type: 'string', default: String(IDLE_SECONDS) },
      every: { type: 'string', default: '10' },
      runtime: { type: 'string', multiple: true, default: ['node', 'bun'] },
      samples: { type: 'string', default: join(tmpdir(), 'soak-samples.json') },
      help: { type: 'boolean', default: false },
    },
  })
  const number = (name) => {
    const value = Number(values[name])
    if (!(value > 0)) throw new TypeError(`--${name} is a number above 0`)
    return value
  }
  const unknown = values.runtime.find((name) => !Object.hasOwn(programs, name))
  if (unknown !== undefined) throw new TypeError(`no runtime ${unknown}: node or bun`)
  const settings = { seconds: number('seconds'), atOnce: number('at-once'), idleSeconds: number('idle'), everySeconds: number('every') }
  return { settings, runtimes: values.runtime, samples: resolve(values.samples), help: values.help }
}

/** Runs one process to its end, however it ends. */
async function run(runtime, settings) {
  const folder = mkdtempSync(join(tmpdir(), 'toolwright-soak-'))
  const resultFile = join(folder, 'result.json')
  writeFileSync(resultFile, JSON.stringify({ runtime }))
  try {
    const child = spawn(programs[runtime], [worker, JSON.stringify({ ...settings, resultFile })], {
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    const ended = await new Promise((settle, fail) => {
      child.once('error', fail)
      child.once('exit', (code, signal) => settle(signal ?? code))
    })
    return { ...JSON.parse(readFileSync(resultFile, 'utf8')), ended }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function main({ settings, runtimes, samples }) {
  const results = []
  const summary = []
  let failed = false
  for (const runtime of runtimes) {
    const [before] = loadavg()
    const result = await run(runtime, settings)
    results.push({ ...result, loadBefore: before, loadAfter: loadavg()[0] })
    writeFileSync(samples, `${JSON.stringify({ format: 1, settings, results })}\n`)
    const rows = judge(result, settings)
    if (result.ended !== 0) rows.push({ name: 'end', verdict: 'FAILED', text: `the process ended with ${result.ended}` })
    failed ||= rows.some(({ verdict }) => verdict === 'FAILED')
    summary.push(`\n${result.runtime}: ${result.tookSeconds} s, ${settings.atOnce} at a time, load average ${before.toFixed(1)} before`)
    for (const [kind, { count, worstMs }] of Object.entries(result.calls ?? {}))
      summary.push(`  ${kind.padEnd(12)} ${String(count).padStart(8)} calls, longest ${worstMs} ms`)
    for (const { name, verdict, text } of rows) summary.push(`  ${name.padEnd(12)} ${verdict.padEnd(10)}  ${text}`)
  }
  console.log(summary.join('\n'))
  console.log(`\n${failed ? 'FAILED' : 'all that was judged holds'}; samples in ${samples}`)
  process.exitCode = failed ? 1 : 0
}

try {
  const options = readArguments()
  if (options.help) process.stdout.write(HELP)
  else await main(options)
} catch (error) {
  if (!(error instanceof TypeError)) throw error
  console.error(`soak  ${error.message}; see --help`)
  process.exitCode = 2
}
