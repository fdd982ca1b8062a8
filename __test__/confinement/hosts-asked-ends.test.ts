// docs/tools.md, "Hosts by name": what ends while a command waits for an answer
import { setTimeout as sleep } from 'node:timers/promises'
import { type CreateToolsOptions, createTools, type HostDecision, type SandboxHosts } from 'toolwright'
import { createSandboxSession } from 'toolwright/sandbox'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeSandbox } from '../support/sandbox.ts'
import { askingCommands, AskingHost, isHeld, serveHosts } from './asking-host.ts'

const denial = { layer: 'network', subject: 'a.ask.test:80', option: 'sandbox.network.ask' }
const curl = 'curl -sS http://a.ask.test/'

/** Within it, a command that ends does so. */
const SOON = 5_000

describe.skipIf(!isHeld)('a command that waits for an answer about a host', { timeout: 60_000 }, () => {
  test('ends with the abort of its call, and its question is given up', async () => {
    const { network, visits } = await serveHosts()
    const host = new AskingHost()
    const { sh } = askingCommands({ ...network, onAsk: host.onAsk })
    const run = new AbortController()
    const call = sh(`${curl} || echo went on`, run.signal)
    const { signal, answer } = await host.question()
    expect(signal.aborted).toBe(false)
    const since = performance.now()
    run.abort(new Error('enough'))
    await expect(call).rejects.toThrow('enough')
    expect(performance.now() - since).toBeLessThan(SOON)
    await expect.poll(() => signal.aborted, { timeout: SOON }).toBe(true)
    // A late answer changes nothing, and is not that of the next command.
    answer('allow_once')
    const next = sh(curl)
    const again = await host.question(1)
    expect(visits).toEqual([])
    again.answer('allow_once')
    expect(await next).toBe('a.ask.test /\n')
    expect(host.asked).toHaveLength(2)
  })

  test('ends at its time limit if nobody ever answers, and an answer after the end does nothing', async () => {
    const { network, visits } = await serveHosts()
    const host = new AskingHost()
    const { refused, sh } = askingCommands({ ...network, onAsk: host.onAsk }, { toolTimeoutMs: 1_000 })
    const { code, details } = await refused(curl)
    expect(code).toBe('PROCESS_TIMEOUT')
    expect(details['denials']).toContainEqual(denial)
    const { signal, answer } = await host.question()
    await expect.poll(() => signal.aborted, { timeout: SOON }).toBe(true)
    answer('allow_always')
    await sleep(100)
    expect(visits).toEqual([])
    // Nothing was agreed to, so it is asked again.
    const next = sh(curl)
    ;(await host.question(1)).answer('allow_once')
    expect(await next).toBe('a.ask.test /\n')
  })

  const failing: [string, () => unknown][] = [
    [
      'throws',
      () => {
        throw new TypeError('no screen')
      },
    ],
    ['rejects', () => Promise.reject(new Error('no screen'))],
    ['throws what is no error', () => Promise.reject(undefined)],
    ['gives nothing', () => undefined],
    ['gives true', () => true],
    ['gives another word', () => 'yes'],
    ['gives an object', () => ({ decision: 'allow_once' })],
    ['gives a list', () => Promise.resolve(['allow_once'])],
  ]
  test.each(failing)('is refused if onAsk %s', async (_, onAsk) => {
    const { network, visits } = await serveHosts()
    const { refused } = askingCommands({ ...network, onAsk: onAsk as never })
    const since = performance.now()
    const { code, hint, details } = await refused(curl)
    expect(performance.now() - since).toBeLessThan(SOON)
    expect(code).toBe('TOOL_COMMAND_FAILED')
    expect(hint).toContain('`a.ask.test:80`: the host program was asked, and did not agree')
    expect(details['denials']).toContainEqual(denial)
    expect(visits).toEqual([])
  })

  test('a program that is killed while it waits ends alone', async () => {
    const { network } = await serveHosts()
    const host = new AskingHost()
    const { sh } = askingCommands({ ...network, onAsk: host.onAsk })
    const call = sh(`timeout 0.5 ${curl}; echo $?; ${curl}`)
    const { signal, answer } = await host.question()
    await sleep(1_500)
    // The question is the command's, and is still open for the next program.
    expect(signal.aborted).toBe(false)
    answer('allow_once')
    expect(await call).toBe('124\na.ask.test /\n')
    expect(host.asked).toEqual(['a.ask.test:80'])
  })
})

describe.skipIf(!isHeld)('what outlives its call', { timeout: 60_000 }, () => {
  function makeSet(network: SandboxHosts, options: Pick<CreateToolsOptions, 'onTimeout' | 'toolTimeoutMs'> = {}) {
    const tools = createTools({ rootDir: makeSandbox().root, processes: true, ...options, sandbox: { network } })
    onTestFinished(() => tools[Symbol.asyncDispose]())
    return tools
  }
  type Tools = ReturnType<typeof makeSet>
  const reads = (tools: Tools, output: string) =>
    expect.poll(async () => (await tools.process_read.execute({ process_id: 'p1', from: 0 })).output, { timeout: 10_000 }).toBe(output)

  test('a process asks whenever it connects, and an agreement holds as long as it runs', async () => {
    const { network } = await serveHosts()
    const host = new AskingHost()
    const tools = makeSet({ ...network, onAsk: host.onAsk })
    const command = `while read name; do curl -sS http://$name.ask.test/ 2>&1 | sed 's/.*curl: (7).*/no/'; done`
    await tools.process_start.execute({ command, wait_ms: 0 })
    const write = (text: string) => tools.process_write.execute({ process_id: 'p1', text, wait_ms: 0 })
    await write('a\n')
    ;(await host.question()).answer('allow_once')
    await reads(tools, 'a.ask.test /\n')
    await write('a\nb\n')
    ;(await host.question(1)).answer('reject_once')
    await reads(tools, 'a.ask.test /\na.ask.test /\nno\n')
    await write('c\n')
    const { signal } = await host.question(2)
    expect(host.asked).toEqual(['a.ask.test:80', 'b.ask.test:80', 'c.ask.test:80'])
    expect(signal.aborted).toBe(false)
    await tools.process_stop.execute({ process_id: 'p1' })
    await expect.poll(() => signal.aborted, { timeout: SOON }).toBe(true)
  })

  test('the end of the set gives up what its processes ask', async () => {
    const { network } = await serveHosts()
    const host = new AskingHost()
    const tools = makeSet({ ...network, onAsk: host.onAsk })
    await tools.process_start.execute({ command: curl, wait_ms: 0 })
    const { signal } = await host.question()
    await tools[Symbol.asyncDispose]()
    await expect.poll(() => signal.aborted, { timeout: SOON }).toBe(true)
  })

  test('a command that continues after its timeout keeps its question', async () => {
    const { network } = await serveHosts()
    const host = new AskingHost()
    const tools = makeSet({ ...network, onAsk: host.onAsk }, { onTimeout: 'background', toolTimeoutMs: 1_500 })
    const output = await tools.bash.execute({ cmd: 'bash', args: ['-c', `echo begun; ${curl}`] })
    expect(output).toContain('continues as process p1')
    const { signal, answer } = await host.question()
    expect(signal.aborted).toBe(false)
    answer('allow_once')
    await reads(tools, 'begun\na.ask.test /\n')
  })

  test('a sandbox session asks for its commands and its processes', async () => {
    const { network } = await serveHosts()
    const host = new AskingHost()
    const session = createSandboxSession({ rootDir: makeSandbox().root, sandbox: { network: { ...network, onAsk: host.onAsk } } })
    onTestFinished(() => session.close())
    const ran = session.run({ command: curl })
    ;(await host.question()).answer('allow_always')
    expect(await ran).toMatchObject({ exitCode: 0, stdout: 'a.ask.test /\n' })
    const refused = session.run({ command: 'curl -sS http://b.ask.test/' })
    ;(await host.question(1)).answer('reject_once')
    expect((await refused).exitCode).toBe(7)
    const process = await session.spawn({ command: `${curl}; curl -sS http://c.ask.test/` })
    const { host: third, signal } = await host.question(2)
    expect(third).toBe('c.ask.test')
    const text = await process.stdout.getReader().read()
    expect(new TextDecoder().decode(text.value)).toBe('a.ask.test /\n')
    const run = new AbortController()
    const aborted = session.run({ command: 'curl -sS http://b.ask.test/', abortSignal: run.signal })
    const other = await host.question(3)
    run.abort(new Error('enough'))
    await expect(aborted).rejects.toThrow('enough')
    await expect.poll(() => other.signal.aborted, { timeout: SOON }).toBe(true)
    expect(signal.aborted).toBe(false)
    await session.close()
    await expect.poll(() => signal.aborted, { timeout: SOON }).toBe(true)
  })
})

describe.skipIf(!isHeld)('two commands at once', { timeout: 60_000 }, () => {
  const twice = async (decision: HostDecision) => {
    const { network } = await serveHosts()
    const host = new AskingHost()
    const { sh } = askingCommands({ ...network, onAsk: host.onAsk })
    const quiet = `${curl} 2>/dev/null || echo no`
    const calls = [sh(quiet), sh(quiet)]
    const { answer } = await host.question()
    await sleep(500)
    // Nobody reads the same question twice at a time.
    expect(host.asked).toHaveLength(1)
    answer(decision)
    return { host, calls, sh: () => sh(quiet) }
  }

  test('an answer for once is that of one of them', async () => {
    const { host, calls } = await twice('allow_once')
    ;(await host.question(1)).answer('reject_once')
    expect((await Promise.all(calls)).sort()).toEqual(['a.ask.test /\n', 'no\n'])
    expect(host.asked).toEqual(['a.ask.test:80', 'a.ask.test:80'])
  })

  test.each([
    ['allow_always', 'a.ask.test /\n'],
    ['reject_always', 'no\n'],
  ] as const)('%s is for both, and for later ones', async (decision, output) => {
    const { host, calls, sh } = await twice(decision)
    expect(await Promise.all(calls)).toEqual([output, output])
    expect(await sh()).toBe(output)
    expect(host.asked).toEqual(['a.ask.test:80'])
  })

  test('one that ends leaves the question to the other', async () => {
    const { network } = await serveHosts()
    const host = new AskingHost()
    const { sh } = askingCommands({ ...network, onAsk: host.onAsk })
    const run = new AbortController()
    const first = sh(curl, run.signal)
    await host.question()
    const second = sh(curl)
    await sleep(300)
    expect(host.asked).toHaveLength(1)
    run.abort(new Error('enough'))
    await expect(first).rejects.toThrow('enough')
    ;(await host.question(1)).answer('allow_once')
    expect(await second).toBe('a.ask.test /\n')
  })
})
