import { availableParallelism } from 'node:os'
import { dirname, relative } from 'node:path'
import { root } from '../setup/paths.mjs'
import { addCounts, noCounts } from './counts.mjs'
import { rustFailures } from './failures.mjs'
import { gathered, stream } from './stream.mjs'

const RESULT = /^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored;/

/** They start storms of processes, use up what there is of something, or look at how long it takes. */
const ALONE =
  /^crates\/(?:attacks|exec)\/|^crates\/sandbox\/src|^crates\/sandbox-program\/(?:src|tests\/(?:broker|limits\.|limits_groups|mounts_times))/
/** Of the others; most of the time they wait for the disk, or for each other. */
const TOGETHER = 4
/** Tests that run at once in programs that mostly wait for commands to end. */
const [WAITING, TESTS_AT_ONCE] = [/^crates\/exec\//, Math.max(4, availableParallelism())]

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
      const { reason, executable, manifest_path: manifest, target, profile } = JSON.parse(line)
      // A program is built as it is, too, for the tests that run it.
      if (reason !== 'compiler-artifact' || executable === null || !profile.test || !isTested(target)) return
      const folder = dirname(manifest)
      programs.push({ executable, folder, name: relative(root, target.src_path) })
    },
    isShown: false,
  })
  if (problem !== undefined) return { counts: noCounts(), problem }
  const problems = []
  const failures = []
  let counts = noCounts()
  const run = async ({ executable, folder, name }) => {
    const colour = process.stdout.isTTY ? ['--color', 'always'] : []
    const atOnce = WAITING.test(name) && { RUST_TEST_THREADS: String(TESTS_AT_ONCE) }
    const ended = await gathered(executable, [...colour, ...filters], {
      cwd: folder,
      env: { ...atOnce, ...env, CARGO_MANIFEST_DIR: folder },
      limitMs,
    })
    process.stdout.write(`     Running ${name}\n${ended.output}`)
    const own = countResults(ended.output)
    counts = addCounts(counts, own)
    // A failed test is counted already.
    if (ended.problem !== undefined) {
      problems.push(`${name}: ${ended.problem}`)
      failures.push(...rustFailures(name, ended.output))
      if (own.failed === 0) counts.failed += 1
    }
  }
  await each(
    programs.filter(({ name }) => !ALONE.test(name)),
    TOGETHER,
    run,
  )
  await each(
    programs.filter(({ name }) => ALONE.test(name)),
    1,
    run,
  )
  // The examples in documentation have no programs of their own: cargo compiles and runs them.
  if (filters.length === 0) {
    const documented = ['test', '--doc', '--workspace', '--exclude', 'toolwright', '--quiet']
    const ended = await gathered('cargo', documented, { cwd: root, env, limitMs })
    process.stdout.write(`     Running examples in documentation\n${ended.output}`)
    const own = countResults(ended.output)
    counts = addCounts(counts, own)
    if (ended.problem !== undefined) {
      problems.push(`documentation: ${ended.problem}`)
      failures.push(...rustFailures('documentation', ended.output))
      if (own.failed === 0) counts.failed += 1
    }
  }
  return { counts, failures, problem: problems.length === 0 ? undefined : problems.join(', ') }
}

/** Examples and benchmarks are built, and not run. */
const isTested = ({ kind, test }) => test && !kind.includes('example') && !kind.includes('bench')

export function countResults(output) {
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
