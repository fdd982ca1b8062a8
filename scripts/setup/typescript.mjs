import { existsSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { bundleMcpProgram } from './mcp-program.mjs'
import { buildReportPage } from './report-page.mjs'
import { root, stampDir } from './paths.mjs'
import { run } from './run-command.mjs'
import { SetupError } from './setup-error.mjs'
import { bundleWorkers } from './workers.mjs'
import { clearStamp, hashInputs, readStamp, writeStamp } from './stamp.mjs'

const STAMP = 'typescript'
const dist = join(root, 'dist')
const hash = () => hashInputs(['ts', 'index.d.ts', 'tsconfig.json', 'package-lock.json'])

async function compile() {
  const inputs = hash()
  clearStamp(STAMP)
  // Compiled beside and swapped in: dist/ holds no leftovers of deleted modules, and a
  // failed compilation leaves the last good one in place.
  const fresh = join(stampDir, 'dist')
  rmSync(fresh, { recursive: true, force: true })
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const ended = await run('node', [tsc, '-p', 'tsconfig.json', '--outDir', fresh], {
    cwd: root,
    stdio: ['ignore', 2, 2],
  })
  if (ended.code !== 0) throw new SetupError('ts/ did not compile; the errors are above')
  await buildReportPage(fresh)
  await bundleWorkers(fresh)
  await bundleMcpProgram(fresh)
  rmSync(dist, { recursive: true, force: true })
  renameSync(fresh, dist)
  writeStamp(STAMP, inputs)
}

export const typescript = {
  name: 'typescript (tsc, the page of reports, the programs of threads and of the MCP server, dist)',
  forcible: true,
  isCurrent: () => existsSync(dist) && readStamp(STAMP) === hash(),
  run: compile,
}
