import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openJournal, runTask } from 'toolwright'
import { expect, test } from 'vitest'
import { startScript } from '../support/child-script.ts'
import { makeSandbox } from '../support/sandbox.ts'

const program = fileURLToPath(new URL('protected-process.ts', import.meta.url))

test.each([
  ['a process that ended', 'finished', [true, true]],
  ['a process that was killed after it had read its key', 'read', [true, true]],
  ['a process that was killed before it had read its key', 'unread', [true, false]],
] as const)('what %s has read protects in another process, and nothing else does', async (_, point, areProtected) => {
  const file = join(makeSandbox().outside, 'runs.db')
  expect(await startScript(program, [`file:${file}`, point]).ended).toMatchObject(
    point === 'finished' ? { code: 0 } : { signal: 'SIGKILL' },
  )
  await using journal = await openJournal(`file:${file}`)
  const retried = await runTask({ journal, runId: 'run', nodeId: 'node', onReplayUnsafe: 'refuse' }, () => 'made').catch(
    (error: { code: string; details: object }) => [error.code, error.details],
  )
  const rows = await journal.listToolCalls('run', 'node', 0)
  expect(rows.map((row) => row.acceptsIdempotencyKey)).toEqual(areProtected)
  if (areProtected[1]) expect(retried).toBe('made')
  else expect(retried).toMatchObject(['REPLAY_UNSAFE', { effects: [{ toolName: 'pay', seq: 2, status: 'unknown' }] }])
})
