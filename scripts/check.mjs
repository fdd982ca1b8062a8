// Everything that CI runs, in the order in which it fails soonest.
// It starts before anything is installed, so it uses Node's own modules only.
import { spawn, spawnSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import { createInterface } from 'node:readline'
import { addCounts, formatCounts, noCounts, parseCounts } from './test/counts.mjs'
import { FAILURE } from './test/failures.mjs'
import { root } from './setup/paths.mjs'
import { environment } from './setup/run-command.mjs'

const HELP = `Usage: npm run check -- [--only STEP] [--verbose]

Runs what CI runs: formatting, lints, types, unused exports, commits, layout, docs, requirements and code blocks, the packages'
metadata, the native surface, the fuzz targets, the tests and the packages. All steps run, also after one has
failed, but none when the setup fails.

  --only STEP   run one step (repeatable, or a,b)
  --verbose     show the output of the steps that pass, too
  --help        show this text

The seed of randomised tests is that of the commit, so that a commit is judged alike wherever it is checked.
TOOLWRIGHT_SEED=N chooses another.
`

/** `counts`: the last line of the step's output is a count. `streams`: shown as it comes. */
const setup = { name: 'setup', command: ['node', 'scripts/setup.mjs'], streams: true }
const steps = [
  { name: 'rustfmt', command: ['cargo', 'fmt', '--all', '--check'] },
  { name: 'oxfmt', command: ['oxfmt', '--check', '.'] },
  { name: 'typos', command: ['node', 'scripts/check-typos.mjs'] },
  { name: 'oxlint', command: ['oxlint', '--deny-warnings'] },
  { name: 'types', command: ['tsc', '-p', 'tsconfig.check.json'] },
  { name: 'types-page', command: ['tsc', '-p', 'ts/report/page/tsconfig.json'] },
  { name: 'exports', command: ['knip', '--no-progress'] },
  { name: 'commits', command: ['node', 'scripts/check-commits.mjs'] },
  { name: 'layout', command: ['node', 'scripts/check-layout.mjs'] },
  { name: 'docs', command: ['node', 'scripts/check-docs.mjs'] },
  { name: 'requirements', command: ['node', 'scripts/check-requirements.mjs'] },
  { name: 'code-blocks', command: ['node', 'scripts/check-code-blocks.mjs'] },
  { name: 'deny', command: ['node', 'scripts/check-deny.mjs'] },
  { name: 'metadata', command: ['node', 'scripts/check-metadata.mjs'] },
  { name: 'surface', command: ['node', 'scripts/check-surface.mjs'] },
  {
    name: 'clippy',
    command: ['cargo', 'clippy', '--workspace', '--exclude', 'toolwright', '--all-targets', '--quiet', '--', '-D', 'warnings'],
  },
  {
    // The binding has no tests in Rust, and without its exports every item of it is unused.
    name: 'clippy-addon',
    command: ['cargo', 'clippy', '-p', 'toolwright', '--lib', '--quiet', '--', '-D', 'warnings'],
  },
  {
    // Fuzzing needs nightly, but the targets compile with the pinned toolchain.
    name: 'fuzz',
    command: ['cargo', 'check', '--manifest-path', 'fuzz/Cargo.toml', '--bins', '--target-dir', 'target', '--quiet'],
  },
  { name: 'test', command: ['npm', 'test', '--silent'], counts: true, streams: true },
  { name: 'package', command: ['node', 'scripts/check-package.mjs'], counts: true },
]

const seconds = (since) => `${((performance.now() - since) / 1000).toFixed(1)} s`

function runStep({ command: [program, ...args], counts, streams }, env) {
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd: root, env, stdio: ['ignore', 'pipe', streams ? 'inherit' : 'pipe'] })
    const output = []
    let found
    const take = (line) => {
      output.push(line)
      if (streams) console.log(line)
    }
    createInterface({ input: child.stdout }).on('line', (line) => {
      take(line)
      if (counts) found = parseCounts(line) ?? found
    })
    if (!streams) createInterface({ input: child.stderr }).on('line', take)
    child.on('error', (error) => resolve({ ok: false, output: [`${program}: ${error.message}`], found }))
    child.on('close', (code) => resolve({ ok: code === 0, output, found }))
  })
}

/** Another one for each commit; without git, for each run. */
function seedOfCommit() {
  const { stdout } = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' })
  const digits = /^[0-9a-f]{7}/u.exec(stdout ?? '')?.[0]
  return String(digits === undefined ? Math.floor(Math.random() * 2 ** 31) : Number.parseInt(digits, 16))
}

async function main({ only, verbose }) {
  const chosen = [setup, ...steps.filter(({ name }) => only === undefined || only.includes(name))]
  const seed = process.env.TOOLWRIGHT_SEED ?? seedOfCommit()
  const env = { ...environment(), TOOLWRIGHT_SEED: seed }
  if (process.stdout.isTTY) env.FORCE_COLOR ??= '1' // the steps write into a pipe
  console.log(`check  TOOLWRIGHT_SEED=${seed}`)

  let total = noCounts()
  const rows = []
  const said = []
  for (const step of chosen) {
    if (step.streams) console.log(`check  ${step.name} …`)
    else process.stdout.write(`check  ${step.name} … `)
    const start = performance.now()
    const { ok, output, found } = await runStep(step, env)
    const skipped = output.find((line) => line.startsWith('skipped: '))
    const verdict = `${ok ? (skipped ?? 'ok') : 'FAILED'} ${seconds(start)}`
    console.log(step.streams ? `check  ${step.name} … ${verdict}` : verdict)
    if (!step.streams && (verbose || !ok)) console.log(output.map((line) => `    ${line}`).join('\n'))
    if (step.counts) {
      // A step that dies before it has counted must still show up in the sum.
      const counts = found ?? noCounts()
      if (!ok && counts.failed === 0) counts.failed = 1
      total = addCounts(total, counts)
    }
    const detail = found === undefined ? '' : `  ${formatCounts(found)}`
    said.push(...output.filter((line) => line.startsWith(FAILURE)))
    rows.push({ ok, text: `check  ${step.name.padEnd(12)} ${verdict}${detail}` })
    if (step === setup && !ok) {
      total.failed = 1 // nothing else can run
      break
    }
  }

  const failed = rows.filter(({ ok }) => !ok).length
  const outcome = failed === 0 ? 'all steps passed' : `${failed} of ${rows.length} steps failed`
  const texts = [...rows.map(({ text }) => text), ...(said.length === 0 ? [] : ['', ...said])]
  console.log(`\n${texts.join('\n')}\n\ncheck  ${outcome}`)
  if (total.failed > 0 || chosen.some(({ counts }) => counts)) console.log(formatCounts(total))
  process.exitCode = failed === 0 ? 0 : 1
}

function readArguments() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true },
      verbose: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  const only = values.only?.flatMap((names) => names.split(','))
  const unknown = only?.find((name) => steps.every((step) => step.name !== name))
  if (unknown !== undefined) {
    throw new TypeError(`no step ${unknown}: choose from ${steps.map(({ name }) => name).join(', ')}`)
  }
  return { only, verbose: values.verbose, help: values.help }
}

try {
  const options = readArguments()
  if (options.help) process.stdout.write(HELP)
  else await main(options)
} catch (error) {
  if (!(error instanceof TypeError)) throw error
  console.error(`check  ${error.message}; see --help`)
  process.exitCode = 2
}
