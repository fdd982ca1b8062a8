// A refused edit shows the model lines of patch and file. A record holds neither.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTools, openJournal, runTask, runWithToolContext, type ToolCallRecord } from 'toolwright'
import { expect, onTestFinished, test } from 'vitest'
import { openSession } from '../contract/scene.ts'
import { makeSandbox } from '../support/sandbox.ts'

const patches = {
  stale: '@@ -1,2 +1,2 @@ patch-heading\n keep\n-API_KEY=patch-secret\n+API_KEY=new-secret\n',
  garbage: 'patch-secret: please change the file',
  unsigned: '@@ -1,2 +1,2 @@\n keep\npatch-secret\n',
}
const secrets = /patch-secret|file-secret|new-secret|patch-heading/u

function boxWithFile() {
  const fixture = makeSandbox()
  writeFileSync(join(fixture.root, 'f'), 'keep\nDB_PASSWORD=file-secret\n')
  return fixture
}

test('its row says where it failed, and not what stands there', async () => {
  const fixture = boxWithFile()
  const journal = await openJournal(`file:${join(fixture.outside, 'runs.db')}`)
  onTestFinished(() => journal.close())
  const { edit } = createTools({ rootDir: fixture.root })
  const shown: string[] = []
  await runTask({ journal, runId: 'run', nodeId: 'node', rootDir: fixture.root }, async () => {
    for (const patch of Object.values(patches)) await edit.execute({ path: 'f', patch }).catch((error: Error) => shown.push(error.message))
  })
  // The model sees all of it.
  expect(shown[0]).toContain('patch-secret')
  expect(shown[0]).toContain('file-secret')
  const rows = await journal.listRun('run')
  expect(rows).toHaveLength(3)
  for (const { errorJson, inputJson } of rows) {
    expect(errorJson).not.toMatch(secrets)
    expect(inputJson).not.toMatch(secrets)
    expect(JSON.parse(errorJson as string)).toMatchObject({ code: 'TOOL_PATCH_FAILED', details: { path: 'f', reason: expect.any(String) } })
  }
  expect(JSON.parse(rows[0]?.errorJson as string)).toMatchObject({ details: { hunk: 1, line: 2, patchLine: 3 } })
  await journal.flush()
  expect(readFileSync(join(fixture.outside, 'runs.db-wal'), 'latin1')).not.toMatch(secrets)
})

test('nor does the record of a host', async () => {
  const fixture = boxWithFile()
  const { edit } = createTools({ rootDir: fixture.root })
  const records: ToolCallRecord[] = []
  await runWithToolContext({ runId: 'run', nodeId: 'node', recordToolCall: (record) => records.push(record) }, async () => {
    await expect(edit.execute({ path: 'f', patch: patches.stale })).rejects.toThrow('file-secret')
  })
  const failed = records.find(({ phase }) => phase === 'failed')?.error as { code: string; message: string; details: object }
  expect(failed.code).toBe('TOOL_PATCH_FAILED')
  expect(failed.message).toMatch(/hunk 1.*line 2/u)
  expect(failed.message + JSON.stringify(failed.details)).not.toMatch(secrets)
})

test('nor does the row of a session', async () => {
  const fixture = boxWithFile()
  const journal = await openJournal(`file:${join(fixture.outside, 'runs.db')}`)
  onTestFinished(() => journal.close())
  const session = await openSession(fixture, { journal })
  const envelope = await session.call('edit', { path: 'f', old_string: 'DB_PASSWORD=patch-secret', new_string: 'x' })
  expect(JSON.stringify(envelope)).toContain('file-secret')
  await journal.flush()
  const [row] = await journal.listRun(session.id)
  expect(row?.errorJson).toContain('old_string not found')
  expect(row?.errorJson).not.toMatch(secrets)
})
