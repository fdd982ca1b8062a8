import { createTools, openJournal } from 'toolwright'
import { expect, test } from 'vitest'
import { makeSandbox } from '../support/sandbox.ts'

test('createTools({ journal, runId, nodeId }) records calls as that run, also of several sets of tools', async () => {
  const fixture = makeSandbox()
  const file = `${fixture.outside}/runs.db`
  const journal = await openJournal(file)
  const options = { rootDir: fixture.root, journal, runId: 'request-7', nodeId: 'coder' }
  await createTools(options).write.execute({ path: 'a', content: '1' })
  await createTools(options).write.execute({ path: 'b', content: '2' })
  await journal.close()
  // And after a restart.
  const again = await openJournal(file)
  await createTools({ ...options, journal: again }).write.execute({ path: 'c', content: '3' })
  const rows = await again.listToolCalls('request-7', 'coder', 0)
  expect(rows.map(({ seq, attempt, status }) => ({ seq, attempt, status }))).toEqual(
    [1, 2, 3].map((seq) => ({ seq, attempt: 1, status: 'success' })),
  )
  await createTools({ rootDir: fixture.root, journal: again, runId: 'request-8' }).write.execute({ path: 'd', content: '4' })
  expect(await again.listToolCalls('request-8', 'agent', 0)).toHaveLength(1)
  await again.close()
})

test('a name without a journal, and a name that is none, are refused', () => {
  expect(() => createTools({ runId: 'x' })).toThrow(/runId needs a journal: give one too/u)
  expect(() => createTools({ runId: '' })).toThrow(/runId must be a non-empty string/u)
})
