import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpus, loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { eventually, expectGone, isRunning, running, sleepingMark } from '../support/processes.ts'
import { makeSandbox } from '../support/sandbox.ts'
import { cli, connectTo, eras } from './mcp-client.ts'

const inBun = process.versions['bun'] !== undefined
const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
}

/** Starts a server that is talked to line by line. */
function startRaw(root: string, args: readonly string[] = [], runtime: readonly string[] = []) {
  const child = spawn(process.execPath, [...runtime, cli, 'mcp', '--root', root, ...args], { stdio: 'pipe' })
  onTestFinished(() => void child.kill('SIGKILL'))
  const written = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (written.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (written.stderr += text))
  const ended = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>
  const send = (message: object): void => void child.stdin.write(`${JSON.stringify(message)}\n`)
  return { child, written, ended, send }
}

const sleepCall = (mark: string, id = 2) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'bash', arguments: { command: `sleep ${mark}` } },
})

/** The process of a command as the host sees it. */
const pidOf = (mark: string): number =>
  Number(
    running(mark)
      .map((line) => line.trim().split(/\s+/u)[0])
      .at(-1),
  )

test.skipIf(process.platform !== 'linux').each(eras)('cancelling a call of %s leaves no process within 50 ms', async (era) => {
  const { root } = makeSandbox()
  const { call } = await connectTo(root, era, { args: ['--allow', 'bash'] })
  const times: number[] = []
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const mark = sleepingMark()
    const controller = new AbortController()
    const made = call('bash', { command: `sleep ${mark}` }, { signal: controller.signal }).catch((error: unknown) => error)
    expect(await eventually(() => running(mark).length > 0, 5_000)).toBe(true)
    const pid = pidOf(mark)
    const start = performance.now()
    controller.abort()
    while (isRunning(pid)) await sleep(1)
    times.push(performance.now() - start)
    await made
    await expectGone(mark)
  }
  const shown = times.map((ms) => ms.toFixed(1)).join(', ')
  console.warn(`cancelled until gone, ms: ${shown}`)
  // The message's way counts too; a busy machine delays single ones.
  expect(Math.min(...times)).toBeLessThanOrEqual(50)
})

test.each(['stdin', 'SIGTERM', 'SIGINT', 'SIGHUP'] as const)('the end of the client by %s ends server and commands', async (how) => {
  const { root } = makeSandbox()
  const { child, ended, send } = startRaw(root, ['--allow', 'bash'])
  const mark = sleepingMark()
  send(initialize)
  send(sleepCall(mark))
  expect(await eventually(() => running(mark).length > 0, 10_000)).toBe(true)
  if (how === 'stdin') child.stdin.end()
  else child.kill(how)
  expect(await ended).toEqual([0, null])
  await expectGone(mark)
})

test('the death of the client ends server and commands', async () => {
  const { root } = makeSandbox()
  const mark = sleepingMark()
  const program = `
    const { spawn } = require('node:child_process')
    const child = spawn(process.execPath, ${JSON.stringify([cli, 'mcp', '--root', root, '--allow', 'bash'])}, { stdio: ['pipe', 'pipe', 'ignore'] })
    for (const message of ${JSON.stringify([initialize, sleepCall(mark)])}) child.stdin.write(JSON.stringify(message) + '\\n')
    child.stdout.resume()
    console.log(child.pid)
    setInterval(() => {}, 1000)`
  const client = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  const server = Number(String((await once(client.stdout, 'data'))[0]))
  expect(await eventually(() => running(mark).length > 0, 10_000)).toBe(true)
  client.kill('SIGKILL')
  await expectGone(mark)
  expect(await eventually(() => !isRunning(server), 5_000)).toBe(true)
})

test('stdout has nothing but messages, whatever prints', async () => {
  const { root } = makeSandbox()
  const noise = "setInterval(() => { console.log('noise'); console.info('noise'); process.stdout.write('noise\\n') }, 5)"
  const fixture = makeSandbox()
  fixture.put('noise.mjs', noise)
  // It begins before the server does; what it prints until then is not the server's.
  fixture.put('late.mjs', `setTimeout(() => import(${JSON.stringify(fixture.at('noise.mjs'))}), 1_500)`)
  const { child, written, ended, send } = startRaw(root, ['--allow', 'bash'], [inBun ? '--preload' : '--import', fixture.at('late.mjs')])
  send(initialize)
  expect(await eventually(() => written.stderr.includes('noise'), 10_000)).toBe(true)
  send({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'bash', arguments: { command: 'echo out; echo err >&2' } } })
  expect(await eventually(() => written.stdout.includes('"id":2'), 10_000)).toBe(true)
  child.stdin.end()
  await ended
  const messages = written.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { jsonrpc: string; id: number })
  expect(messages.map(({ jsonrpc, id }) => [jsonrpc, id])).toEqual([
    ['2.0', 1],
    ['2.0', 2],
  ])
})

test('lines that are no messages do not end the server', async () => {
  const { root } = makeSandbox()
  const { child, written, ended, send } = startRaw(root)
  child.stdin.write('not json\n{"jsonrpc":"2.0"}\n[]\n')
  send(initialize)
  expect(await eventually(() => written.stdout.includes('"id":1'), 10_000)).toBe(true)
  child.stdin.end()
  expect(await ended).toEqual([0, null])
})

test('the first answer comes within 200 ms more than Node takes to start', async () => {
  const { root } = makeSandbox()
  const echo = "process.stdin.once('data', () => { process.stdout.write('x'); process.stdin.destroy() })"
  const first = async (args: readonly string[]): Promise<number> => {
    const start = performance.now()
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'ignore'] })
    child.stdin.write(`${JSON.stringify(initialize)}\n`)
    await once(child.stdout, 'data')
    const ms = performance.now() - start
    child.stdin.end()
    await once(child, 'close')
    return ms
  }
  const bare: number[] = []
  const ours: number[] = []
  for (let attempt = 0; attempt < 5; attempt += 1) {
    bare.push(await first(['-e', echo]))
    ours.push(await first([cli, 'mcp', '--root', root]))
  }
  const more = Math.min(...ours) - Math.min(...bare)
  console.warn(`first answer: ${Math.min(...ours).toFixed(0)} ms, ${more.toFixed(0)} ms more than the runtime alone`)
  // A machine that does other work says nothing about it.
  if ((loadavg()[0] ?? 0) < cpus().length) expect(more).toBeLessThanOrEqual(200)
}, 60_000)
