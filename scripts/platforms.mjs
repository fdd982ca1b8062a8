// Builds the packages of all platforms, runs them on other kernels, processors and in containers, and compares what the
// report of the sandbox says with what happens there. See HELP.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { cache, Skipped } from './platforms/cache.mjs'
import { isBuilt } from './platforms/build.mjs'
import { hasShown, recalled, remembered } from './platforms/memory.mjs'
import { packageOf } from './platforms/packages.mjs'
import { ROWS } from './platforms/rows.mjs'
import { attacksTable, packagesTable, promisesTable, withTables } from './platforms/table.mjs'
import { root } from './setup/paths.mjs'

const HELP = `Usage: npm run test:platforms -- [options]

Builds the addons of all six packages, and runs the packed package in machines with Debian's kernels (x64 and arm64, glibc
and musl, in emulation), in containers with Docker's default profile, and on an arm64 processor in emulation on this kernel.
Each attack, those of the confinement suites too, is tried without the sandbox, where it has to work, and in it. It fails if the report of the sandbox claims
more than what holds, or says something else than is expected there. For macOS everything is compiled and linked, every
type is checked, and the rules of its sandbox are tested as the text that they are.

What is missing on this machine skips a row, with the reason. Downloads and everything that is made are kept in
.cache/platforms, and so is what a row has shown: it runs again when what it depends on has changed, and a run that was
ended goes on where it stopped.

  --only NAME   the row NAME, or if there is none the rows whose names have NAME as a part (repeatable)
  --all         also the rows that take the whole beyond 25 minutes on two processors: attacks, suites, crates, linux-6.12-no-cgroups
  --fresh       run rows again whose inputs are the same
  --list        list the names of all rows
  --write       write the tables of docs/platforms.md, with what rows that were not wanted have shown for this source
  --json FILE   write all results
  --help        show this text

Needs apt-get and python3 with pip, qemu, cpio and, for the containers, root and dockerd:
  apt-get install qemu-system-x86 qemu-system-arm qemu-user-static seabios cpio docker.io \\
    gcc-aarch64-linux-gnu libc6-dev-arm64-cross

The last line is 'N passed, N failed, N skipped'; the exit code is 1 if something failed or nothing passed.
`

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    all: { type: 'boolean' },
    fresh: { type: 'boolean' },
    list: { type: 'boolean' },
    write: { type: 'boolean' },
    json: { type: 'string' },
    help: { type: 'boolean' },
  },
})
if (values.help || values.list) {
  process.stdout.write(values.help ? HELP : ROWS.map(({ name }) => `${name}\n`).join(''))
  process.exit(0)
}
const isRow = (part) => ROWS.some(({ name }) => name === part)
const isNamed = ({ name }) => values.only.some((part) => (isRow(part) ? name === part : name.includes(part)))
const isChosen = (row) => (values.only === undefined ? values.all || !row.isLong : isNamed(row))
const say = (text) => process.stdout.write(`platforms  ${text}\n`)
const counts = { passed: 0, failed: 0, skipped: 0 }
/** What each row has come to, by its name. */
const outcomes = new Map()

/** Of this process and all that it has started, which says on any machine how long two free processors take. */
function processorSeconds() {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1).split(' ')
  // In hundredths: own, of the system, and both of children.
  return Math.round(fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100)
}

function outcomeOf(row, result, date) {
  const { checks, skipped = 0, failed, problems, promises, attacks } = row.judge(result)
  const missed = Math.min(checks, failed ?? problems.length)
  return { row, date, checks, missed, passed: checks - missed, skipped, problems, promises, attacks }
}

/** Of rows that were not wanted the tables keep what they have shown for this source. */
function recallOthers() {
  // To say what a row depends on builds its addon, which nobody has asked for.
  const isKnown = ({ name, platform, isMachine, isRun }) =>
    !outcomes.has(name) && hasShown(name) && (!(isMachine || isRun) || isBuilt(packageOf(platform)))
  for (const row of ROWS.filter(isKnown)) {
    const kept = recalled(row.name, row.inputs())
    if (kept !== undefined) outcomes.set(row.name, outcomeOf(row, kept.result, kept.date))
  }
}

async function run(row) {
  const { name } = row
  say(`${name} …`)
  try {
    const isGood = (result) => row.judge(result).problems.length === 0
    const { result, date, seconds, isKept } = await remembered(name, row.inputs(), {
      isFresh: values.fresh,
      isGood,
      run: row.run,
    })
    const outcome = outcomeOf(row, result, date)
    const { checks, missed, skipped, problems } = outcome
    counts.passed += checks - missed
    counts.failed += Math.max(missed, problems.length > 0 ? 1 : 0)
    counts.skipped += skipped
    const what = problems.length === 0 ? `ok, ${checks} checks` : 'FAILED'
    say(`${name} … ${what}${skipped > 0 ? `, ${skipped} skipped` : ''}, ${seconds} s${isKept ? ` on ${date}` : ''}`)
    for (const problem of problems) say(`  ${problem}`)
    outcomes.set(name, outcome)
  } catch (error) {
    const isSkipped = error instanceof Skipped
    counts[isSkipped ? 'skipped' : 'failed'] += 1
    say(`${name} … ${isSkipped ? 'skipped' : 'FAILED'}: ${error.message}`)
    outcomes.set(name, { row, date: new Date().toISOString().slice(0, 10), reason: error.message, isSkipped })
  }
}

mkdirSync(cache, { recursive: true })
const chosen = ROWS.filter(isChosen)
for (const row of chosen.filter(({ isMachine }) => !isMachine)) await run(row)
// Two at a time: each has two processors, and waits for much of its time.
const machines = chosen.filter(({ isMachine }) => isMachine).values()
const next = async () => {
  for (const row of machines) await run(row)
}
await Promise.all([next(), next()])

if (values.write) recallOthers()
const all = ROWS.filter(({ name }) => outcomes.has(name)).map(({ name }) => outcomes.get(name))
if (values.json) writeFileSync(values.json, JSON.stringify(all, null, 2))
if (values.write) {
  const page = join(root, 'docs/platforms.md')
  const tables = { packages: packagesTable(all), promises: promisesTable(all), attacks: attacksTable(all) }
  writeFileSync(page, withTables(readFileSync(page, 'utf8'), tables))
}
if (chosen.length > 0) say(`${Math.round(performance.now() / 1000)} s, ${processorSeconds()} s of processor time`)
process.stdout.write(`\n${packagesTable(all)}\n\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`)
process.exitCode = counts.failed > 0 || counts.passed === 0 ? 1 : 0
