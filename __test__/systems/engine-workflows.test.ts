import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { eventually, expectGone, sleepingMark } from '../support/processes.ts'
import { runCli } from '../support/run-cli.ts'
import { type EngineProject, type EngineRun, makeEngineProject, type Row } from './engine-workflows/engine-run.ts'
import { installedEngine, RegistryUnreachable } from './engine-workflows/installed-engine.ts'

// Importing the engine takes seconds, and longer on a busy machine.
vi.setConfig({ testTimeout: 60_000 })

let project: EngineProject | undefined
let reason = ''
let run: EngineRun

beforeAll(async () => {
  try {
    project = makeEngineProject(await installedEngine())
  } catch (error) {
    if (!(error instanceof RegistryUnreachable)) throw error
    reason = error.message
    console.log(`skipped: workflows of the Smithers engine: ${reason}`)
  }
}, 480_000)
afterAll(() => project?.remove())
beforeEach(({ skip }) => {
  if (project === undefined) skip(reason)
  else run = project.makeRun()
})

const calls = (): Row[] => run.rows('_smithers_tool_calls')
const attempts = () => run.rows('_smithers_attempts').map(({ node_id, attempt, state }) => [node_id, attempt, state])
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const KEY = 'smithers:run:chore:0'

/** The engine's own words: what its documents promise that the prompt of a retry begins with. */
const warning = (...effects: string[]): string =>
  [
    '[smithers:tool-resume-warning] Previous attempts in this task already ran non-idempotent side effects.',
    'Those side effects may already have happened before the interruption or retry.',
    'Do not blindly call them again. Verify external state first or continue from the prior result.',
    'Smithers will reuse the same ctx.idempotencyKey for defineTool retries.',
    'A registered revert handler can compensate discard-time travel, but does not make forward replay safe.',
    'Previously recorded effects:',
    ...effects.map((effect) => `- tool ${effect}`),
    '',
    '',
  ].join('\n')

test('a plain run: our tools see the context of the engine, which writes one row for each of their calls', async () => {
  const { status, seen, ours } = await run.finish('plain')
  expect(status).toBe('finished')
  expect(seen).toEqual({
    runId: 'run',
    nodeId: 'chore',
    iteration: 0,
    attempt: 1,
    rootDir: run.at('').replace(/\/$/u, ''),
    maxOutputBytes: 4_096,
    toolName: 'look',
    idempotencyKey: KEY,
    signal: true,
    same: true,
  })
  expect(readFileSync(run.at('made.txt'), 'utf8')).toBe('made by write')
  expect(readFileSync(run.at('greeting.txt'), 'utf8')).toBe('goodbye\n')

  const patch = '@@ -1,1 +1,1 @@\n-hello\n+goodbye\n'
  const of = (tool: string, input: object, output: unknown, sideEffect: 0 | 1) => ({
    run_id: 'run',
    node_id: 'chore',
    iteration: 0,
    attempt: 1,
    kind: 'tool',
    tool_name: tool,
    input_json: JSON.stringify(input),
    output_json: output === null ? null : JSON.stringify(output),
    status: output === null ? 'unknown' : 'succeeded',
    side_effect: sideEffect,
    idempotent: 1 - sideEffect,
    // `read` takes no key; a tool of the user's own does if its \`execute\` has a context.
    accepts_idempotency_key: tool === 'read' ? 0 : 1,
    has_revert: 0,
    idempotency_key: tool === 'read' ? null : KEY,
    revert_status: null,
  })
  // One row for each call and no other, and none in a journal of ours.
  expect(ours).toEqual([])
  const rows = calls()
  expect(rows).toMatchObject([
    of('look', {}, 'seen', 0),
    of('read', { path: 'greeting.txt' }, 'hello\n', 0),
    of('bash', { cmd: 'pwd' }, `${run.at('').replace(/\/$/u, '')}\n`, 1),
    of('write', { path: 'made.txt', contentBytes: 13, contentHash: sha256('made by write') }, 'ok', 1),
    of('edit', { path: 'greeting.txt', patchBytes: patch.length, patchHash: sha256(patch) }, 'ok', 1),
    of('read', { path: '../run.db' }, null, 0),
  ])
  expect(rows.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6])
  expect(new Set(rows.map(({ call_token }) => call_token)).size).toBe(6)
  for (const { call_token, started_at_ms, finished_at_ms } of rows) {
    expect(call_token).toMatch(/^[0-9a-f-]{36}$/u)
    expect(Number(finished_at_ms)).toBeGreaterThanOrEqual(Number(started_at_ms))
  }
  expect(JSON.parse(String(rows[5]?.['error_json']))).toMatchObject({ name: 'ToolError', code: 'TOOL_PATH_ESCAPE' })
})

test('a retry: its prompt begins with the warning of what cannot be undone, and its key is that of the first attempt', async () => {
  const { status, prompts, keys } = await run.finish('retry')
  expect(status).toBe('finished')
  expect(attempts()).toEqual([
    ['chore', 1, 'failed'],
    ['chore', 2, 'finished'],
  ])
  const [first, , , , second = ''] = prompts
  expect(second).toBe(warning('email.send (attempt 1, seq 1, status succeeded)', 'write (attempt 1, seq 3, status succeeded)') + first)
  expect(keys).toEqual([KEY, KEY])
  expect(calls()).toMatchObject([
    { attempt: 1, seq: 1, tool_name: 'email.send', status: 'succeeded', idempotency_key: KEY },
    { attempt: 1, seq: 2, tool_name: 'read', status: 'succeeded', idempotency_key: null },
    { attempt: 1, seq: 3, tool_name: 'write', status: 'succeeded', idempotency_key: KEY },
    { attempt: 2, seq: 1, tool_name: 'email.send', status: 'succeeded', idempotency_key: KEY },
  ])
})

test('an effect without a key: the retry does not begin, and waits for an approval', async () => {
  const { status, prompts, sent } = await run.finish('unkeyed')
  expect(status).toBe('waiting-approval')
  expect(attempts()).toEqual([
    ['chore', 1, 'failed'],
    ['chore', 2, 'waiting-approval'],
  ])
  // The model was called twice in the first attempt, and not again.
  expect(prompts).toHaveLength(2)
  expect(sent).toEqual(['ann'])
  expect(calls()).toMatchObject([
    {
      attempt: 1,
      seq: 1,
      tool_name: 'email.send',
      status: 'succeeded',
      side_effect: 1,
      idempotent: 0,
      accepts_idempotency_key: 0,
      idempotency_key: null,
    },
  ])
  const [approval, ...others] = run.rows('_smithers_approvals')
  expect(others).toEqual([])
  expect(approval).toMatchObject({ node_id: 'chore', iteration: 0, status: 'requested', decided_at_ms: null })
  expect(JSON.parse(String(approval?.['request_json']))).toMatchObject({
    kind: 'ReplayUnsafeApproval',
    attempt: 2,
    fingerprint: sha256(JSON.stringify([['email.send', 1, 1]])),
    offending: [{ kind: 'tool', toolName: 'email.send', attempt: 1, seq: 1, hasRevert: false }],
  })
})

test('an aborted run: the signal of the context stops our bash, whose row is unknown', async () => {
  const mark = sleepingMark()
  const { status, error, stoppedAfterMs } = await run.finish('aborted', [mark])
  await expectGone(mark)
  expect(status).toBe('cancelled')
  expect(stoppedAfterMs).toBeLessThan(5_000)
  expect(error).toMatchObject({ name: 'AbortError' })
  expect(attempts()).toEqual([['chore', 1, 'cancelled']])
  const [row, ...others] = calls()
  expect(others).toEqual([])
  expect(row).toMatchObject({ attempt: 1, seq: 1, tool_name: 'bash', status: 'unknown', output_json: null })
  expect(row?.['finished_at_ms']).not.toBeNull()
  expect(JSON.parse(String(row?.['error_json']))).toMatchObject({ name: 'AbortError' })
})

test('a killed run, resumed: the finished task stays, the other is warned, and its key is the same', async () => {
  const mark = sleepingMark()
  const child = run.start('resumed', ['start', mark])
  expect(await eventually(() => existsSync(run.at('began')), 30_000)).toBe(true)
  child.kill('SIGKILL')
  // Our bash does not outlive the process that called it.
  await expectGone(mark)
  const before = calls()
  expect(before).toMatchObject([
    { node_id: 'prepare', attempt: 1, seq: 1, tool_name: 'write', status: 'succeeded' },
    { node_id: 'chore', attempt: 1, seq: 1, tool_name: 'email.send', status: 'succeeded', idempotency_key: KEY },
    { node_id: 'chore', attempt: 1, seq: 2, tool_name: 'bash', status: 'intended', finished_at_ms: null },
  ])

  const { status, prompts, keys } = await run.finish('resumed', ['resume', mark])
  expect(status).toBe('finished')
  expect(attempts()).toEqual([
    ['prepare', 1, 'finished'],
    ['chore', 1, 'cancelled'],
    ['chore', 2, 'finished'],
  ])
  expect(prompts[0]).toContain(warning('email.send (attempt 1, seq 1, status succeeded)', 'bash (attempt 1, seq 2, status intended)'))
  expect(keys).toEqual([KEY])
  // The engine cancels the attempt that was killed, and leaves the row of its last call as it is.
  expect(calls().slice(0, 3)).toEqual(before)
  expect(calls().slice(3)).toMatchObject([
    { node_id: 'chore', attempt: 2, seq: 1, tool_name: 'email.send', status: 'succeeded', idempotency_key: KEY },
  ])
})

test('our command shows the calls that the engine has recorded', async () => {
  await run.finish('retry')
  const { code, stdout, stderr } = await runCli(['calls', run.database])
  const times = /\d{4}-\d\d-\d\d|\d\d:\d\d:[\d.]+|\b\d[\d.]*m?s\b/gu
  const lines = stdout.split('\n').map((line) => line.replaceAll(times, '').replaceAll(/ +/gu, ' '))
  expect(lines).toEqual([
    'run run 4 calls ',
    ' chore',
    ' 1 email.send success 12B→13B {"to":"ann"}',
    ' 2 read success 23B→9B greeting.txt',
    ' 3 write success 13B→4B made.txt',
    ' chore, attempt 2',
    ' 1 email.send success 12B→13B {"to":"ann"}',
    '',
  ])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
})
