import { execFile } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { createTools } from 'toolwright'
import { expect, onTestFinished, test } from 'vitest'
import type { KeptProcess } from '../../ts/core/kept-process.ts'
import { ProcessOwner } from '../../ts/core/process-owner.ts'
import { keep, printed, says } from '../support/kept.ts'
import { eventually, expectGone, running, sleepingMark } from '../support/processes.ts'
import { makeSandbox } from '../support/sandbox.ts'

async function keepProcess(...call: Parameters<typeof keep>): Promise<KeptProcess> {
  const process = await keep(...call)
  onTestFinished(() => void process.kill())
  return process
}

const sh = (script: string): [string, ...string[]] => ['sh', '-c', script]

test('input, both streams as bytes, and how it ended', async () => {
  const { root } = makeSandbox()
  const seen: string[] = []
  const observer = {
    onStart: () => seen.push('start'),
    onInput: (bytes: Uint8Array) => seen.push(`input ${Buffer.from(bytes).toString()}`),
    onEnd: ({ exitCode }: { exitCode?: number }) => seen.push(`end ${exitCode}`),
  }
  const process = await keepProcess(
    root,
    sh(String.raw`read a; echo "<$a>"; printf '\377' >&2; cat; exit 3`),
    { input: 'pipe', stderrApart: true },
    { observer },
  )
  expect(process.end).toBeUndefined()
  expect(await process.write('one\n')).toBe(true)
  await says(process, '<one>\n')
  expect(await process.write(new Uint8Array([116, 119, 111]))).toBe(true)
  process.closeInput()
  const end = await process.wait()
  expect(end).toMatchObject({ exitCode: 3, leftRunning: 0 })
  expect(await printed(process)).toBe('<one>\ntwo')
  expect((await process.read({ stream: 'stderr' })).bytes).toEqual(Buffer.from([255]))
  expect(await process.write('late')).toBe(false)
  expect(process.end).toEqual(end)
  await eventually(() => seen.length === 4)
  expect(seen).toEqual(['start', 'input one\n', 'input two', 'end 3'])
})

test('a program that cannot be started is an error of the start', async () => {
  const { root } = makeSandbox()
  await expect(keep(root, ['no-such-program'])).rejects.toMatchObject({ code: 'PROCESS_FAILED' })
  await expect(keep(root, ['true'], {}, { signal: AbortSignal.abort(new Error('no')) })).rejects.toThrow('no')
})

test('a read waits for output, for its time, and for an abort', async () => {
  const { root } = makeSandbox()
  const process = await keepProcess(root, sh('read a; echo "$a"; sleep 60'), { input: 'pipe' })
  const nothing = await process.read({ waitMs: 50 })
  expect(nothing).toMatchObject({ at: 0, total: 0, isEnded: false })
  const controller = new AbortController()
  const waiting = process.read({ waitMs: Infinity, signal: controller.signal })
  const next = process.read({ waitMs: Infinity })
  controller.abort(new Error('enough'))
  await expect(waiting).rejects.toThrow('enough')
  await process.write('x\n')
  expect((await next).bytes.toString()).toBe('x\n')
  expect(await process.wait(20)).toBeUndefined()
})

test('a read of nothing and waits of odd times end', async () => {
  const { root } = makeSandbox()
  const process = await keepProcess(root, sh('echo x; sleep 60'), { input: 'pipe' })
  await says(process, 'x')
  const nothing = await process.read({ maxBytes: 0, waitMs: Infinity })
  expect(nothing).toMatchObject({ at: 0, total: 2, isEnded: false })
  expect(nothing.bytes).toHaveLength(0)
  expect((await process.read({ from: Number.NaN, waitMs: Number.NaN })).bytes.toString()).toBe('x\n')
  expect((await process.read({ from: -1, maxBytes: 2 ** 53 })).bytes.toString()).toBe('x\n')
  expect(await process.read({ from: 2 ** 53, waitMs: Number.NaN })).toMatchObject({ at: 2, total: 2 })
  expect(await process.wait(Number.NaN)).toBeUndefined()
  expect(await process.wait(-Infinity)).toBeUndefined()
  expect(await process.waitingForInput({ waitMs: Number.NaN })).toBe('busy')
  await process.kill()
  expect(await process.read({ maxBytes: 0, waitMs: Infinity })).toMatchObject({ total: 2 })
})

test('the size of a terminal has limits', async () => {
  const { root } = makeSandbox()
  const process = await keepProcess(root, sh('read a; stty size; read a; stty size'), { input: 'terminal' })
  expect(process.resize(0, 0)).toBe(true)
  await process.write('\r')
  await says(process, '0 0')
  for (const [columns, rows] of [
    [65_536, 24],
    [-1, 24],
    [80, Number.NaN],
    [80, 2.5],
  ] as const) {
    expect(() => process.resize(columns, rows)).toThrow('must be a whole number from 0 to 65535')
  }
  expect(process.resize(65_535, 1)).toBe(true)
  await process.write('\r')
  await says(process, '1 65535')
  await expect(keep(root, ['true'], { input: 'terminal', size: { columns: 65_536, rows: 1 } })).rejects.toMatchObject({
    code: 'INVALID_INPUT',
  })
  await expect(process.ready({ port: 65_536 })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  expect(() => process.preview(0)).toThrow('port must be a whole number from 1 to 65535')
})

test('a terminal echoes, has a size and a key for the end of input', async () => {
  const { root } = makeSandbox()
  const process = await keepProcess(root, sh('tty; read a; stty size; cat'), { input: 'terminal', size: { columns: 100, rows: 30 } })
  expect(process.hasTerminal).toBe(true)
  await says(process, '/dev/pts/')
  expect(process.resize(120, 40)).toBe(true)
  await process.write('go\r')
  await says(process, '40 120')
  process.closeInput()
  expect(await process.wait()).toMatchObject({ exitCode: 0 })
  const piped = await keepProcess(root, ['cat'], { input: 'pipe' })
  expect(piped.resize(1, 1)).toBe(false)
})

test('signals by name', async () => {
  const { root } = makeSandbox()
  const process = await keepProcess(root, sh('trap "echo hup; exit 9" HUP; echo up; while :; do sleep 0.02; done'))
  await says(process, 'up')
  expect(process.signal('SIGNOTHING')).toBe(false)
  expect(process.signal('SIGHUP')).toBe(true)
  expect(await process.wait()).toMatchObject({ exitCode: 9 })
  const killed = await keepProcess(root, ['sleep', '60'])
  expect(await killed.kill()).toMatchObject({ signal: 'SIGKILL' })
})

test('an owner ends what it owns, and nothing else', async () => {
  const { root } = makeSandbox()
  const [one, two, other] = [sleepingMark(), sleepingMark(), sleepingMark()]
  const outside = await keepProcess(root, ['sleep', other])
  {
    await using owner = new ProcessOwner()
    const first = owner.add(await keep(root, sh(`setsid sleep ${one} & sleep ${one}`)))
    owner.add(await keep(root, sh(`trap '' TERM; sleep ${two}`)))
    expect(owner.list().map(({ id }) => id)).toEqual(['p1', 'p2'])
    expect(owner.get(first)?.end).toBeUndefined()
    expect(await eventually(() => running(one).length > 0)).toBe(true)
  }
  await expectGone(one)
  await expectGone(two)
  expect(outside.end).toBeUndefined()
})

test('output that is held waits for its reader, and none of it is lost', async () => {
  const { root } = makeSandbox()
  const process = await keepProcess(root, ['seq', '1', '1000000'], { holds: true, tailBytes: 65_536, headBytes: 0 })
  await pause(100)
  expect(process.end).toBeUndefined()
  let text = ''
  for await (const bytes of process.output()) text += Buffer.from(bytes).toString()
  expect(text).toBe(Array.from({ length: 1_000_000 }, (_, n) => `${n + 1}\n`).join(''))
  expect(await process.wait()).toMatchObject({ exitCode: 0 })
})

test('of output that is not held, the file has the beginning and memory the end', async () => {
  const { root } = makeSandbox()
  const process = await keepProcess(root, ['seq', '1', '200000'], { headBytes: 100, tailBytes: 100, fileBytes: 1000 })
  const { exitCode } = (await process.wait()) ?? {}
  expect(exitCode).toBe(0)
  const whole = Array.from({ length: 200_000 }, (_, n) => `${n + 1}\n`).join('')
  const first = await process.read({ maxBytes: 1 << 20 })
  expect(first.bytes.toString()).toBe(whole.slice(0, first.bytes.length))
  const second = await process.read({ from: 100, maxBytes: 1 << 20 })
  expect(second.bytes.toString()).toBe(whole.slice(100, 1000))
  const gap = await process.read({ from: 1000, maxBytes: 1 << 20 })
  expect(gap).toMatchObject({ at: whole.length - 100, total: whole.length, isEnded: true })
  expect(gap.bytes.toString()).toBe(whole.slice(-100))
})

const SERVER = `
import socket, time
time.sleep(0.2)
l = socket.socket()
l.bind(('127.0.0.1', 0))
l.listen()
while True:
    c = l.accept()[0]
    c.recv(65536)
    c.sendall(b'HTTP/1.0 200 OK\\r\\nContent-Length: 5\\r\\n\\r\\nhello')
    c.close()
`

test('a server is ready when it listens, is reached by commands and by a preview, and is gone with its process', async () => {
  const { root } = makeSandbox()
  const server = await keepProcess(root, ['/usr/bin/python3', '-c', SERVER])
  expect(await server.ready({ waitMs: 1 })).toBeUndefined()
  const port = await server.ready({ waitMs: 20_000 })
  if (port === undefined) throw new Error(await printed(server, 'stderr'))
  expect(await server.ready({ port })).toBe(port)
  expect(await server.ready({ port: port === 1 ? 2 : 1, waitMs: 50 })).toBeUndefined()
  const { bash } = createTools({ rootDir: root })
  const script = `import urllib.request as u; print(u.urlopen('http://127.0.0.1:${port}').read().decode())`
  expect(await bash.execute({ cmd: '/usr/bin/python3', args: ['-c', script] }, { toolCallId: 'c' })).toBe('hello\n')
  const preview = server.preview(port)
  const address = `http://${preview?.host}:${preview?.port}/`
  expect(await (await fetch(address)).text()).toBe('hello')
  preview?.close()
  await expect(fetch(address)).rejects.toThrow()
  const again = server.preview(port)
  await server.kill()
  await expect(fetch(`http://127.0.0.1:${again?.port}/`)).rejects.toThrow()
  expect(server.preview(port)).toBeUndefined()
  expect(await server.ready()).toBeUndefined()
})

test('waiting for input is seen, and so is its end', async () => {
  const { root } = makeSandbox()
  const process = await keepProcess(root, sh('printf "name? "; read a; sleep 0.3; echo "hello $a"; sleep 60'), { input: 'terminal' })
  expect(await process.waitingForInput({ waitMs: 20_000 })).toBe('waiting')
  expect(await printed(process)).toBe('name? ')
  await process.write('you\r')
  expect(await process.waitingForInput({ waitMs: 100 })).toBe('busy')
  await says(process, 'hello you')
  await process.kill()
  expect(await process.waitingForInput()).toBe('ended')
})

test('a program with a process that nobody waits for ends, and the process with it', async () => {
  const { root } = makeSandbox()
  const mark = sleepingMark()
  const program = `
    import { nativeAddon } from ${JSON.stringify(new URL('../../dist/core/native.js', import.meta.url).href)}
    import { startProcess } from ${JSON.stringify(new URL('../../dist/core/kept-process.js', import.meta.url).href)}
    import { planCommand } from ${JSON.stringify(new URL('../../dist/toolkit/tools/call-plan.js', import.meta.url).href)}
    import { resolveSettings } from ${JSON.stringify(new URL('../../dist/toolkit/settings.js', import.meta.url).href)}
    const tools = { rootDir: ${JSON.stringify(root)} }
    const plan = planCommand({ cmd: 'sleep', args: ['${mark}'] }, { settings: resolveSettings(undefined, tools, 'bash') }, tools)
    const start = (addon, keep, cancel) => addon.startProcess(plan.settings(addon), plan.command, keep, cancel)
    globalThis.kept = await startProcess(plan.limits, start, {}, { onEnd: () => undefined })
    console.log('started')
  `
  const args = process.versions['bun'] === undefined ? ['--input-type=module', '-e', program] : ['-e', program]
  const output = await new Promise<string>((resolve) => {
    execFile(process.execPath, args, { timeout: 15_000 }, (error, stdout, stderr) =>
      resolve(error === null ? stdout : `${error.message}${stderr}`),
    )
  })
  expect(output).toBe('started\n')
  await expectGone(mark)
})
