import {
  createTools,
  type CreateToolsOptions,
  detachProcess,
  detachedProcesses,
  endDetachedProcesses,
  openJournal,
  type ProcessReport,
  resumeProcesses,
} from 'toolwright'
import type { ToolSet } from 'ai'
import { execFileSync } from 'node:child_process'
import { describe, expect, onTestFinished, test } from 'vitest'
import { expectOutput } from '../support/output-schema.ts'
import { eventually, expectGone, running, sleepingMark } from '../support/processes.ts'
import { makeSandbox } from '../support/sandbox.ts'

function makeSet(options: Pick<CreateToolsOptions, 'journal' | 'runId'> = {}) {
  const fixture = makeSandbox()
  const tools = createTools({ rootDir: fixture.root, ...options, processes: true })
  onTestFinished(() => tools[Symbol.asyncDispose]())
  return { ...fixture, tools }
}

describe('createTools({ processes: true })', () => {
  test('has the four tools behind the others, and an end that no agent sees', () => {
    const { tools } = makeSet()
    const ids = ['read', 'write', 'edit', 'grep', 'bash', 'glob', 'process_start', 'process_read', 'process_write', 'process_stop']
    expect(Object.keys(tools)).toEqual(ids)
    expect(Reflect.ownKeys({ ...tools })).toEqual(ids)
    expect(Object.keys(createTools())).toEqual(ids.slice(0, 6))
    expect(tools satisfies ToolSet).not.toHaveProperty('close')
  })

  test('the example: an agent starts a server, fetches a page with bash, and stops it', () => {
    const output = execFileSync(process.execPath, ['examples/processes.mjs'], { encoding: 'utf8' })
    expect(output).toMatch(
      /process_start .*"port":\d+[^]*bash "hello from the server[^]*process_stop .*"running":false[^]*is stopped\.\n$/u,
    )
  })

  test('a process is started, read, answered and stopped, with reports that fit their schema', async () => {
    const { tools } = makeSet()
    const started = await tools.process_start.execute({
      command: 'read -p "name? " name; echo "hello $name"; cat',
      terminal: true,
      wait_ms: 20_000,
    })
    expect(started).toMatchObject({ process_id: 'p1', running: true, output: 'name? ', waits_for_input: true })
    const answered = await tools.process_write.execute({ process_id: 'p1', text: 'Ada\n', wait_ms: 5_000 })
    expect(answered.output).toContain('hello Ada')
    const read = await tools.process_read.execute({ process_id: 'p1', from: 0 })
    const stopped = await tools.process_stop.execute({ process_id: 'p1' })
    expect(stopped).toMatchObject({ running: false, signal: 'SIGKILL' })
    for (const report of [started, answered, read, stopped]) await expectOutput(tools.process_read, report)
    await expect(tools.process_read.execute({ process_id: 'p2' })).rejects.toMatchObject({ code: 'PROCESS_NOT_FOUND' })
    await expect(tools.process_write.execute({ process_id: 'p1', text: 'x' })).rejects.toMatchObject({ code: 'PROCESS_ENDED' })
  })

  test('commands of bash reach a server, and are told of processes that have ended', async () => {
    const { tools } = makeSet()
    const server = await tools.process_start.execute({
      command: `node -e "require('http').createServer((_, to) => to.end('hi')).listen(0, '127.0.0.1')"`,
      wait_ms: 20_000,
    })
    expect(server.port).toBeGreaterThan(0)
    const fetched = await tools.bash.execute({
      cmd: 'node',
      args: ['-e', `fetch('http://127.0.0.1:${server.port}').then((r) => r.text()).then(console.log)`],
    })
    expect(fetched).toBe('hi\n')
    const short = await tools.process_start.execute({ command: 'sleep 0.3; exit 4', wait_ms: 0 })
    expect(short.running).toBe(true)
    await new Promise((resolve) => setTimeout(resolve, 600))
    const shown = async () => {
      const input = { cmd: 'true' }
      const output = await tools.bash.execute(input, { toolCallId: 'c' })
      return tools.bash.toModelOutput?.({ toolCallId: 'c', input, output })
    }
    expect(await shown()).toEqual({ type: 'text', value: '(no output)\nThe process p2 (`sleep 0.3; exit 4`) has ended with exit code 4.' })
    expect(await shown()).toEqual({ type: 'text', value: '(no output)' })
  })

  test('they end with the set, with the abort of their run, and not with that of another', async () => {
    const { tools } = makeSet()
    const [mine, other, late] = [sleepingMark(), sleepingMark(), sleepingMark()]
    const run = new AbortController()
    const line = (mark: string) => `setsid sleep ${mark} & trap '' TERM; sleep ${mark}`
    await tools.process_start.execute({ command: line(mine), wait_ms: 0 }, { abortSignal: run.signal })
    await tools.process_start.execute({ command: line(other), wait_ms: 0 }, { abortSignal: new AbortController().signal })
    expect(await eventually(() => running(mine).length === 2 && running(other).length === 2)).toBe(true)
    run.abort()
    await expectGone(mine)
    expect(running(other)).toHaveLength(2)
    const aborted = new AbortController()
    const starting = tools.process_start.execute({ command: line(late), wait_ms: 20_000 }, { abortSignal: aborted.signal })
    setTimeout(() => aborted.abort(new Error('enough')), 150)
    await expect(starting).rejects.toThrow('enough')
    await expectGone(late)
    await tools[Symbol.asyncDispose]()
    await expectGone(other)
    await expect(tools.process_start.execute({ command: 'true' })).rejects.toMatchObject({ code: 'PROCESS_LIMIT' })
  })

  test('of a start that is given up, at whatever moment, nothing is alive afterwards', async () => {
    const { tools } = makeSet()
    const mark = sleepingMark()
    const command = `(setsid sleep ${mark} &); trap '' TERM; sleep ${mark}`
    for (let after = 0; after < 25; after += 1) {
      const controller = new AbortController()
      const start = tools.process_start.execute({ command, wait_ms: 60_000 }, { abortSignal: controller.signal })
      setTimeout(() => controller.abort(new Error('given up')), after)
      await expect(start).rejects.toThrow('given up')
      expect(running(mark)).toEqual([])
    }
  })

  test('one that is given to an owner outlives its set and its run, and a later set resumes it by its id', async () => {
    const box = makeSandbox()
    const make = () => createTools({ rootDir: box.root, processes: true })
    const first = make()
    const run = new AbortController()
    const started = await first.process_start.execute(
      { command: 'echo up > /tmp/shared; exec cat', wait_ms: 5_000 },
      { abortSignal: run.signal },
    )
    const id = await detachProcess(first, started.process_id, 'set')
    run.abort()
    await first[Symbol.asyncDispose]()
    await using later = make()
    expect(resumeProcesses(later, 'set')).toEqual([id])
    const echoed = await later.process_write.execute({ process_id: id, text: 'still here\n', wait_ms: 5_000 })
    expect(echoed).toMatchObject({ running: true, output: 'still here\n' })
    // Its temporary directory is that of later commands, also after the plan of commands has changed.
    execFileSync('git', ['init', '-q', box.root])
    expect(await later.bash.execute({ cmd: 'cat', args: ['/tmp/shared'] })).toBe('up\n')
    await endDetachedProcesses('set')
    expect(detachedProcesses('set')).toEqual([])
    expect(await later.process_read.execute({ process_id: id })).toMatchObject({ running: false, signal: 'SIGKILL' })
    await expect(detachProcess({}, 'p1', 'set')).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  })

  test('rows of calls, of the start and of the end are in the journal, and no secret is', async () => {
    const journal = await openJournal('memory:')
    onTestFinished(() => journal.close())
    const { tools } = makeSet({ journal, runId: 'run' })
    await tools.process_start.execute({ command: 'read -r secret; sleep 0.1; exit 5', wait_ms: 0 })
    await tools.process_write.execute({ process_id: 'p1', text: 'hunter22\n', secret: true, wait_ms: 5_000 })
    await tools.process_read.execute({ process_id: 'p1', wait_ms: 5_000 })
    await tools[Symbol.asyncDispose]()
    await journal.flush()
    const rows = await journal.listRun('run')
    expect(JSON.stringify(rows)).not.toContain('hunter22')
    const shown = rows.map(({ nodeId, toolName, status, inputJson }) => [nodeId, toolName, status, JSON.parse(inputJson ?? 'null')])
    expect(shown).toContainEqual(['agent', 'process_write', 'success', { process_id: 'p1', secret: true, wait_ms: 5000, text_bytes: 9 }])
    expect(shown).toContainEqual([
      'agent/processes',
      'process',
      'success',
      { process_id: 'p1', command: 'read -r secret; sleep 0.1; exit 5' },
    ])
    const end = rows.find(({ toolName }) => toolName === 'process')
    expect(JSON.parse(end?.outputJson ?? '')).toMatchObject({ exit_code: 5, signal: null, left_running: 0 })
  })

  test('a hundred starts at once: as many as the limit run, the others say what to do', async () => {
    const { tools } = makeSet()
    const all = await Promise.allSettled(
      Array.from({ length: 100 }, () => tools.process_start.execute({ command: 'sleep 60', wait_ms: 0 })),
    )
    const started = all.filter((one): one is PromiseFulfilledResult<ProcessReport> => one.status === 'fulfilled')
    expect(started).toHaveLength(32)
    expect(new Set(started.map(({ value }) => value.process_id)).size).toBe(32)
    const refused = all.filter((one) => one.status === 'rejected').map(({ reason }) => reason as Error)
    for (const { message } of refused) expect(message).toMatch(/^32 processes run already \[PROCESS_LIMIT\] Stop one/u)
    await tools.process_stop.execute({ process_id: started[0]?.value.process_id ?? '' })
    expect((await tools.process_start.execute({ command: 'echo again', wait_ms: 5_000 })).output).toBe('again\n')
  })

  test('the network guard and the root hold', async () => {
    const { tools } = makeSet()
    await expect(tools.process_start.execute({ command: 'npm install left-pad' })).rejects.toMatchObject({ code: 'TOOL_NETWORK_DISABLED' })
    await expect(tools.process_start.execute({ command: 'true', workdir: '/etc' })).rejects.toMatchObject({ code: 'TOOL_PATH_ESCAPE' })
    const report = await tools.process_start.execute({ command: 'echo x > /etc/toolwright-was-here; cat ~/.ssh/id_rsa', wait_ms: 20_000 })
    expect(report.exit_code).not.toBe(0)
  })
})

describe.skipIf(process.platform !== 'linux')("createTools({ processes: true, onTimeout: 'background' })", () => {
  function makePair(options: Pick<CreateToolsOptions, 'toolTimeoutMs' | 'maxOutputBytes'> = {}) {
    const { root } = makeSandbox()
    const kept = createTools({ rootDir: root, ...options, processes: true, onTimeout: 'background' })
    onTestFinished(() => kept[Symbol.asyncDispose]())
    return { plain: createTools({ rootDir: root, ...options }), kept }
  }
  const outcome = (call: Promise<string>) =>
    call.then(undefined, (error: Error & { code: string; details: object }) => ({ ...error, text: error.message }))

  test.each([
    ['sh', '-c', 'echo out; echo err >&2; echo out'],
    ['sh', '-c', 'echo failed; exit 7'],
    ['sh', '-c', 'kill -9 $$'],
    ['sh', '-c', 'echo x > /etc/toolwright-was-here'],
    ['seq', '1', '60000'],
    ['sh', '-c', String.raw`for i in $(seq 1 9000); do printf 'é'; done`],
    ['sh', '-c', String.raw`printf 'a\377\342\202'`],
    ['cat'],
    ['no-such-program'],
    ['curl', 'https://example.com'],
  ])('%s %s %s gives what any other bash gives', async (cmd, ...args) => {
    for (const maxOutputBytes of [500, 5_000]) {
      const { plain, kept } = makePair({ maxOutputBytes })
      const [one, other] = [await outcome(plain.bash.execute({ cmd, args })), await outcome(kept.bash.execute({ cmd, args }))]
      expect(other).toEqual(one)
    }
  })

  test('a command that reaches it goes on, says as which process, and is stopped', async () => {
    const { kept } = makePair({ toolTimeoutMs: 1_000 })
    const mark = sleepingMark()
    const output = await kept.bash.execute({ cmd: 'sh', args: ['-c', `echo begun; sleep 2; echo more; sleep ${mark}`] })
    expect(output).toBe(
      'begun\n[The command still runs after 1000 ms, and continues as process p1: read its output with process_read, and end it with process_stop.]',
    )
    expect(await kept.process_read.execute({ process_id: 'p1', wait_ms: 5_000 })).toMatchObject({
      running: true,
      output: 'more\n',
      from: 6,
    })
    expect(await kept.process_stop.execute({ process_id: 'p1' })).toMatchObject({ running: false })
    await expectGone(mark)
  })

  test('an abort kills it; what cannot be had together is refused', async () => {
    const { kept } = makePair({ toolTimeoutMs: 200 })
    const [before, after] = [sleepingMark(), sleepingMark()]
    await expect(kept.bash.execute({ cmd: 'sleep', args: [before] }, { abortSignal: AbortSignal.timeout(100) })).rejects.toThrow()
    await expectGone(before)
    const run = new AbortController()
    await kept.bash.execute({ cmd: 'sleep', args: [after] }, { abortSignal: run.signal })
    expect(running(after)).toHaveLength(1)
    run.abort()
    await expectGone(after)
    expect(() => createTools({ onTimeout: 'background' })).toThrow('needs processes: true')
    expect(() => createTools({ onTimeout: 'background', processes: true, streamOutput: true })).toThrow('streamOutput')
  })
})
