// Runs the test suites one after the other and sums them up in one closing line.
import { parseArgs } from 'node:util'
import { addCounts, formatCounts, noCounts } from './test/counts.mjs'
import { runCargo } from './test/cargo.mjs'
import { FAILURE } from './test/failures.mjs'
import { runVitest } from './test/vitest.mjs'

const HELP = `Usage: npm test -- [options] [filter …]

Runs the Rust tests with cargo, then the tests in __test__ under Node and under Bun.
A filter is a part of a test file's path for Node and Bun, and of a test's name for cargo.

  --only SUITE   run one suite: cargo, node, bun, systems or systems-bun (repeatable, or a,b)
  --soak         ten times the repetitions (TOOLWRIGHT_SOAK_FACTOR=10)
  --help         show this text

Environment:
  TOOLWRIGHT_SEED          seed of the randomised tests; a run prints the one it used
  TOOLWRIGHT_SOAK_FACTOR   multiplies the repetitions; 1 unless set
  TOOLWRIGHT_TEST_POSTGRES version of the servers of the systems tests: 15, 18; the newest in Node and the oldest in Bun unless set
`

const suites = {
  cargo: { title: 'cargo', run: runCargo },
  node: { title: 'node', run: (options) => runVitest({ ...options, runtime: 'node' }) },
  bun: { title: 'bun', run: (options) => runVitest({ ...options, runtime: 'bun' }) },
  systems: {
    title: 'systems',
    run: (options) => runVitest({ ...options, runtime: 'node', systems: true }),
  },
  'systems-bun': {
    title: 'attacks on the sandbox, PostgreSQL and durable engines, under Bun',
    run: (options) => runVitest({ ...options, runtime: 'bun', systems: true }),
  },
}
/** The systems suites need programs that npm and cargo do not bring, or much time. */
const BY_DEFAULT = ['cargo', 'node', 'bun']

function readArguments() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      only: { type: 'string', multiple: true },
      soak: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  // `npm run test:systems -- --only systems` names a suite twice.
  const chosen = [...new Set(values.only?.flatMap((names) => names.split(',')) ?? BY_DEFAULT)]
  const unknown = chosen.find((name) => !Object.hasOwn(suites, name))
  if (unknown !== undefined) {
    throw new TypeError(`no suite ${unknown}: choose from ${Object.keys(suites).join(', ')}`)
  }
  return { chosen, filters: positionals, soak: values.soak, help: values.help }
}

const seconds = (since) => `${((performance.now() - since) / 1000).toFixed(1)} s`

async function main({ chosen, filters, soak }) {
  // A soak looks for what the everyday run has not seen, so it starts somewhere else each time.
  const seed = process.env.TOOLWRIGHT_SEED ?? (soak ? String(Math.floor(Math.random() * 2 ** 31)) : '1')
  const factor = process.env.TOOLWRIGHT_SOAK_FACTOR ?? (soak ? '10' : '1')
  const env = {
    ...process.env,
    TOOLWRIGHT_SEED: seed,
    TOOLWRIGHT_SOAK_FACTOR: factor,
    PROPTEST_RNG_SEED: seed,
  }
  // For what never ends: a busy machine takes twice as long as a quiet one. Systems tests kill hundreds of processes, one after the other.
  const limitMs = 30 * 60_000 * Math.max(1, Number(factor))
  console.log(`test  TOOLWRIGHT_SEED=${seed} TOOLWRIGHT_SOAK_FACTOR=${factor}`)

  let total = noCounts()
  const summary = []
  const said = []
  for (const name of chosen) {
    const { title, run } = suites[name]
    const start = performance.now()
    console.log(`\ntest  ${title}`)
    const { counts, failures = [], problem } = await run({ env, filters, limitMs: name.startsWith('systems') ? 3 * limitMs : limitMs })
    // A suite that breaks off must not pass for want of a failed test.
    if (problem !== undefined) counts.failed += counts.failed === 0 ? 1 : 0
    total = addCounts(total, counts)
    said.push(...failures.map((line) => `${FAILURE}${line}`))
    const reason = problem === undefined ? '' : `  (${problem})`
    summary.push(`test  ${title.padEnd(8)} ${formatCounts(counts)}  ${seconds(start)}${reason}`)
  }
  if (total.passed + total.failed === 0) {
    total.failed = 1
    summary.push('test  no test was run')
  }
  console.log(`\n${[...said, ...summary].join('\n')}\n\n${formatCounts(total)}`)
  process.exitCode = total.failed === 0 ? 0 : 1
}

try {
  const options = readArguments()
  if (options.help) process.stdout.write(HELP)
  else await main(options)
} catch (error) {
  if (!(error instanceof TypeError)) throw error
  console.error(`test  ${error.message}; see --help`)
  process.exitCode = 2
}
