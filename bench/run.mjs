// Measures the package against the programs it replaces and prints the table of goals.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { cacheDir } from '../scripts/setup/paths.mjs'
import { buildFingerprint } from './build.mjs'
import { buildFloor } from './floor.mjs'
import { chooseGoals } from './goals.mjs'
import { loadAverage, machineFacts } from './machine.mjs'
import { writePage } from './page.mjs'
import { installPeers } from './peers.mjs'
import { runGroup } from './processes.mjs'
import { stagePublished } from './published.mjs'
import { formatSum, formatTable } from './table.mjs'
import { judge } from './verdicts.mjs'
import { byProcess, workloads } from './workloads.mjs'

const HELP = `Usage: npm run bench -- [options]

Measures the tools of this package against those of smithers-orchestrator 0.32.0, fs.promises,
ripgrep, jsdiff and pi-natives, which are installed in .cache/bench. All of them run in turns in one
process, and the ratio of the medians is the result. What a peer answers is compared before it is
timed. Times are in milliseconds: median / minimum (10th–90th percentile). "floor" is an addon that does
nothing but start the program. A full run takes about five minutes, and 2 GB of disk for peers and trees,
which are kept.

  --quick       few rounds and small trees: does everything work? The numbers are rough
  --only NAME   rows whose id has NAME as a part: read, edit, grep, bun, exec-330 … (repeatable, or a,b)
  --json FILE   write all samples, and what is to be known of the machine
  --write       write the figures into docs/benchmarks.md
  --strict      exit code 1 when a row is below must
  --help        show this text

The exit code is 1 when something could not be run, and 0 otherwise: speed is no test.
`

const say = (text) => process.stderr.write(`bench  ${text}\n`)

function readArguments() {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true },
      json: { type: 'string' },
      write: { type: 'boolean', default: false },
      strict: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  return { ...values, goals: chooseGoals(values.only?.flatMap((names) => names.split(','))) }
}

async function main({ goals, quick, json, strict, write }) {
  const started = new Date()
  const loadBefore = loadAverage()
  const build = buildFingerprint()
  const cache = join(cacheDir, 'bench')
  const chosen = workloads.filter(({ id }) => goals.some(({ workload }) => workload === id))
  const peers = await installPeers(cache, say)
  if (chosen.some(({ hasFloor }) => hasFloor)) peers.floor = await buildFloor(cache, say)
  const published = chosen.some(({ isPublished }) => isPublished) ? await stagePublished(cache, say) : undefined
  const job = { extent: quick ? 'quick' : 'full', installed: peers, cache, published }

  const results = {}
  const processes = []
  for (const group of byProcess(chosen)) {
    const { results: some, ...facts } = await runGroup(group, job)
    Object.assign(results, some)
    processes.push({ ...group, ...facts })
  }

  const rows = goals.map((goal) => judge(goal, results, quick))
  const rebuilt = buildFingerprint() !== build
  const machine = { ...machineFacts(), loadBefore, loadAfter: loadAverage() }
  if (json !== undefined) {
    const report = { format: 1, quick, started, ended: new Date(), build, rebuilt, machine, peers, processes, rows, results }
    writeFileSync(json, `${JSON.stringify(report, null, 2)}\n`)
  }
  if (write) writePage({ rows, machine, started, quick })
  console.log(`\n${formatTable(rows)}\n\n${formatMachine(machine)}`)
  console.log(rebuilt ? `BUILD ${build} WAS REPLACED DURING THIS RUN: its rows are of two programs` : `build ${build}`)
  for (const line of sizes(processes)) console.log(line)
  for (const line of unavailable(processes)) console.log(line)
  console.log(`\n${formatSum(rows)}`)
  const fatal = (row) => row.verdict === 'FAILED' || (strict && row.verdict === 'BELOW MUST')
  process.exitCode = rows.some(fatal) ? 1 : 0
}

function formatMachine({ node, bun, platform, kernel, cpu, cpus, memoryMb, loadBefore, loadAfter }) {
  const load = `load average ${loadBefore.join(' ')} before, ${loadAfter.join(' ')} after`
  return `Node ${node}, Bun ${bun ?? 'none'}, ${platform} ${kernel}, ${cpus} x ${cpu}, ${memoryMb} MB\n${load}`
}

/** How large each process was while it measured. */
function sizes(processes) {
  return processes.map(({ runtime, ids, residentMb, endMb }) => `${runtime} of ${residentMb} MB, ${endMb} MB at the end: ${ids.join(', ')}`)
}

/** Each peer that some runtime had to do without, once. */
function unavailable(processes) {
  const lines = processes.flatMap(({ runtime, peers }) =>
    Object.entries(peers).map(([name, problem]) => `without ${name} in ${runtime}: ${problem}`),
  )
  return [...new Set(lines)]
}

let options
try {
  options = readArguments()
} catch (error) {
  if (!(error instanceof TypeError)) throw error
  console.error(`bench  ${error.message}; see --help`)
  process.exitCode = 2
}
if (options?.help) process.stdout.write(HELP)
else if (options) await main(options)
