import { basename, dirname, relative } from 'node:path'
import { root } from '../setup/paths.mjs'
import { addCounts, noCounts } from './counts.mjs'
import { gathered, stream } from './stream.mjs'

const RESULT = /^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored;/

/** They start storms of processes, use up what there is of something, or look at how long it takes. */
const ALONE = new Set(['attacks', 'exec', 'sandbox'])
/** Of the others; most of them have threads that wait for each other. */
const TOGETHER = 3

/**
 * The Rust tests. The binding has none of its own: it is tested from JavaScript.
 *
 * cargo builds them and would run one program after the other, which takes half as long again.
 */
export async function runCargo({ env, filters, limitMs }) {
  const programs = []
  const build = ['test', '--workspace', '--exclude', 'toolwright', '--no-run', '--message-format=json-render-diagnostics']
  const { problem } = await stream('cargo', build, {
    env,
    limitMs,
    onLine(line) {
      const { reason, executable, manifest_path: manifest, target } = JSON.parse(line)
      if (reason !== 'compiler-artifact' || executable === null || !isTested(target)) return
      const folder = dirname(manifest)
      programs.push({ executable, folder, crate: basename(folder), name: relative(root, target.src_path) })
    },
    isShown: false,
  })
  if (problem !== undefined) return { counts: noCounts(), problem }
  const problems = []
  let counts = noCounts()
  const run = async ({ executable, folder, name }) => {
    const colour = process.stdout.isTTY ? ['--color', 'always'] : []
    const ended = await gathered(executable, [...colour, ...filters], { cwd: folder, env: { ...env, CARGO_MANIFEST_DIR: folder }, limitMs })
    process.stdout.write(`     Running ${name}\n${ended.output}`)
    const own = countResults(ended.output)
    counts = addCounts(counts, own)
    // A failed test is counted already.
    if (ended.problem !== undefined) {
      problems.push(`${name}: ${ended.problem}`)
      if (own.failed === 0) counts.failed += 1
    }
  }
  await each(programs.filter(({ crate }) => !ALONE.has(crate)), TOGETHER, run)
  await each(programs.filter(({ crate }) => ALONE.has(crate)), 1, run)
  return { counts, problem: problems.length === 0 ? undefined : problems.join(', ') }
}

/** Examples and benchmarks are built, and not run. */
const isTested = ({ kind, test }) => test && !kind.includes('example') && !kind.includes('bench')

function countResults(output) {
  let counts = noCounts()
  for (const line of output.split('\n')) {
    // oxlint-disable-next-line no-control-regex -- the colours of a terminal
    const match = RESULT.exec(line.replaceAll(/\u001b\[[\d;]*m/g, ''))
    if (match === null) continue
    const [passed, failed, skipped] = match.slice(1).map(Number)
    counts = addCounts(counts, { passed, failed, skipped })
  }
  return counts
}

/** Some at a time, in order. */
async function each(items, atOnce, work) {
  const rest = items.values()
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const item of rest) await work(item)
    }),
  )
}
