import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { binDir, root } from '../setup/paths.mjs'
import { noCounts } from './counts.mjs'
import { vitestFailures } from './failures.mjs'
import { stream } from './stream.mjs'

const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')

/** Without --bun, Bun hands vitest to Node because of its `#!/usr/bin/env node`. */
const runtimes = {
  node: [join(binDir, 'node')],
  bun: [join(binDir, 'bun'), '--bun'],
}

function countFile({ status, assertionResults }) {
  const counts = noCounts()
  let unfinished = status === 'failed' && assertionResults.length === 0
  for (const { status: outcome } of assertionResults) {
    if (outcome === 'passed') counts.passed += 1
    else if (outcome === 'failed') counts.failed += 1
    else if (outcome === 'pending') unfinished = true
    else counts.skipped += 1 // skipped, todo, disabled
  }
  // Tests still pending at the end mean that the worker died under them.
  if (unfinished) counts.failed += 1
  return counts
}

export function countReport(report) {
  const counts = noCounts()
  for (const file of report.testResults) {
    const one = countFile(file)
    for (const kind of Object.keys(counts)) counts[kind] += one[kind]
  }
  return counts
}

export async function runVitest({ runtime, env, filters, limitMs, systems = false }) {
  const folder = mkdtempSync(join(tmpdir(), 'toolwright-test-'))
  try {
    const reportFile = join(folder, 'report.json')
    const [program, ...prefix] = runtimes[runtime]
    const args = [vitest, 'run', '--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`]
    if (filters.length > 0) args.push('--passWithNoTests', ...filters)
    // Hundreds of processes load the same modules: Node compiles each of them once.
    const compiled = { NODE_COMPILE_CACHE: join(folder, 'compiled') }
    const { problem } = await stream(program, [...prefix, ...args], {
      env: { ...compiled, ...env, TOOLWRIGHT_TEST_RUNTIME: runtime, ...(systems && { TOOLWRIGHT_TEST_SYSTEMS: '1' }) },
      limitMs,
    })
    const report = JSON.parse(readFileSync(reportFile, 'utf8'))
    return { counts: countReport(report), failures: vitestFailures(report), problem }
  } catch (error) {
    return { counts: noCounts(), problem: `no test report: ${error.message}` }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
