import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { homedir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { createSession, type McpStdioServer } from 'toolwright/contract'
import { describe, expect, onTestFinished, test } from 'vitest'
import { messageOf } from '../../../ts/contract/mcp/process-transport.ts'
import { MessageLines } from '../../../ts/contract/mcp/message-lines.ts'
import { describeSandbox } from '../../../ts/contract/mcp/server-sandbox.ts'
import { expectGone, running, sleepingMark } from '../../support/processes.ts'
import { makeSandbox } from '../../support/sandbox.ts'
import { dataOf, failureOf, openScene, openSession } from '../scene.ts'
import { step, until, withServers, ofProject } from './servers.ts'

const script = join(import.meta.dirname, 'raw-server.mjs')
const node = join(import.meta.dirname, '../../../node_modules/.bin/node')

/** A server that does what its environment says. */
const raw = (env: Record<string, string> = {}, more: Partial<McpStdioServer> = {}): McpStdioServer =>
  ofProject({ command: node, args: [script], env, ...more })

/** A session with one server, connected; `sh` runs a command line in it. */
async function scene(server: McpStdioServer) {
  const made = await openScene(withServers({ srv: server }))
  await made.session.prepareStep(step)
  const sh = async (line: string): Promise<string> => {
    const envelope = await made.call('srv_sh', { line })
    return envelope.type === 'output' ? dataOf(envelope).content[0].text : envelope.error_text
  }
  return { ...made, sh }
}

describe('what a server reaches', () => {
  test('R61 its home and a private /tmp are written, and nothing else', async () => {
    const outside = makeSandbox()
    writeFileSync(outside.at('file'), 'as it was')
    const { sh, root } = await scene(raw())
    expect(await sh('echo one > "$HOME/a" && echo two > /tmp/a && cat "$HOME/a" /tmp/a')).toBe('one\ntwo\n')
    for (const path of [root, outside.root, homedir(), '/dev/shm', '/var/tmp']) {
      await sh(`echo x > '${path}/made-by-a-server'`)
      expect(existsSync(join(path, 'made-by-a-server'))).toBe(false)
    }
    await sh(`echo x > '${outside.at('file')}'; rm -f '${outside.at('file')}'`)
    expect(outside.text('file')).toBe('as it was')
    writeFileSync(join(root, 'file'), 'of the workspace')
    expect(await sh(`cat '${join(root, 'file')}'`)).toBe('of the workspace')
    expect(existsSync('/tmp/a')).toBe(false)
    expect(await sh('echo x > /etc/made')).toMatch(
      /This may be the sandbox: the server srv writes only .*mcpServers\.srv\.sandbox\.writableRoots/u,
    )
  })

  test('R61 it has no network, and a failure says which option gives it one', async () => {
    const listener = createServer((socket) => socket.end('the host')).listen(0, '127.0.0.1')
    onTestFinished(() => void listener.close())
    await once(listener, 'listening')
    const { port } = listener.address() as { port: number }
    const connect = (host: string, at: number): string =>
      `'${node}' -e "require('net').connect(${at}, '${host}').on('data', (d) => console.log(String(d))).on('error', (e) => { console.error(e.code); process.exit(1) })"`
    const { sh } = await scene(raw())
    expect(await sh(connect('127.0.0.1', port))).toMatch(/ECONNREFUSED/u)
    const failure = await sh(connect('192.0.2.1', 80))
    expect(failure).toMatch(/ENETUNREACH/u)
    expect(failure).toMatch(
      /the server srv has no network; do without it, or have the host set mcpServers\.srv\.sandbox\.network to true\.$/u,
    )
    expect(await sh(connect('example.invalid', 80))).toMatch(/EAI_AGAIN[^]*sandbox\.network to true/u)
    const open = await scene(raw({}, { sandbox: { network: true } }))
    expect(await open.sh(connect('127.0.0.1', port))).toBe('the host\n')
    const local = await scene(raw({}, { sandbox: { loopback: 'host' } }))
    expect(await local.sh(connect('127.0.0.1', port))).toBe('the host\n')
  })

  test('R61 what the configuration opens is open: {workspace}, a store by its path, a home that stays', async () => {
    const fixture = makeSandbox()
    const home = join(fixture.at('homes'), 'of-the-server')
    mkdirSync(fixture.at('closed'))
    writeFileSync(fixture.at('closed/secret'), 'hidden')
    const server = raw({}, { cwd: '{workspace}', sandbox: { writableRoots: ['{workspace}'], denyRead: ['closed'], home } })
    for (const [n, line] of ['echo 1 > "$HOME/cache"; echo made > made', 'cat "$HOME/cache" made; cat closed/secret'].entries()) {
      const session = await openSession(fixture, withServers({ srv: server }))
      await session.prepareStep(step)
      const envelope = await session.call('srv_sh', { line })
      if (n === 1) expect(JSON.stringify(envelope)).toMatch(/1\\nmade/u)
      expect(JSON.stringify(envelope)).not.toContain('hidden')
      await session.close()
    }
    expect(readFileSync(join(home, 'cache'), 'utf8')).toBe('1\n')
    expect(fixture.text('made')).toBe('made\n')
  })

  test('R61 what git runs or obeys is protected in each directory that a server writes', async () => {
    const fixture = makeSandbox()
    const other = makeSandbox()
    for (const { root } of [fixture, other]) execFileSync('git', ['init', '-q', root])
    const session = await openSession(fixture, withServers({ srv: raw({}, { sandbox: { writableRoots: ['{workspace}', other.root] } }) }))
    await session.prepareStep(step)
    for (const { root } of [fixture, other]) {
      await session.call('srv_sh', {
        line: `echo x > '${root}/.git/hooks/post-commit'; git -C '${root}' config core.fsmonitor x; echo y > '${root}/ok'`,
      })
      expect(readdirSync(root)).toContain('ok')
      expect(existsSync(join(root, '.git/hooks/post-commit'))).toBe(false)
      expect(readFileSync(join(root, '.git/config'), 'utf8')).not.toContain('fsmonitor')
    }
  })

  test("R61 what the session closes is closed to its servers, too, and so are other sessions' files", async () => {
    const fixture = makeSandbox()
    mkdirSync(fixture.at('private'))
    writeFileSync(fixture.at('private/secret'), 'hidden')
    const other = await openScene()
    writeFileSync(join(other.session.scratch, 'note'), 'of another session')
    const session = await openSession(fixture, { ...withServers({ srv: raw() }), sandbox: { denyRead: ['private'] } })
    await session.prepareStep(step)
    const seen = await session.call('srv_sh', {
      line: `cat '${fixture.at('private/secret')}' '${other.session.scratch}/note' '${session.scratch}/note'; ls "$HOME/.."`,
    })
    expect(JSON.stringify(seen)).not.toMatch(/hidden|another session/u)
  })

  test('R62 it gets a few harmless variables and its own; no secret, and no way to an agent', async () => {
    const before = { ...process.env }
    onTestFinished(() => void Object.assign(process.env, before))
    process.env['SOME_API_KEY'] = 'sk-of-the-host'
    process.env['PLAIN_SETTING'] = 'plain'
    process.env['SSH_AUTH_SOCK'] = '/tmp/agent'
    const env = async (server: McpStdioServer) => {
      const { call } = await scene(server)
      return JSON.parse(dataOf(await call('srv_env', {})).content[0].text) as Record<string, string>
    }
    const own = await env(raw({ GIVEN: 'given', HOME_PAGE: 'x' }))
    expect(own).toMatchObject({ GIVEN: 'given', PATH: expect.any(String) })
    expect(own['HOME']).not.toBe(homedir())
    for (const name of ['SOME_API_KEY', 'PLAIN_SETTING', 'SSH_AUTH_SOCK']) expect(own).not.toHaveProperty(name)
    const wide = await env(raw({}, { sandbox: { env: {} } }))
    expect(wide).toMatchObject({ PLAIN_SETTING: 'plain' })
    expect(wide).not.toHaveProperty('SOME_API_KEY')
    expect(await env(raw({}, { sandbox: { env: { allow: ['SOME_API_KEY'] } } }))).toMatchObject({ SOME_API_KEY: 'sk-of-the-host' })
    expect(await env(raw({ HOME: '/home' }))).toMatchObject({ HOME: '/home' })
  })

  test("R61 sandbox: 'none' is the one word that runs it outside", async () => {
    const { sh, root, session } = await scene(raw({}, { sandbox: 'none' }))
    await sh(`echo x > '${root}/made'`)
    expect(existsSync(join(root, 'made'))).toBe(true)
    expect(session.mcpServers).toEqual([
      { name: 'srv', runs: 'outside of the sandbox, with the rights of this process', isConnected: true, tools: 4 },
    ])
  })

  test.each<[string, unknown, RegExp]>([
    ['another word', 'None', /srv\.sandbox must be 'none' or an object/u],
    ['a word for the network', { network: 'true' }, /srv\.sandbox\.network must be true or false/u],
    ['a misspelt option', { writingRoots: [] }, /srv\.sandbox\.writingRoots is no option/u],
    ['a number for a path', { writableRoots: [1] }, /srv\.sandbox\.writableRoots\[0\] must be a path/u],
    ['a misspelt limit', { limits: { memory: 1 } }, /srv\.sandbox\.limits\.memory is no option/u],
    ['null', null, /srv\.sandbox/u],
  ])('R61 a manifest is refused: %s', async (_what, sandbox, message) => {
    const mcpServers = { srv: raw({}, { sandbox: sandbox as never }) }
    const refused = createSession({ workspace: makeSandbox().root, manifest: { name: 'x', mcpServers } })
    await expect(refused).rejects.toMatchObject({ code: 'INVALID_INPUT', message: expect.stringMatching(message) })
  })

  test('R61 how servers run, as the host reads it', () => {
    expect([
      describeSandbox({}),
      describeSandbox({
        network: true,
        writableRoots: ['{workspace}'],
        readScope: 'system',
        readable: ['~/.config/gh'],
        home: '~/.cache/srv',
      }),
      describeSandbox({ loopback: 'host' }),
      describeSandbox('none'),
    ]).toMatchInlineSnapshot(`
      [
        "in the sandbox: writes a home of its own; reads everything but credential stores; no network",
        "in the sandbox: writes ~/.cache/srv, {workspace}; reads the system, toolchains and the workspace, ~/.config/gh; the network",
        "in the sandbox: writes a home of its own; reads everything but credential stores; this machine's loopback interface",
        "outside of the sandbox, with the rights of this process",
      ]
    `)
  })
})

describe('servers that misbehave', () => {
  test('R62 a server that prints before it speaks is understood', async () => {
    const { sh } = await scene(raw({ MODE: 'banner' }))
    expect(await sh('echo fine')).toBe('fine\n')
  })

  test('R62 a server that writes no messages is given up, and the host is told', async () => {
    const { session } = await scene(raw({ MODE: 'garbage' }))
    await until(() => /\(it wrote what is no message\)/u.test(session.mcpServers[0]?.problem ?? ''))
  })

  test('R62 a server that asks and reads no answer is given up', async () => {
    const { session } = await scene(raw({ MODE: 'asks' }))
    await until(() => /\(it did not read its input\)/u.test(session.mcpServers[0]?.problem ?? ''))
  })

  test('R62 what a server said before it ended is quoted, without what it was given', async () => {
    const server = raw({ MODE: 'says', TOKEN: 'sk-very-secret-token' }, { args: [script, 'postgres://user:secret@db/x'] })
    const { session } = await scene(server)
    expect(session.warnings).toEqual([
      'mcp server srv cannot be connected (it ended with exit code 3), and is tried again. Check its command, args, env and cwd. It has no network unless mcpServers.srv.sandbox.network is true. It said: cannot go on with [redacted] and [redacted] [2J',
    ])
    expect(session.mcpServers).toMatchObject([{ name: 'srv', isConnected: false, problem: expect.stringMatching(/exit code 3/u) }])
  })

  test('R62 a line of 1 GB takes no more memory than a message may have', async () => {
    const { call } = await scene(raw({}, { timeout_ms: 60_000 }))
    const start = process.memoryUsage().rss
    let max = start
    const timer = setInterval(() => (max = Math.max(max, process.memoryUsage().rss)), 10)
    expect(failureOf(await call('srv_line', { bytes: 1_000_000_000 })).code).toBe('too_large')
    clearInterval(timer)
    expect(max - start).toBeLessThan(150_000_000)
    expect(dataOf(await call('srv_sh', { line: 'echo back' })).content[0].text).toBe('back\n')
  })

  test('R62 a hundred calls at once, some of them aborted', async () => {
    const { call } = await scene(raw())
    const start = performance.now()
    const all = Array.from({ length: 100 }, (_, n) =>
      n % 10 === 0 ? call('srv_waits', { ms: 20_000 }, { signal: AbortSignal.timeout(100) }) : call('srv_waits', { ms: n }),
    )
    for (const [n, envelope] of (await Promise.all(all)).entries()) {
      if (n % 10 === 0) expect(failureOf(envelope).code).toBe('aborted')
      else expect(dataOf(envelope).content[0].text).toBe(String(n))
    }
    expect(performance.now() - start).toBeLessThan(10_000)
  })

  test('R62 the end of a session leaves no process, whatever the server started or ignores', async () => {
    const marks = [sleepingMark(), sleepingMark(), sleepingMark()]
    const { session, sh } = await scene(raw({ MODE: 'deaf' }))
    await sh(
      `(trap '' TERM HUP; exec sleep ${marks[0]}) >/dev/null 2>&1 & setsid sleep ${marks[1]} >/dev/null 2>&1 & nohup sleep ${marks[2]} >/dev/null 2>&1 &`,
    )
    for (const mark of marks) expect(running(mark)).toHaveLength(1)
    await session.close()
    for (const mark of marks) expect(running(mark)).toEqual([])
  })

  test('R62 a session that is closed while its server starts leaves none', async () => {
    const mark = sleepingMark()
    const server = { command: '/bin/sh', args: ['-c', `sleep ${mark}`] }
    const { session } = await openScene(withServers({ srv: server }))
    const connecting = session.prepareStep(step).catch((error: unknown) => error)
    await until(() => running(mark).length > 0)
    await session.close()
    // A start that is given up kills, and does not wait for the end of what it killed.
    await expectGone(mark)
    expect(await connecting).toMatchObject({ code: 'aborted' })
  })

  test('R62 the end of the host leaves none, by its own or by SIGKILL', async () => {
    for (const kill of [false, true]) {
      const mark = sleepingMark()
      const program = `
        import { createSession } from 'toolwright/contract'
        const server = ${JSON.stringify(raw())}
        const session = await createSession({
          workspace: ${JSON.stringify(makeSandbox().root)}, enabledMcpServers: ['srv'], toolSearch: { enabled: false },
          manifest: { name: 'x', mcpServers: { srv: server }, permissions: [{ permission: '*', pattern: '*', action: 'allow' }] },
        })
        await session.prepareStep({ messages: [] })
        const made = await session.call('srv_sh', { line: 'sleep ${mark} >/dev/null 2>&1 &' })
        console.log(made.type)
        if (!${kill}) process.exit()
      `
      const host = spawn(process.execPath, ['--input-type=module', '-e', program], {
        cwd: join(import.meta.dirname, '../../..'),
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const [said] = (await once(host.stdout, 'data')) as [Buffer]
      expect(String(said).trim()).toBe('output')
      if (kill) host.kill('SIGKILL')
      await expectGone(mark)
    }
  }, 60_000)
})

describe('lines', () => {
  test('R62 a stream in any pieces gives the same lines', () => {
    const bytes = fc.uint8Array({ maxLength: 300 }).map((all) => all.map((byte) => (byte % 7 === 0 ? 0x0a : byte)))
    fc.assert(
      fc.property(bytes, fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }), (all, sizes) => {
        const lines = new MessageLines(1_000)
        const got: string[] = []
        for (let at = 0, n = 0; at < all.length; n += 1) {
          const size = sizes[n % sizes.length] as number
          got.push(...(lines.push(all.subarray(at, at + size)) ?? []))
          at += size
        }
        const whole = Buffer.from(all).toString('latin1').split('\n').slice(0, -1)
        expect(got).toEqual(whole.map((line) => Buffer.from(line, 'latin1').toString('utf8').replace(/\r$/u, '')))
      }),
    )
  })

  test('R62 no line is longer than the limit, in one piece or in many', () => {
    for (const size of [1, 7, 100]) {
      const lines = new MessageLines(50)
      let isTooLong = false
      for (let at = 0; at < 100 && !isTooLong; at += size)
        isTooLong = lines.push(new Uint8Array(Math.min(size, 100 - at)).fill(0x61)) === undefined
      expect(isTooLong).toBe(true)
    }
    expect(new MessageLines(3).push(Buffer.from('abc\nabc\n'))).toEqual(['abc', 'abc'])
  })

  test('R62 only messages of the protocol reach the client', () => {
    const good = [
      '{"jsonrpc":"2.0","id":1,"result":{}}',
      '{"jsonrpc":"2.0","method":"x"}',
      '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}',
    ]
    for (const line of good) expect(messageOf(line)).toEqual(JSON.parse(line))
    const bad = [
      '',
      'null',
      '[]',
      '3',
      '{}',
      '{"jsonrpc":"2.0"}',
      '{"jsonrpc":"2.0","id":1}',
      '{"jsonrpc":"2.0","id":1,"result":null}',
      '{"jsonrpc":"2.0","id":1,"error":null}',
      '{"jsonrpc":"2.0","id":{},"result":{}}',
      '['.repeat(100_000),
    ]
    for (const line of bad) expect(messageOf(line)).toBeUndefined()
  })
})
