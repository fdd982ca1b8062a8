// Runs the packed package on other kernels and in containers, and compares what the report of the sandbox says with what
// happens there. See HELP.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { cache, Skipped } from './platforms/cache.mjs'
import { withContainers } from './platforms/container.mjs'
import { kernel } from './platforms/debian.mjs'
import { expected } from './platforms/expected.mjs'
import { initialFileSystem, rootFolder } from './platforms/image.mjs'
import { boot } from './platforms/machine.mjs'
import { judge, read } from './platforms/results.mjs'
import { tableOf, withTable } from './platforms/table.mjs'
import { root } from './setup/paths.mjs'

const HELP = `Usage: npm run test:platforms -- [options]

Runs the packed package in machines with Debian's kernels, in emulation, and in containers with Docker's default
profile. Each attack is tried without the sandbox, where it has to work, and in it. It fails if the report of the sandbox
claims more than what holds, or says something else than is expected there. What is missing on this machine skips a
row, with the reason. Downloads and everything that is made are kept in .cache/platforms.

  --only NAME   rows whose name has NAME as a part (repeatable): 5.10, 6.1, 6.12, no-landlock, docker
  --write       write the table of docs/platforms.md
  --json FILE   write all results
  --help        show this text

Needs apt-get, qemu-system-x86_64, cpio and, for the containers, root and dockerd:
  apt-get install qemu-system-x86 seabios cpio docker.io

The last line is 'N passed, N failed, N skipped'; the exit code is 1 if something failed or nothing passed.
`

const MACHINES = [
  { name: 'linux-5.10', suite: 'bullseye' },
  { name: 'linux-6.1', suite: 'bookworm' },
  { name: 'linux-6.12', suite: 'trixie' },
  { name: 'linux-6.12-no-landlock', suite: 'trixie', parameters: 'lsm=capability,yama' },
]
const CONTAINERS = [
  { mode: 'root', options: [] },
  { mode: 'user', options: ['--user', '1000', '--security-opt', 'no-new-privileges'] },
  {
    mode: 'user, no capabilities, read-only',
    options: ['--user', '1000', '--cap-drop', 'ALL', '--read-only', '--tmpfs', '/tmp:exec,mode=1777'],
  },
  { mode: 'user, seccomp unconfined', options: ['--user', '1000', '--security-opt', 'seccomp=unconfined'] },
]

const { values } = parseArgs({
  options: { only: { type: 'string', multiple: true }, write: { type: 'boolean' }, json: { type: 'string' }, help: { type: 'boolean' } },
})
if (values.help) {
  process.stdout.write(HELP)
  process.exit(0)
}
const isChosen = (name) => values.only === undefined || values.only.some((part) => name.includes(part))
const say = (text) => process.stdout.write(`platforms  ${text}\n`)
const counts = { passed: 0, failed: 0, skipped: 0 }
const all = []

/** Counts a row's results: one for each attack, each line of the report, and each tool. */
function take(place, results) {
  for (const result of results) {
    const { checks, problems } = judge(place, result, expected[`${place}: ${result.mode}`])
    counts.passed += checks - problems.length
    counts.failed += problems.length
    say(`${place}: ${result.mode} … ${problems.length === 0 ? `ok, ${checks} checks` : 'FAILED'}`)
    for (const problem of problems) say(`  ${problem}`)
    all.push({ place, ...result })
  }
}

async function row(name, work) {
  const start = performance.now()
  say(`${name} …`)
  try {
    await work()
    say(`${name} … ${((performance.now() - start) / 1000).toFixed(0)} s`)
  } catch (error) {
    if (error instanceof Skipped) counts.skipped += 1
    else counts.failed += 1
    say(`${name} … ${error instanceof Skipped ? 'skipped' : 'FAILED'}: ${error.message}`)
  }
}

async function machine({ name, suite, parameters }, files) {
  await row(name, async () => {
    const log = await boot(name, { kernel: kernel(suite), files, parameters })
    take(name, read(log))
  })
}

mkdirSync(cache, { recursive: true })
const machines = MACHINES.filter(({ name }) => isChosen(name))
const folder = await rootFolder()
if (machines.length > 0) {
  await row('files of the machines', async () => {
    const files = initialFileSystem(folder)
    // Two at a time: each has two processors.
    const queue = [...machines]
    const next = async () => {
      for (let one = queue.shift(); one !== undefined; one = queue.shift()) await machine(one, files)
    }
    await Promise.all([next(), next()])
  })
}
if (isChosen('docker')) {
  await row('docker', () =>
    withContainers(folder, async (run) => {
      for (const { mode, options } of CONTAINERS) take('docker', read(run(mode, options)))
    }),
  )
}
if (values.json) writeFileSync(values.json, JSON.stringify(all, null, 2))
if (values.write) {
  const page = join(root, 'docs/platforms.md')
  writeFileSync(page, withTable(readFileSync(page, 'utf8'), tableOf(all)))
}
process.stdout.write(`\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`)
process.exitCode = counts.failed > 0 || counts.passed === 0 ? 1 : 0
