import { readFileSync } from 'node:fs'
import { type Envelope, processTools, type SessionOptions } from 'toolwright/contract'
import { describe, expect, test } from 'vitest'
import { eventually, expectGone, running, sleepingMark } from '../../support/processes.ts'
import { dataOf, failureOf, openScene } from '../scene.ts'

const background = { tools: processTools, onTimeout: 'background' } satisfies Partial<SessionOptions>

/** An envelope without what differs each time. */
function steady(envelope: Envelope): unknown {
  const { duration_ms: _, output_path: path, notes = [], ...metadata } = envelope.metadata
  const whole = path === undefined ? undefined : readFileSync(path, 'utf8')
  const text = JSON.stringify({ ...envelope, metadata: { ...metadata, notes } })
  return { text: path === undefined ? text : text.replaceAll(path, 'PATH'), whole }
}

describe.skipIf(process.platform !== 'linux')('a bash whose commands go on at their timeout', () => {
  test.each([
    'echo out; echo err >&2',
    'exit 7',
    'kill -TERM $$',
    'sleep 0.05 & sleep 60 & echo left',
    'cat /etc/shadow; echo x > /etc/toolwright-was-here',
    'no-such-program --version',
    'cat; echo "stdin is empty"',
    String.raw`printf 'a\377\xe2\x82'; printf 'e\xf0\x9f' >&2`,
    'for i in $(seq 3000); do echo "out $i"; done',
    'seq 1 60000',
    "printf 'é%.0s' $(seq 1 9000)",
    'if then',
    '',
  ])('R70 gives what any other gives: %s', async (command) => {
    const limits = { bashBytes: 5_000 }
    const [plain, kept] = [await openScene({ limits }), await openScene({ ...background, tools: [], limits })]
    const [one, other] = [await plain.call('bash', { command }), await kept.call('bash', { command })]
    expect(steady(other)).toEqual(steady(one))
  })

  test('R70 a command that reaches it goes on, and is read and stopped', async () => {
    const { call, session } = await openScene(background)
    const mark = sleepingMark()
    const command = `echo begun; echo warned >&2; sleep 2; echo more; echo worse >&2; (setsid sleep ${mark} &) ; sleep ${mark}`
    const envelope = await call('bash', { command, timeout_ms: 1_000 })
    expect(dataOf(envelope)).toEqual({ stdout: 'begun\n', stderr: 'warned\n', exit_code: null, signal: null, timed_out: true })
    expect(envelope.metadata.notes).toEqual([
      'The command still runs after 1000 ms, and continues as process p1: read its output with process_read, and end it with process_stop.',
    ])
    const read = dataOf(await call('process_read', { process_id: 'p1', wait_ms: 5_000 }))
    expect(read).toMatchObject({ running: true, output: 'more\n', from: 6, stderr_unread_bytes: 6 })
    expect(dataOf(await call('process_read', { process_id: 'p1', stream: 'stderr' }))).toMatchObject({ output: 'worse\n', from: 7 })
    expect(await eventually(() => running(mark).length === 2)).toBe(true)
    expect(dataOf(await call('process_stop', { process_id: 'p1' }))).toMatchObject({ running: false, signal: 'SIGKILL' })
    await expectGone(mark)
    await call('bash', { command: `sleep ${mark}`, timeout_ms: 100 })
    expect(running(mark)).toHaveLength(1)
    await session.close()
    await expectGone(mark)
  })

  test('R70 one that ends later is told of at the next step', async () => {
    const { call, session } = await openScene({ ...background, tools: [] })
    const { metadata } = await call('bash', { command: 'sleep 1; exit 4', timeout_ms: 100 })
    expect(metadata.notes).toEqual(['The command still runs after 100 ms, and continues as process p1, until it ends or its session does.'])
    await eventually(() => false, 2_500)
    const { messages = [] } = await session.prepareStep({ messages: [] })
    expect(messages).toMatchObject([{ content: expect.stringContaining('The process p1 (`sleep 1; exit 4`) has ended with exit code 4.') }])
  })

  test('R70 an abort kills it, and where no more may run the timeout does', async () => {
    const { call } = await openScene({ ...background, limits: { processes: 1 } })
    const [aborted, refused] = [sleepingMark(), sleepingMark()]
    const signal = AbortSignal.timeout(200)
    expect(
      failureOf(await call('bash', { command: `(setsid sleep ${aborted} &) ; sleep ${aborted}`, timeout_ms: 60_000 }, { signal })).code,
    ).toBe('aborted')
    await expectGone(aborted)
    await call('process_start', { command: 'sleep 60', wait_ms: 0 })
    const { metadata } = await call('bash', { command: `sleep ${refused}`, timeout_ms: 100 })
    expect(metadata.notes?.[0]).toMatch(/^The command was stopped after 100 ms: 1 process runs already/u)
    await expectGone(refused)
  })

  test('R70 more output than is kept lets it end, as it lets any other', async () => {
    const limits = { bashBytes: 1_000, sidecarBytes: 100_000 }
    const ends = []
    for (const options of [{}, background]) {
      const { call } = await openScene({ ...options, limits })
      const data = dataOf(await call('bash', { command: 'yes | head -c 1000000; exit 3', timeout_ms: 20_000 }))
      ends.push([data.exit_code, data.signal, data.timed_out])
    }
    expect(ends[0]?.[0]).toBe(3)
    expect(ends[1]).toEqual(ends[0])
  })
})
