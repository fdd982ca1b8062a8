/** Calls `bash` with each of the hostile lines, under a prompt and a watchdog, and prints what became of them. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { commandWatchdog, createSession } from 'toolwright/contract'
import { hostileLines } from './hostile-lines.ts'

const workspace = mkdtempSync(join(tmpdir(), 'command-lines-'))
const session = await createSession({
  workspace,
  manifest: {
    name: 'test',
    requires: { shell: [{ cmd: '*' }] },
    permissions: [
      { permission: 'bash', pattern: '*', action: 'ask' },
      { permission: 'bash', pattern: 'rm *', action: 'deny' },
    ],
  },
  watchdog: commandWatchdog({ workspace: [workspace] }),
  // The line goes through all there is, and is not run.
  host: { prompt: () => ({ decision: 'reject_once' }) },
})
const results = []
for (const [, command] of hostileLines) {
  const before = process.cpuUsage()
  const { type } = await session.call('bash', { command })
  const { user, system } = process.cpuUsage(before)
  results.push({ type, cpuMs: (user + system) / 1000 })
}
await session.close()
rmSync(workspace, { recursive: true, force: true })
console.log(JSON.stringify(results))
