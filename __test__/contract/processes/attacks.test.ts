import { setTimeout as pause } from 'node:timers/promises'
import { asSchema } from 'ai'
import { processTools, type ProcessReport } from 'toolwright/contract'
import { describe, expect, test } from 'vitest'
import { expectGone, running, sleepingMark } from '../../support/processes.ts'
import { dataOf, failureOf, openScene, openSession } from '../scene.ts'
import { makeSandbox } from '../../support/sandbox.ts'

const open = () => openScene({ tools: processTools })

describe('the tools of processes under attack', () => {
  test('R70 a hundred starts at once: as many as the limit run, with ids of their own, and all of them end', async () => {
    const { session, call } = await openScene({ tools: processTools, limits: { processes: 20 } })
    const mark = sleepingMark()
    const all = await Promise.all(Array.from({ length: 100 }, () => call('process_start', { command: `sleep ${mark}`, wait_ms: 0 })))
    const started = all.filter(({ type }) => type === 'output').map((one) => dataOf<ProcessReport>(one).process_id)
    expect(new Set(started).size).toBe(20)
    for (const refused of all.filter(({ type }) => type === 'error')) {
      expect(failureOf(refused)).toMatchObject({
        code: 'unavailable',
        text: expect.stringMatching(/^20 processes run already\. Stop one/u),
      })
    }
    await session.close()
    await expectGone(mark)
  })

  test('R70 one GB of output that nobody reads: memory stays, and both ends are there', async () => {
    const { call } = await openSession(makeSandbox(), { tools: processTools }, { checksOutputs: false }).then((session) => ({
      call: session.call.bind(session),
    }))
    const before = process.memoryUsage.rss()
    await call('process_start', { command: 'echo begun; head -c 1000000000 /dev/zero | tr "\\0" x; echo; echo over', wait_ms: 0 })
    let report = dataOf<ProcessReport>(await call('process_read', { process_id: 'p1', from: 0, max_bytes: 100 }))
    const deadline = Date.now() + 60_000
    while (report.running && Date.now() < deadline) {
      await pause(50)
      report = dataOf<ProcessReport>(await call('process_read', { process_id: 'p1', from: -100 }))
    }
    expect(report).toMatchObject({ running: false, exit_code: 0, output: `${'x'.repeat(94)}\nover\n`, next: 1_000_000_012 })
    expect(process.memoryUsage.rss() - before).toBeLessThan(64e6)
    expect(dataOf<ProcessReport>(await call('process_read', { process_id: 'p1', from: 0, max_bytes: 16 })).output).toBe('begun\nxxxxxxxxxx')
    const gap = dataOf<ProcessReport>(await call('process_read', { process_id: 'p1', from: 500_000_000, max_bytes: 16 }))
    expect(gap).toMatchObject({ missing_bytes: gap.from - 500_000_000, output: 'x'.repeat(16) })
  }, 90_000)

  test('R70 arguments that are changed in flight change nothing', async () => {
    const { call } = await open()
    const [good, bad] = [sleepingMark(), sleepingMark()]
    const args = { command: `sleep ${good}`, wait_ms: 0 }
    const starting = call('process_start', args)
    args.command = `sleep ${bad}`
    await starting
    expect([running(good).length > 0, running(bad)]).toEqual([true, []])
    await call('process_start', { command: 'cat', wait_ms: 0 })
    const input = { process_id: 'p2', text: 'right\n', wait_ms: 5_000 }
    const writing = call('process_write', input)
    Object.assign(input, { process_id: 'p1', text: 'wrong\n' })
    expect(dataOf<ProcessReport>(await writing)).toMatchObject({ process_id: 'p2', output: 'right\n' })
  })

  test('R70 an abort in the middle of each call ends the call; that of a start ends the process', async () => {
    const { call } = await open()
    const mark = sleepingMark()
    const signal = () => ({ signal: AbortSignal.timeout(150) })
    const command = `(setsid sleep ${mark} &); trap '' TERM INT; sleep ${mark}`
    expect(failureOf(await call('process_start', { command, wait_ms: 60_000 }, signal())).code).toBe('aborted')
    await expectGone(mark)
    const kept = dataOf<ProcessReport>(await call('process_start', { command: `trap '' TERM; sleep ${mark}`, wait_ms: 0 }))
    const { process_id } = kept
    expect(failureOf(await call('process_read', { process_id, wait_ms: 60_000 }, signal())).code).toBe('aborted')
    expect(failureOf(await call('process_write', { process_id, text: 'x', wait_ms: 60_000 }, signal())).code).toBe('aborted')
    expect(running(mark)).toHaveLength(1)
    // It ignores SIGTERM; the abort ends the grace, and the process is killed all the same.
    await call('process_stop', { process_id, grace_ms: 30_000 }, signal())
    await expectGone(mark)
  })

  test('R70 input that nobody reads does not hold a call for ever, and no more is taken then', async () => {
    const { call } = await open()
    await call('process_start', { command: 'sleep 60', wait_ms: 0 })
    const text = 'x'.repeat(65_536)
    const first = dataOf<ProcessReport>(await call('process_write', { process_id: 'p1', text, wait_ms: 0 }))
    expect(first.notes).toBeUndefined()
    const second = dataOf<ProcessReport>(await call('process_write', { process_id: 'p1', text, wait_ms: 0 }))
    expect(second.notes).toEqual(['The process has not read all of the input yet. It gets the rest when it reads.'])
    const third = failureOf(await call('process_write', { process_id: 'p1', text, wait_ms: 0 }))
    expect(third).toMatchObject({ code: 'busy', text: expect.stringContaining('has not taken its earlier input yet') })
    expect(dataOf<ProcessReport>(await call('process_stop', { process_id: 'p1' })).running).toBe(false)
  }, 30_000)

  test('R70 control characters that fill a report fit its limit', async () => {
    const { call } = await openScene({ tools: processTools, limits: { outputBytes: 5_000 } })
    const command = String.raw`head -c 100000 /dev/zero | tr '\0' '\33'; echo over`
    const envelope = await call('process_start', { command, wait_ms: 20_000 })
    expect(envelope.metadata.truncated).toBeUndefined()
    expect(JSON.stringify(dataOf(envelope)).length).toBeLessThan(5_000)
    expect(dataOf<ProcessReport>(envelope)).toMatchObject({ from: 0, unread_bytes: 100_005 - dataOf<ProcessReport>(envelope).next })
  })

  test('R70 processes of one session are none of another', async () => {
    const [one, other] = [await open(), await open()]
    await one.call('process_start', { command: 'sleep 60', wait_ms: 0 })
    for (const id of ['process_read', 'process_stop']) {
      expect(failureOf(await other.call(id, { process_id: 'p1' })).code).toBe('not_found')
    }
    expect(dataOf<ProcessReport>(await one.call('process_read', { process_id: 'p1' })).running).toBe(true)
  })
})

test('R70 what a model reads of the tools', async () => {
  const { session } = await open()
  const tools = session.tools as unknown as Record<string, { description: string; inputSchema: never }>
  for (const { id } of processTools) {
    const { description, inputSchema } = tools[id] ?? {}
    expect({ id, description, schema: await asSchema(inputSchema as never).jsonSchema }).toMatchSnapshot()
  }
})

test('R70 what a model reads of failures', async () => {
  const { call } = await openScene({ tools: processTools, limits: { processes: 1 } })
  const texts: string[] = [failureOf(await call('process_read', { process_id: 'p1' })).text]
  await call('process_start', { command: 'read line; exit 4', wait_ms: 0, terminal: true })
  texts.push(
    failureOf(await call('process_start', { command: 'true' })).text,
    failureOf(await call('process_stop', { process_id: 'server' })).text,
  )
  await call('process_write', { process_id: 'p1', keys: ['enter'], wait_ms: 5_000 })
  await call('process_read', { process_id: 'p1', wait_ms: 5_000 })
  texts.push(failureOf(await call('process_write', { process_id: 'p1', text: 'x' })).text)
  await call('process_start', { command: 'cat; sleep 60', wait_ms: 0 })
  await call('process_write', { process_id: 'p2', close_input: true })
  texts.push(failureOf(await call('process_write', { process_id: 'p2', text: 'x' })).text)
  texts.push(failureOf(await call('process_write', { process_id: 'p2', keys: ['up'] })).text)
  expect(texts).toMatchSnapshot()
})
