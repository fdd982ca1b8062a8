// docs/decisions/2026-11-22-commands-share-a-session.md
import { createTools, sandboxReport } from 'toolwright'
import { expect, test } from 'vitest'
import { makeSandbox } from '../support/sandbox.ts'

const report = await sandboxReport()
const isHeld = process.platform === 'linux' && report.processKill.mechanism.includes('process namespace')

test.skipIf(!isHeld)('a command leads its group, and a session that has a terminal or a share of its own is not its', async () => {
  const fixture = makeSandbox()
  const { bash } = createTools({ rootDir: fixture.root })
  const call = async (id: number) => {
    const stat = String(await bash.execute({ cmd: 'cat', args: ['/proc/self/stat'] }, { toolCallId: `call-${id}` }))
    const [, pid, group, session, terminal] = /^(\d+) \(cat\) R \d+ (\d+) (\d+) (\d+) /u.exec(stat) ?? []
    expect(group).toBe(pid)
    expect([session, terminal]).toEqual(['0', '0'])
  }
  await Promise.all([1, 2, 3, 4].map(call))
})
