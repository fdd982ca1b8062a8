import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeNpmProject, type NpmProject } from '../support/npm-project.ts'

const checkout = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)
let project: NpmProject

beforeAll(async () => {
  project = await makeNpmProject(['@vscode/ripgrep@1.18.0'])
}, 180_000)
afterAll(() => project?.remove())

test('grep finds and prints what ripgrep 15 does', async () => {
  const ask = 'import { rgPath } from "@vscode/ripgrep"; console.log(rgPath)'
  const rg = (await project.run(process.execPath, ['--input-type=module', '-e', ask])).trim()
  expect((await run(rg, ['--version'])).stdout).toMatch(/^ripgrep 15\./u)
  const suites = ['oracle', 'odd_trees']
  const { stdout, stderr } = await run('cargo', ['test', '-p', 'toolwright-search', ...suites.flatMap((suite) => ['--test', suite])], {
    cwd: join(checkout),
    env: { ...process.env, TOOLWRIGHT_RG: rg },
    maxBuffer: 1 << 26,
  })
  expect(stdout.match(/test result: ok\. [1-9]\d* passed; 0 failed; 0 ignored; 0 measured; 0 filtered out/gu)).toHaveLength(suites.length)
  expect(stdout + stderr).not.toContain('skipped: TOOLWRIGHT_RG')
}, 600_000)
