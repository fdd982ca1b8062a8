import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openJournal } from 'toolwright'
import { expect, test } from 'vitest'
import { startScript } from '../support/child-script.ts'
import { codeBlocks } from '../support/code-blocks.ts'
import { makeFolder } from '../standard-agents/tool-folder.ts'

test('the program of the guide runs as it is printed', async () => {
  const [program, suite, ...others] = codeBlocks('journal.md')
  expect([program?.language, suite?.language, others]).toEqual(['js', 'ts', []])
  expect(suite?.code).toContain('journalSuite(')
  const folder = makeFolder({ 'main.mjs': program?.code ?? '' })
  const { code, stdout, stderr } = await startScript('main.mjs', [], ['env', '-C', folder]).ended
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/runId: ['"]run-1['"]/u)
  expect(readFileSync(join(folder, 'notes.txt'), 'utf8')).toBe('done')
  await using journal = await openJournal(`file:${join(folder, 'runs.db')}`)
  expect(await journal.listRun('run-1')).toMatchObject([{ nodeId: 'notes', toolName: 'write', status: 'success' }])
})
