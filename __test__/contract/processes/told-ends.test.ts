import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { openJournal } from 'toolwright'
import { createSession, processTools, replaySession, type Session } from 'toolwright/contract'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { eventually, expectGone, running, sleepingMark } from '../../support/processes.ts'
import { makeSandbox } from '../../support/sandbox.ts'
import { allowAll, dataOf, failureOf, openScene } from '../scene.ts'

const user = { role: 'user' as const, content: 'go on' }

/** What the agent is told at a step. */
async function told({ prepareStep }: Pick<Session, 'prepareStep'>, messages = [user]): Promise<string[]> {
  const { messages: all = [] } = await prepareStep({ messages })
  return all.flatMap(({ role, content }) => (role === 'assistant' && typeof content === 'string' ? [content] : []))
}

describe('the end of a process', () => {
  test('R72 is told once, at the next step, unless a report has told of it', async () => {
    const { session, call } = await openScene({ tools: processTools })
    expect(await told(session)).toEqual([])
    await call('process_start', { command: 'sleep 1; exit 7', wait_ms: 0 })
    await call('process_start', { command: 'sleep 0.4', wait_ms: 0 })
    expect(await told(session)).toEqual([])
    dataOf(await call('process_read', { process_id: 'p2', wait_ms: 5_000 }))
    await eventually(() => false, 1_200)
    const text = 'The process p1 (`sleep 1; exit 7`) has ended with exit code 7. process_read gives its last output.'
    expect(await told(session)).toEqual([text])
    // A host that keeps inserted messages has it once as well.
    const { messages } = await session.prepareStep({ messages: [user, { role: 'assistant', content: text }] })
    expect(messages).toBeUndefined()
    expect(dataOf(await call('process_read', { process_id: 'p1' }))).toMatchObject({ running: false, exit_code: 7 })
  })

  test('R72 has a row; a session that is opened again says that its processes were stopped, once', async () => {
    const fixture = makeSandbox()
    const journal = await openJournal(fixture.at('runs.db'))
    onTestFinished(() => journal.close())
    const open = () =>
      createSession({ id: 's', workspace: fixture.root, manifest: { name: 'x', permissions: allowAll }, tools: processTools, journal })
    const first = await open()
    await first.call('process_start', { command: 'exit 3', wait_ms: 5_000 })
    await first.call('process_start', { command: 'sleep 60', wait_ms: 0 })
    await first.close()
    const rows = (await journal.listRun('s')).filter(({ nodeId }) => nodeId === 'contract/background')
    expect(
      rows.map(({ toolName, inputJson, outputJson }) => [toolName, JSON.parse(inputJson ?? ''), JSON.parse(outputJson ?? '')]),
    ).toMatchObject([
      [
        'process',
        { process_id: 'p1', command: 'exit 3' },
        { output: 'has ended with exit code 3', exit_code: 3, signal: null, left_running: 0 },
      ],
      ['process', { process_id: 'p2', command: 'sleep 60' }, { output: 'was stopped when its session was closed', signal: 'SIGKILL' }],
    ])
    const second = await open()
    expect(await told(second)).toEqual(['The process p2 (`sleep 60`) was stopped when its session was closed.'])
    expect(await told(second)).toEqual(['The process p2 (`sleep 60`) was stopped when its session was closed.'])
    expect(failureOf(await second.call('process_read', { process_id: 'p2' }))).toMatchObject({
      code: 'not_found',
      text: expect.stringContaining('The process p2 has ended'),
    })
    expect(dataOf(await second.call('process_start', { command: 'true', wait_ms: 5_000 }))).toMatchObject({ process_id: 'p3' })
    await second.close()
    const third = await open()
    expect(await told(third)).toEqual([])
    await third.close()
  })

  test('R72 a recorded start is replayed, and nothing runs', async () => {
    const fixture = makeSandbox()
    const journal = await openJournal('memory:')
    onTestFinished(() => journal.close())
    const session = await createSession({
      id: 's',
      workspace: fixture.root,
      manifest: { name: 'x', permissions: allowAll },
      tools: processTools,
      journal,
    })
    const mark = sleepingMark()
    const calls = [
      ['process_start', { command: `cat; sleep ${mark}`, wait_ms: 0 }],
      ['process_write', { process_id: 'p1', text: 'swordfish\n', secret: true, wait_ms: 500 }],
      ['process_stop', { process_id: 'p1' }],
    ] as const
    const recorded = []
    for (const [id, args] of calls) recorded.push(await session.call(id, args))
    await session.close()
    await expectGone(mark)
    const replay = await replaySession(journal, 's', { tools: processTools })
    for (const [index, [id, args]] of calls.entries()) expect(await replay.call(id, args)).toEqual(recorded[index])
    replay.finish()
    expect(running(mark)).toEqual([])
    expect(JSON.stringify(await journal.listRun('s'))).not.toContain('swordfish')
    expect(dataOf(recorded[1]!)).toMatchObject({ output: '[secret]\n' })
  })

  test('R72 processes end with a host that is killed; the next one says so', async () => {
    const fixture = makeSandbox()
    const mark = sleepingMark()
    const host = spawn(
      process.execPath,
      [fileURLToPath(new URL('host-process.ts', import.meta.url)), fixture.root, fixture.at('runs.db'), mark],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    await once(host.stdout, 'data')
    expect(await eventually(() => running(mark).length >= 30, 20_000)).toBe(true)
    const journal = await openJournal(fixture.at('runs.db'))
    onTestFinished(() => journal.close())
    const session = await createSession({ id: 's', workspace: fixture.root, manifest: { name: 'x' }, tools: processTools, journal })
    onTestFinished(() => session.close())
    expect(await told(session)).toEqual([])
    host.kill('SIGKILL')
    await expectGone(mark)
    // The kernel needs a moment to end a process that was killed. Until then its work counts as going on.
    const texts = await vi.waitFor(
      async () => {
        const all = await told(session)
        expect(all).toHaveLength(30)
        return all
      },
      { timeout: 10_000, interval: 100 },
    )
    for (const text of texts) expect(text).toMatch(/^The process p\d+ \(`[^`]+`\) has ended: the program that ran it was ended\.$/u)
  })
})
