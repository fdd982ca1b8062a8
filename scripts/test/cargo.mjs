import { addCounts, noCounts } from './counts.mjs'
import { stream } from './stream.mjs'

const RESULT = /^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored;/

/** The Rust tests. The binding has none of its own: it is tested from JavaScript. */
export async function runCargo({ env, filters, limitMs }) {
  let counts = noCounts()
  const args = ['test', '--workspace', '--exclude', 'toolwright', '--no-fail-fast']
  if (process.stdout.isTTY) args.push('--color', 'always')
  const { problem } = await stream('cargo', [...args, '--', ...filters], {
    env,
    limitMs,
    onLine(line) {
      // oxlint-disable-next-line no-control-regex -- cargo's own colours
      const match = RESULT.exec(line.replaceAll(/\u001b\[[\d;]*m/g, ''))
      if (match === null) return
      const [passed, failed, skipped] = match.slice(1).map(Number)
      counts = addCounts(counts, { passed, failed, skipped })
    },
  })
  return { counts, problem }
}
