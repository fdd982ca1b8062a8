import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { startScript } from '../support/child-script.ts'
import { makeSandbox } from '../support/sandbox.ts'
import { programs } from './stage/programs.ts'

const script = fileURLToPath(new URL('refused-write-process.ts', import.meta.url))

test.skipIf(process.platform !== 'linux').each([
  ['mounts', undefined, /Read-only file system/u],
  ['Landlock alone', 'namespaces', /Permission denied/u],
])('a write that %s refuses is explained as the sandbox', async (_layer, denied, words) => {
  const under = denied === undefined ? [] : [(await programs()).deny, denied, '--']
  const { stdout } = await startScript(script, [makeSandbox().root], under).ended
  expect(stdout).toMatch(words)
  expect(stdout).toContain('This may be the sandbox: only the root directory and the temporary directory can be written; work there')
})
