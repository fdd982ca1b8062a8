/** What a page says first: changes, refusals, attempts, agents, time. */
import fc from 'fast-check'
import { createTools, openCheckpoints, openJournal } from 'toolwright'
import { createSession } from 'toolwright/contract'
import { expect, test } from 'vitest'
import { changedLines, changesOf, refusalsOf } from '../../ts/report/call-findings.ts'
import { CheckpointDiffs } from '../../ts/report/checkpoint-diffs.ts'
import { callTexts } from '../../ts/report/call-texts.ts'
import { reportCall } from '../../ts/report/make-report.ts'
import { agentTree } from '../../ts/report/page/agents.ts'
import { facts, timeOfTools } from '../../ts/report/page/findings.ts'
import { recorded } from '../cli/recorded-calls.ts'
import { runs, seed } from '../support/randomised.ts'
import { makeSandbox } from '../support/sandbox.ts'

const output = (metadata: object) => JSON.stringify({ type: 'output', data: {}, metadata: { duration_ms: 1, code: 'ok', ...metadata } })

test('the changes of a row are those that its result, its patch or its arguments name', () => {
  const paths = (row: Parameters<typeof recorded>[0]) => changesOf(recorded(row)).map(({ path, kind }) => `${kind} ${path}`)
  expect(paths({ toolName: 'bash', outputJson: output({ changed: [{ path: 'a', kind: 'created' }] }) })).toEqual(['created a'])
  expect(paths({ toolName: 'bash', outputJson: output({ changed_files: ['a', 'b'] }) })).toEqual(['modified a', 'modified b'])
  expect(paths({ toolName: 'apply_patch', inputJson: '{"files":[{"path":"a","change":"delete"},{"path":"b","change":"add"}]}' })).toEqual([
    'deleted a',
    'created b',
  ])
  expect(paths({ toolName: 'edit' })).toEqual(['modified src/main.ts'])
  expect(paths({ toolName: 'edit', status: 'error' })).toEqual([])
  expect(paths({ toolName: 'read' })).toEqual([])
})

test('the refusals of a row are those that the sandbox named, or its target', () => {
  const of = (row: Parameters<typeof recorded>[0]) => refusalsOf(recorded(row)).map(({ layer, subject }) => `${layer} ${subject}`)
  const denials = [{ layer: 'network', subject: 'evil.example:443', option: null }]
  const error = (code: string, more: object = {}) =>
    ({ status: 'error', outputJson: null, errorJson: JSON.stringify({ code, ...more }) }) as const
  expect(of({ outputJson: output({ denials }) })).toEqual(['network evil.example:443'])
  expect(of(error('TOOL_COMMAND_FAILED', { details: { denials } }))).toEqual(['network evil.example:443'])
  expect(of(error('tool_failed', { metadata: { denials } }))).toEqual(['network evil.example:443'])
  expect(of(error('TOOL_PATH_ESCAPE', { details: { path: '/etc/hosts' } }))).toEqual(['files /etc/hosts'])
  expect(of(error('TOOL_NETWORK_DISABLED'))).toEqual(['network src/main.ts'])
  expect(of(error('permission_rejected'))).toEqual(['permission src/main.ts'])
  expect(of(error('TOOL_FILE_NOT_FOUND'))).toEqual([])
  expect(of({ outputJson: output({ denials: 'x' }) })).toEqual([])
})

test('lines of a diff are counted, also those that look like headers', () => {
  const diff = 'diff a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n one\n--- two\n++++ two\n+diff a/y b/y\n@@ -9 +10 @@\n-a\n+b\n'
  expect([...changedLines(diff)]).toEqual([['x', { added: 3, removed: 2 }]])
})

test('calls of tools and sessions get what their checkpoints have', async () => {
  const { root, outside, put } = makeSandbox()
  put('a.txt', 'one\n')
  await using checkpoints = await openCheckpoints(root, { store: `${outside}/store` })
  await using journal = await openJournal(`file:${outside}/runs.db`)
  const tools = createTools({ rootDir: root, journal, checkpoints })
  const options = (toolCallId: string) => ({ toolCallId, messages: [] })
  await tools.bash.execute({ cmd: 'sh', args: ['-c', 'echo two >> a.txt; echo new > b.txt'] }, options('made'))
  await tools.bash.execute({ cmd: 'ls' }, options('looked'))
  await tools.edit.execute({ path: 'a.txt', patch: '@@ -1,2 +1 @@\n one\n-two\n' }, options('edited'))
  await journal.flush()
  const diffs = new CheckpointDiffs(checkpoints)
  const rows = await journal.rows((await journal.listRuns()).flatMap(() => [1, 2, 3]))
  const found = await Promise.all(rows.map(async (row) => reportCall(row, await diffs.of(row)).changes))
  expect(found).toEqual([
    [
      { path: 'a.txt', kind: 'modified', added: 1, removed: 0 },
      { path: 'b.txt', kind: 'created', added: 1, removed: 0 },
    ],
    [],
    [{ path: 'a.txt', kind: 'modified', added: 0, removed: 1 }],
  ])
  const [first] = rows
  if (first === undefined) throw new Error('no row')
  expect(callTexts(first, 10_000, await diffs.of(first)).changed?.text).toContain('+two\n')
})

test('agents are a tree, under the names of their manifests', async () => {
  const { root, outside } = makeSandbox()
  await using journal = await openJournal(`file:${outside}/runs.db`)
  const session = await createSession({
    workspace: root,
    journal,
    manifest: { name: 'builder', agents: [{ name: 'explore' }] },
    host: { prompt: async () => 'allow_once' as const, spawn: async ({ session: own }) => (await own.call('glob', { pattern: '*' })).type },
  })
  await session.call('glob', { pattern: '*' })
  await session.call('task', { subagent_type: 'explore', prompt: 'Look around.' })
  await session.close()
  const rows = await journal.listRun(session.id)
  const tree = agentTree((await journal.rows(rows.map(({ row }) => row))).map((row) => reportCall(row)))
  expect(tree.map(({ name, depth }) => [name, depth])).toEqual([
    ['builder', 0],
    ['explore', 1],
  ])
})

const span = fc.record({ start: fc.nat(1_000), ms: fc.nat(300) })

test('tools are never longer at work than the whole took', () => {
  fc.assert(
    fc.property(fc.array(span, { minLength: 1, maxLength: 30 }), (spans) => {
      const calls = spans.map(({ start, ms }) => reportCall(recorded({ startedAtMs: start, finishedAtMs: start + ms })))
      const { workMs, wholeMs } = timeOfTools(calls)
      expect(workMs).toBeLessThanOrEqual(wholeMs)
      expect(workMs).toBeGreaterThanOrEqual(Math.max(...spans.map(({ ms }) => ms)))
    }),
    { seed, numRuns: runs(200) },
  )
})

test('the first line says it in one breath', () => {
  expect(facts([reportCall(recorded())])).toEqual(['no files changed', '15ms of tools of 15ms'])
  expect(facts([reportCall(recorded({ toolName: 'edit' })), reportCall(recorded({ toolName: 'edit', attempt: 2 }))])).toEqual([
    '2 attempts',
    '1 file changed',
    '15ms of tools of 15ms',
  ])
})
