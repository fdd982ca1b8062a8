import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, realpathSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { openJournal } from 'toolwright'
import { createSandboxSession, type SandboxSessionOptions } from 'toolwright/sandbox'
import { describe, expect, onTestFinished, test } from 'vitest'
import { expectGone, sleepingMark } from '../support/processes.ts'
import { attempt, refused } from '../support/refused.ts'
import { makeSandbox } from '../support/sandbox.ts'
import { bytesOf, collect, streamOf } from './promises/promise.ts'

function scene(options: Partial<SandboxSessionOptions> = {}) {
  const fixture = makeSandbox()
  const session = createSandboxSession({ rootDir: fixture.root, ...options })
  onTestFinished(() => session.close())
  const out = async (command: string) => (await session.run({ command })).stdout.trim()
  return { fixture, session, out }
}

describe('the space of a session', () => {
  test('two sessions of one directory share the directory, and neither /tmp nor the loopback interface', async () => {
    const { fixture, session } = scene()
    const other = createSandboxSession({ rootDir: fixture.root })
    onTestFinished(() => other.close())
    await session.writeTextFile({ path: '/tmp/mine', content: '1' })
    await session.writeTextFile({ path: 'ours', content: '2' })
    expect(await other.readTextFile({ path: '/tmp/mine' })).toBeNull()
    expect(await other.readTextFile({ path: 'ours' })).toBe('2')
    expect(existsSync('/tmp/mine')).toBe(false)
  })

  test('a private home directory can be written, and lives as long as the session', async () => {
    const { session, out } = scene({ home: 'private' })
    const home = await out('mkdir -p ~/.config && echo kept > ~/.config/file && echo "$HOME"')
    expect(await out('cat ~/.config/file')).toBe('kept')
    expect(await session.readTextFile({ path: `${home}/.config/file` })).toBe('kept\n')
    await session.writeTextFile({ path: `${home}/more`, content: 'by the method' })
    expect(await out('cat ~/more')).toBe('by the method')
    expect(existsSync(home)).toBe(true)
    await session.close()
    expect(existsSync(home)).toBe(false)
  })

  test('without one the home directory is that of the user, and cannot be written', async () => {
    const { session, out } = scene()
    expect(await out('echo "$HOME"')).toBe(process.env['HOME'])
    expect((await session.run({ command: 'touch ~/.toolwright-test' })).exitCode).not.toBe(0)
    expect(existsSync(`${process.env['HOME']}/.toolwright-test`)).toBe(false)
  })

  test('env inherit has a private home directory too', async () => {
    process.env['TOOLWRIGHT_TEST_TOKEN'] = 'all of it'
    onTestFinished(() => void delete process.env['TOOLWRIGHT_TEST_TOKEN'])
    const { out } = scene({ env: 'inherit', home: 'private' })
    expect(await out('echo "$TOOLWRIGHT_TEST_TOKEN"; touch ~/x && echo written')).toBe('all of it\nwritten')
  })

  test('shell: sh', async () => {
    expect(await scene({ shell: 'sh' }).out('echo "$0"')).toBe('/bin/sh')
  })

  test('a server that was spawned is reached by the next command', async () => {
    const { fixture, session, out } = scene()
    fixture.put(
      'server.mjs',
      "import { createServer } from 'node:http'\ncreateServer((_, r) => r.end('served')).listen(4123, '127.0.0.1', () => console.log('up'))",
    )
    const server = await session.spawn({ command: `'${process.execPath}' server.mjs` })
    await server.stdout.getReader().read()
    fixture.put('fetch.mjs', "console.log(await (await fetch('http://127.0.0.1:4123')).text())")
    expect(await out(`'${process.execPath}' fetch.mjs`)).toBe('served')
    await server.kill()
  })

  test('the context of a task changes neither directory nor network', async () => {
    const { fixture, out } = scene()
    expect(await fixture.within(() => out('pwd'), { rootDir: fixture.outside, allowNetwork: true })).toBe(realpathSync(fixture.root))
  })

  test.each<[string, object, RegExp]>([
    ['no directory', {}, /^rootDir must be a non-empty string/u],
    ['a name that is no option', { rootDir: '.', homes: 'private' }, /^homes is no option/u],
    ['calls that share nothing', { rootDir: '.', sandbox: { isolation: 'call' } }, /^sandbox\.isolation cannot be 'call'/u],
    ['a run without a journal', { rootDir: '.', runId: 'run' }, /^runId needs a journal/u],
    ['another shell', { rootDir: '.', shell: 'zsh' }, /^shell must be one of bash, sh/u],
  ])('%s is refused', async (_, options, summary) => {
    expect(await attempt(() => createSandboxSession(options as never))).toEqual(refused(summary))
  })
})

describe('the end of a session', () => {
  test('kills what was spawned and what runs, and later calls reject', async () => {
    const { session } = scene()
    const mark = sleepingMark()
    const process = await session.spawn({ command: `trap '' TERM; sleep ${mark} & setsid sleep ${mark}; sleep ${mark}` })
    const running = session.run({ command: `sleep ${mark}` })
    const ended = expect(running).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    await pause(200)
    await session.close()
    await ended
    await expect(process.wait()).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    await expectGone(mark)
    for (const call of [
      () => session.run({ command: 'true' }),
      () => session.stat({ path: '.' }),
      () => session.spawn({ command: 'true' }),
    ])
      expect(await attempt(call)).toEqual(refused(/^The session has been closed\.$/u))
    await session.close()
  })

  test('before anything was done', async () => {
    const { session } = scene()
    await session.close()
    expect(await attempt(() => session.run({ command: 'true' }))).toEqual(refused(/closed/u))
  })
})

describe('streams', () => {
  test('a process waits for the reader of its output', async () => {
    const { session } = scene()
    const process = await session.spawn({ command: 'head -c 20000000 /dev/zero; echo done >&2' })
    const early = await Promise.race([process.wait(), pause(400, 'waits')])
    expect(early).toBe('waits')
    expect((await collect(process.stdout)).length).toBe(20_000_000)
    expect(await process.wait()).toEqual({ exitCode: 0 })
  })

  test('a reader that wants no more does not hold up the process', async () => {
    const { session } = scene()
    const process = await session.spawn({ command: 'head -c 20000000 /dev/zero' })
    await process.stdout.cancel()
    expect(await process.wait()).toEqual({ exitCode: 0 })
  })

  test('a reader may bring its own memory', async () => {
    const { session } = scene()
    const process = await session.spawn({ command: 'printf abc' })
    const reader = process.stdout.getReader({ mode: 'byob' })
    const { value } = await reader.read(new Uint8Array(2))
    expect(Buffer.from(value ?? []).toString()).toBe('ab')
    expect(Buffer.from((await reader.read(new Uint8Array(2))).value ?? []).toString()).toBe('c')
    expect((await reader.read(new Uint8Array(2))).done).toBe(true)
  })

  test('a write to a process that has closed its input fails', async () => {
    const { session } = scene()
    const process = await session.spawn({ command: 'exec <&-; sleep 5', stdin: true })
    const writer = process.stdin.getWriter()
    writer.closed.catch(() => undefined)
    await expect(
      (async () => {
        for (let n = 0; n < 50; n += 1) {
          await writer.write(bytesOf('x'))
          await pause(20)
        }
      })(),
    ).rejects.toMatchObject({ code: 'PROCESS_ENDED' })
    await process.kill()
  })

  test.each(['below', '/tmp/elsewhere'])('a stream that fails in the middle is not taken for a file: %s', async (path) => {
    const { fixture, session } = scene()
    await session.writeTextFile({ path: 'below', content: 'before' })
    const error = new Error('the source failed')
    let parts = 0
    const content = new ReadableStream<Uint8Array>({
      pull(controller) {
        parts += 1
        if (parts > 30) controller.error(error)
        else controller.enqueue(new Uint8Array(100_000))
      },
    })
    await expect(session.writeFile({ path, content })).rejects.toBe(error)
    expect(fixture.text('below')).toBe('before')
    expect(readdirSync(fixture.root).filter((name) => name !== '.git')).toEqual(['below'])
  })

  test('memory of a stream may be used again by its source', async () => {
    const { fixture, session } = scene()
    const memory = new Uint8Array(4)
    let n = 0
    const pull = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
      n += 1
      if (n > 3) controller.close()
      else controller.enqueue(memory.fill(48 + n))
    }
    const content = new ReadableStream<Uint8Array>({ pull }, { highWaterMark: 0 })
    await session.writeFile({ path: 'numbers', content })
    expect(fixture.text('numbers')).toBe('111122223333')
  })

  test('bytes that are changed after the call', async () => {
    const { fixture, session } = scene()
    const content = bytesOf('before')
    const work = session.writeBinaryFile({ path: 'file', content })
    content.fill(120)
    await work
    expect(fixture.text('file')).toBe('before')
  })

  test('a file is read part by part, and may be left', async () => {
    const { fixture, session } = scene()
    fixture.put('big', new Uint8Array(3_000_000))
    const stream = await session.readFile({ path: 'big' })
    const reader = stream?.getReader()
    expect((await reader?.read())?.value?.length).toBeGreaterThan(0)
    await reader?.cancel()
    await session.run({ command: 'head -c 3000000 /dev/zero > /tmp/big' })
    const other = (await session.readFile({ path: '/tmp/big' }))?.getReader()
    expect((await other?.read())?.value?.length).toBeGreaterThan(0)
    await other?.cancel()
  })
})

describe('records', () => {
  test('calls are rows, without variables, input and contents', async () => {
    await using journal = await openJournal('memory:')
    const { session } = scene({ journal, runId: 'run' })
    await session.run({ command: 'echo "$WORD" | wc -c', env: { WORD: 'secret-in-env' } })
    const process = await session.spawn({ command: 'cat > /dev/null; exit 3', stdin: true, env: { WORD: 'secret-in-env' } })
    const writer = process.stdin.getWriter()
    await writer.write(bytesOf('secret-in-input'))
    await writer.close()
    await process.wait()
    await session.writeTextFile({ path: 'file', content: 'secret-in-file' })
    await session.writeFile({ path: '/tmp/file', content: streamOf(bytesOf('secret-in-file')) })
    expect(await session.readTextFile({ path: 'file' })).toBe('secret-in-file')
    await session.deleteFile({ path: 'file' })
    await expect(session.writeTextFile({ path: '/etc/file', content: 'secret-in-file' })).rejects.toThrow()
    await session.close()
    const rows = await journal.listRun('run')
    expect(JSON.stringify(rows)).not.toContain('secret-in')
    expect(rows.map(({ toolName, status }) => `${toolName} ${status}`)).toEqual([
      'run success',
      'spawn success',
      'writeTextFile success',
      'writeFile success',
      'readTextFile success',
      'deleteFile success',
      'writeTextFile error',
    ])
    expect(JSON.parse(rows[1]?.outputJson ?? '{}')).toMatchObject({ exitCode: 3, peakBytes: expect.any(Number) })
  })

  test('a process of which nobody waits for the end has an end in its record', async () => {
    await using journal = await openJournal('memory:')
    const { session } = scene({ journal, runId: 'run' })
    await session.spawn({ command: 'sleep 30' })
    await session.close()
    expect((await journal.listRun('run')).map(({ toolName, status }) => `${toolName} ${status}`)).toEqual(['spawn error'])
  })
})

test('the example runs as it says', () => {
  const output = execFileSync(process.execPath, ['examples/sandbox.mjs'], { encoding: 'utf8' })
  expect(output.split('\n').filter((line) => /^\w+: /u.test(line))).toEqual([
    'run: hello, world',
    'readTextFile: once',
    'writeTextFile: TOOL_PERMISSION_DENIED',
    'spawn: "a\\nb\\n"',
    'fetch: a page',
  ])
})
