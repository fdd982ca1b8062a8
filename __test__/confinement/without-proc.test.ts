import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { startScript } from '../support/child-script.ts'
import { makeSandbox } from '../support/sandbox.ts'

const script = fileURLToPath(new URL('without-proc-process.ts', import.meta.url))
const unmount = 'mount -t tmpfs none /proc'
const mounts = spawnSync('unshare', ['-rm', 'sh', '-c', unmount]).status === 0

// Bun itself loads no module without /proc.
test.skipIf(!mounts || 'bun' in process.versions)('a call that needs /proc says that it is not mounted, and blames no path', async () => {
  const fixture = makeSandbox()
  fixture.put('here.txt', 'here\n')
  const under = ['unshare', '-rm', 'sh', '-c', `${unmount} && exec "$@"`, 'sh']
  const { stdout, stderr } = await startScript(script, [fixture.root], under).ended
  const lines = stdout.trimEnd().split('\n')
  expect(
    lines.map((line) => line.split(' ')[0]),
    stderr,
  ).toEqual(['read', 'write', 'edit', 'grep', 'bash'])
  for (const line of lines.filter((each) => !each.endsWith(' ok'))) {
    expect(line).toMatch(/^\w+ TOOL_\w+ The file system \/proc is not mounted: /)
    expect(line).toContain('Have the host mount /proc where it runs; no path is at fault.')
    expect(line).not.toContain('not found')
  }
  expect(lines.some((line) => line.startsWith('bash TOOL_'))).toBe(true)
})
