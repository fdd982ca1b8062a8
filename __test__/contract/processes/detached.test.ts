import { openJournal } from 'toolwright'
import { createSession, detachedProcesses, endDetachedProcesses, processTools, type ProcessReport, type Session } from 'toolwright/contract'
import { describe, expect, onTestFinished, test } from 'vitest'
import { eventually, expectGone, running, sleepingMark } from '../../support/processes.ts'
import { makeSandbox } from '../../support/sandbox.ts'
import { allowAll, dataOf, failureOf } from '../scene.ts'

/** Sessions in one directory and one journal. */
async function makeScene() {
  const box = makeSandbox()
  const journal = await openJournal(box.at('runs.db'))
  onTestFinished(() => journal.close())
  const open = async (id: string): Promise<Session> => {
    const session = await createSession({
      id,
      workspace: box.root,
      manifest: { name: 'x', permissions: allowAll },
      tools: processTools,
      journal,
    })
    onTestFinished(() => session.close())
    return session
  }
  const rows = async (id: string) =>
    (await journal.listRun(id))
      .filter(({ nodeId }) => nodeId === 'contract/background')
      .map(({ status, inputJson, outputJson }) => [status, JSON.parse(inputJson ?? ''), JSON.parse(outputJson ?? 'null')])
  return { open, rows }
}

const report = async (call: ReturnType<Session['call']>): Promise<ProcessReport> => dataOf<ProcessReport>(await call)

describe('a process that is given to an owner', () => {
  test('R72 outlives its session, is resumed by its id, goes on where the last report ended, and is stopped', async () => {
    const { open, rows } = await makeScene()
    const first = await open('first')
    const mark = sleepingMark()
    const command = `echo ready; read -r line; echo "got $line"; exec sleep ${mark}`
    const started = await report(first.call('process_start', { command, wait_ms: 5_000 }))
    expect(started.output).toBe('ready\n')
    expect(await first.detachProcess('p1', 'dev-1')).toBe('dev-1.1')
    // Here it has its first id still.
    expect(await report(first.call('process_read', { process_id: 'p1', from: 0 }))).toMatchObject({ output: 'ready\n', running: true })
    await first.close()
    expect(detachedProcesses('dev-1')).toEqual([{ owner: 'dev-1', id: 'dev-1.1', command, isRunning: true }])

    const second = await open('second')
    expect(failureOf(await second.call('process_read', { process_id: 'dev-1.1' })).code).toBe('not_found')
    expect(second.resumeProcesses('dev-1')).toEqual(['dev-1.1'])
    expect(second.resumeProcesses('dev-1')).toEqual(['dev-1.1'])
    const answered = await report(second.call('process_write', { process_id: 'dev-1.1', text: 'it\n', wait_ms: 5_000 }))
    expect(answered).toMatchObject({ process_id: 'dev-1.1', output: 'got it\n', from: 6, running: true })
    expect(await eventually(() => running(mark).length > 0)).toBe(true)
    await second.close()
    expect(running(mark)).not.toEqual([])

    const third = await open('third')
    third.resumeProcesses('dev-1')
    expect(await report(third.call('process_stop', { process_id: 'dev-1.1' }))).toMatchObject({ running: false, signal: 'SIGKILL' })
    await expectGone(mark)
    await expect.poll(async () => (await rows('first'))[1]?.[0]).toBe('success')
    expect(await rows('first')).toEqual([
      ['success', { process_id: 'p1', command }, { output: 'goes on as dev-1.1', detached_as: 'dev-1.1' }],
      [
        'success',
        { process_id: 'dev-1.1', command },
        expect.objectContaining({ output: 'was ended by SIGKILL', signal: 'SIGKILL', exit_code: null }),
      ],
    ])
    await endDetachedProcesses('dev-1')
    expect(detachedProcesses('dev-1')).toEqual([])
  })

  test('R72 ends with its owner, with all that it has started', async () => {
    const { open, rows } = await makeScene()
    const session = await open('ends')
    const mark = sleepingMark()
    await report(session.call('process_start', { command: `(setsid sleep ${mark} &); trap '' TERM; sleep ${mark}`, wait_ms: 0 }))
    await session.detachProcess('p1', 'ends')
    await session.close()
    expect(await eventually(() => running(mark).length > 1)).toBe(true)
    await endDetachedProcesses('ends')
    expect(running(mark)).toEqual([])
    expect(await rows('ends')).toMatchObject([
      ['success', { process_id: 'p1' }, { detached_as: 'ends.1' }],
      ['success', { process_id: 'ends.1' }, { signal: 'SIGKILL' }],
    ])
  })

  test('R72 is given once, while it runs, to an owner that has a name', async () => {
    const { open } = await makeScene()
    const session = await open('refused')
    await report(session.call('process_start', { command: 'sleep 60', wait_ms: 0 }))
    await report(session.call('process_start', { command: 'true', wait_ms: 5_000 }))
    await expect(session.detachProcess('p9', 'x')).rejects.toMatchObject({ code: 'PROCESS_NOT_FOUND' })
    await expect(session.detachProcess('p2', 'x')).rejects.toMatchObject({ code: 'PROCESS_ENDED' })
    for (const name of ['', 'a.b', 'a b', 'ü', 'x'.repeat(65)]) {
      await expect((async () => session.detachProcess('p1', name))()).rejects.toThrow(/name|empty/u)
    }
    const both = await Promise.allSettled([session.detachProcess('p1', 'x'), session.detachProcess('p1', 'y')])
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    expect(detachedProcesses().filter(({ isRunning }) => isRunning)).toHaveLength(1)
    await session.close()
    expect(() => session.resumeProcesses('x')).toThrow('closed')
    await Promise.all(['x', 'y'].map(endDetachedProcesses))
    expect(detachedProcesses()).toEqual([])
  })
})
