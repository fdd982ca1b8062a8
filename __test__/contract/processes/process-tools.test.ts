import { type Envelope, processTools, type ProcessReport, type SessionOptions } from 'toolwright/contract'
import { describe, expect, test } from 'vitest'
import { eventually, expectGone, running, sleepingMark } from '../../support/processes.ts'
import { dataOf, failureOf, manifest, noRules, openScene, rule } from '../scene.ts'

const openWith = (options: Partial<SessionOptions> = {}) => openScene({ tools: processTools, ...options })
const report = (envelope: Envelope): ProcessReport => dataOf<ProcessReport>(envelope)

const SERVER = `require('http').createServer((_, to) => to.end('hello\\n')).listen(0, '127.0.0.1', function () { console.log('up', this.address().port) })`

describe('process_start, process_read, process_write, process_stop', () => {
  test('R70 a server is started, found, fetched by the next command, and stopped', async () => {
    const { call, put } = await openWith()
    put('server.cjs', SERVER)
    const started = report(await call('process_start', { command: 'node server.cjs', wait_ms: 20_000 }))
    expect(started).toMatchObject({ process_id: 'p1', running: true, output: `up ${started.port}\n`, from: 0 })
    const fetched = dataOf(
      await call('bash', { command: `exec 3<>/dev/tcp/127.0.0.1/${started.port}; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; tail -n 1 <&3` }),
    )
    expect(fetched).toMatchObject({ stdout: 'hello\n', exit_code: 0 })
    const stopped = report(await call('process_stop', { process_id: 'p1' }))
    expect(stopped).toMatchObject({ running: false, exit_code: null, signal: 'SIGKILL' })
    expect(report(await call('process_read', { process_id: 'p1', from: 0 }))).toMatchObject({ running: false, output: started.output })
  })

  test('R70 a program that asks is answered, and its end is told', async () => {
    const { call } = await openWith()
    const started = report(
      await call('process_start', { command: 'read -p "name? " name; echo "hello $name"; exit 3', terminal: true, wait_ms: 20_000 }),
    )
    expect(started).toMatchObject({ running: true, waits_for_input: true, output: 'name? ' })
    const answered = report(await call('process_write', { process_id: 'p1', text: 'Ada', keys: ['enter'], wait_ms: 20_000 }))
    expect(answered.output).toContain('hello Ada')
    const ended = answered.running ? report(await call('process_read', { process_id: 'p1', wait_ms: 20_000 })) : answered
    expect(ended).toMatchObject({ running: false, exit_code: 3, signal: null })
    expect(failureOf(await call('process_write', { process_id: 'p1', text: 'more' }))).toMatchObject({ code: 'conflict' })
  })

  test('R70 without a terminal keys are what a pipe can take', async () => {
    const { call } = await openWith()
    report(await call('process_start', { command: `trap 'echo int' INT; while :; do sleep 0.05; done`, wait_ms: 0 }))
    const interrupted = report(await call('process_write', { process_id: 'p1', keys: ['ctrl+c'], wait_ms: 20_000 }))
    expect(interrupted.output).toBe('int\n')
    report(await call('process_start', { command: 'cat; echo over', wait_ms: 0 }))
    const closed = report(await call('process_write', { process_id: 'p2', text: 'last\n', keys: ['ctrl+d'], wait_ms: 20_000 }))
    expect(closed.output).toContain('last\n')
    expect(failureOf(await call('process_write', { process_id: 'p1', keys: ['up'] }))).toMatchObject({ code: 'invalid_arguments' })
  })

  test('R70 output is read by position, with what is missing and what is left', async () => {
    const { call } = await openWith({ limits: { sidecarBytes: 1000 } })
    await call('process_start', { command: 'seq 1 200000', wait_ms: 20_000 })
    const whole = Array.from({ length: 200_000 }, (_, n) => `${n + 1}\n`).join('')
    const first = report(await call('process_read', { process_id: 'p1', from: 0, max_bytes: 100 }))
    expect(first).toMatchObject({ output: whole.slice(0, 100), from: 0, next: 100, unread_bytes: whole.length - 100 })
    const second = report(await call('process_read', { process_id: 'p1', max_bytes: 100 }))
    expect(second).toMatchObject({ output: whole.slice(100, 200), from: 100, next: 200 })
    const gap = report(await call('process_read', { process_id: 'p1', from: 100_000, max_bytes: 100 }))
    expect(gap.missing_bytes).toBe(gap.from - 100_000)
    expect(gap.output).toBe(whole.slice(gap.from, gap.next))
    const last = report(await call('process_read', { process_id: 'p1', from: -7 }))
    expect(last).toMatchObject({ output: '200000\n', from: whole.length - 7, next: whole.length, running: false, exit_code: 0 })
  })

  test('R70 no character is cut in half', async () => {
    const { call } = await openWith()
    await call('process_start', { command: String.raw`printf 'aé€😀%.0s' $(seq 1 300); printf '\377\xe2'; sleep 60`, wait_ms: 300 })
    let text = ''
    for (let next = 0; text.length < 300 * 5;) {
      const part = report(await call('process_read', { process_id: 'p1', from: next, max_bytes: 17 }))
      expect(part.next).toBeGreaterThan(next)
      text += part.output
      next = part.next
    }
    expect(text.startsWith('aé€😀'.repeat(300))).toBe(true)
    const rest = report(await call('process_read', { process_id: 'p1', from: -2 }))
    expect(rest).toMatchObject({ output: '\uFFFD', unread_bytes: 1 })
    expect(report(await call('process_stop', { process_id: 'p1' })).output).toBe('\uFFFD')
  })

  test('R70 processes end with their session, all of their trees', async () => {
    const { session, call } = await openWith()
    const mark = sleepingMark()
    await call('process_start', { command: `setsid sleep ${mark} & (trap '' TERM INT HUP; sleep ${mark}) & sleep ${mark}`, wait_ms: 0 })
    expect(await eventually(() => running(mark).length >= 3)).toBe(true)
    await session.close()
    await expectGone(mark)
    expect(failureOf(await call('process_read', { process_id: 'p1' })).code).toBe('session_closed')
  })
})

describe('who may start and type', () => {
  test('R71 rules for bash judge the command line, and rules of its own come first', async () => {
    const { call } = await openWith({
      ...manifest([rule('bash echo * allow'), rule('bash rm * deny'), rule('process_start echo no* deny')]),
      headless: true,
    })
    expect(report(await call('process_start', { command: 'echo yes', wait_ms: 20_000 }))).toMatchObject({ output: 'yes\n', exit_code: 0 })
    expect(failureOf(await call('process_start', { command: 'echo yes; rm -rf x' })).code).toBe('permission_denied')
    expect(failureOf(await call('process_start', { command: 'echo no' })).code).toBe('permission_denied')
    expect(failureOf(await call('process_start', { command: 'sleep 60' })).code).toBe('permission_unattended')
    expect(failureOf(await call('process_read', { process_id: 'p9' }))).toMatchObject({ code: 'not_found' })
  })

  test('R71 what is typed is judged as a command line', async () => {
    const { call } = await openWith({
      ...manifest([rule('bash cat allow'), rule('bash echo * allow'), rule('bash rm * deny')]),
      headless: true,
    })
    await call('process_start', { command: 'cat', wait_ms: 0 })
    expect(report(await call('process_write', { process_id: 'p1', text: 'echo typed\n', wait_ms: 5_000 })).output).toBe('echo typed\n')
    expect(failureOf(await call('process_write', { process_id: 'p1', text: 'rm -rf .\n' })).code).toBe('permission_denied')
    expect(failureOf(await call('process_write', { process_id: 'p1', text: 'rm -rf .\n', secret: true })).code).toBe('permission_denied')
    expect(failureOf(await call('process_write', { process_id: 'p1', text: 'id\n' })).code).toBe('permission_unattended')
  })

  test('R71 without rules a start and a text are asked about, a look and a stop are not', async () => {
    const asked: string[] = []
    const prompt = ({ tool, subjects }: { tool: string; subjects: readonly { capability: string; resource: string }[] }) => {
      asked.push(`${tool}: ${subjects.map(({ capability, resource }) => `${capability} ${resource}`).join()}`)
      return 'allow_once' as const
    }
    const { call } = await openWith({ ...noRules, host: { prompt } })
    await call('process_start', { command: 'cat', wait_ms: 0 })
    await call('process_write', { process_id: 'p1', text: 'hi\n', wait_ms: 0 })
    await call('process_read', { process_id: 'p1' })
    await call('process_stop', { process_id: 'p1' })
    expect(asked).toEqual(['process_start: shell.run cat', 'process_write: shell.run hi'])
  })
})
