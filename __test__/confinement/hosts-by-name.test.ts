// docs/decisions/2026-11-24-hosts-by-name.md
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { createServer as createPlainServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createTools, sandboxReport, type SandboxHosts, type ToolError, type ToolOptions } from 'toolwright'
import { createSandboxSession } from 'toolwright/sandbox'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openScene, dataOf, allowAll } from '../contract/scene.ts'
import { serveRegistry } from '../support/package-registry.ts'
import { makeBareRepository } from '../support/bare-repository.ts'
import { makeSandbox } from '../support/sandbox.ts'

const report = await sandboxReport()
const isHeld = process.platform === 'linux' && /process namespace/u.test(report.processKill.mechanism) && report.loopback.level === 'kernel'

const has = (program: string, args: string[] = ['--version']): boolean => {
  try {
    execFileSync(program, args, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** A server that answers with the name and the path it was asked for. */
async function serveEcho(): Promise<{ server: Server; address: string }> {
  const server = createServer(({ headers, url }, response) => response.end(`${headers.host} ${url}`))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, address: `127.0.0.1:${(server.address() as AddressInfo).port}` }
}

describe.skipIf(!isHeld)('commands reach hosts by name', { timeout: 60_000 }, () => {
  let server: Server
  let address: string
  beforeAll(async () => void ({ server, address } = await serveEcho()))
  afterAll(() => void server.close())

  const echo = (): SandboxHosts => ({ allow: ['echo.test:80'], addresses: { 'echo.test': address } })

  function commands(network: SandboxHosts, options: ToolOptions = {}) {
    const fixture = makeSandbox()
    // Not even a directory for settings.
    const env = { allow: [], set: { PATH: process.env['PATH'] ?? '', HOME: fixture.root } }
    const { bash } = createTools({ rootDir: fixture.root, env, ...options, sandbox: { ...options.sandbox, network } })
    let count = 0
    const sh = async (script: string): Promise<string> =>
      String(await bash.execute({ cmd: 'bash', args: ['-c', script] }, { toolCallId: `call-${(count += 1)}` }))
    const refused = async (script: string): Promise<ToolError> =>
      sh(script).then(
        (output) => expect.fail(`it succeeded: ${output}`),
        (error: ToolError) => error,
      )
    return { ...fixture, bash, sh, refused }
  }

  const programs: [string, string, string][] = [
    ['curl', 'curl -sS http://echo.test/it', 'curl'],
    ['wget', 'wget -qO- http://echo.test/it', 'wget'],
    ['fetch of Node', `node -e "fetch('http://echo.test/it').then((r) => r.text()).then(console.log)"`, 'node'],
    ['urllib of Python', `python3 -c "import urllib.request as u; print(u.urlopen('http://echo.test/it').read().decode())"`, 'python3'],
  ]
  test.each(programs)('%s needs nothing in its environment', async (_, script, program) => {
    if (!has(program)) return
    const { sh } = commands(echo())
    expect((await sh(script)).trim()).toBe('echo.test /it')
  })

  test('npm installs a project from a registry that is named in one line', async () => {
    const registry = await serveRegistry({ app: { value: 'app', dependencies: { base: '^1.0.0' } }, base: { value: 'base' } })
    onTestFinished(() => void registry.server.close())
    const { sh, put, text } = commands({ allow: ['packages.test'], addresses: { 'packages.test': registry.address } })
    put('package.json', JSON.stringify({ name: 'project', private: true, dependencies: { app: '1.0.0' } }))
    put('.npmrc', 'registry=http://packages.test/\naudit=false\nfund=false\nupdate-notifier=false\n')
    await sh('npm install --cache .npm-cache')
    expect(JSON.parse(text('node_modules/app/package.json'))).toMatchObject({ dependencies: { base: '^1.0.0' } })
    expect(text('node_modules/base/index.js')).toContain('base')
  })

  test.runIf(has('git'))('git clones and fetches by HTTP', async () => {
    const { directory } = makeBareRepository()
    const files = createServer(({ url = '' }, response) => {
      try {
        response.end(readFileSync(join(directory, new URL(url, 'http://x').pathname)))
      } catch {
        response.writeHead(404).end()
      }
    })
    await new Promise<void>((resolve) => files.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void files.close())
    const here = `127.0.0.1:${(files.address() as AddressInfo).port}`
    const tools = commands({ allow: ['git.test'], addresses: { 'git.test': here } })
    await tools.sh('git clone http://git.test/repository.git cloned && cd cloned && git fetch')
    expect(tools.text('cloned/README')).toBe('from afar')
  })

  test('a host that is not allowed is refused, and the result names it and the option', async () => {
    const { refused, sh, bash } = commands(echo())
    expect(bash.description).toContain('only these hosts are reached: echo.test:80')
    const name = await refused('curl -sS http://other.test/')
    expect(name.hint).toContain('`other.test`')
    expect(name.hint).toContain('sandbox.network.allow')
    const port = await refused('curl -sS http://echo.test:8080/')
    expect(port.hint).toContain('`echo.test:8080`')
    const literal = await refused('curl -sS http://192.0.2.1/')
    expect(literal.hint).toContain('`192.0.2.1:80`')
    // Other failures are not laid to it.
    const own = await refused('curl -sS http://127.0.0.1:9/ || exit 3')
    expect(own.hint ?? '').not.toContain('sandbox.network')
    expect(await sh('curl -sS http://other.test/ 2>/dev/null || echo went on')).toContain('went on')
  })

  test('what is denied is refused although it is allowed', async () => {
    const hosts = { allow: ['*.echo.test'], deny: ['secret.echo.test'], addresses: { 'a.echo.test': address, 'secret.echo.test': address } }
    const { sh, refused } = commands(hosts)
    expect(await sh('curl -sS http://a.echo.test/')).toBe('a.echo.test /')
    expect((await refused('curl -sS http://secret.echo.test/')).hint).toContain('`secret.echo.test`')
  })

  test('services of this machine stay out of reach, and so does everything where nothing is allowed', async () => {
    const { refused } = commands({ allow: ['*'], addresses: {} })
    for (const target of [address, `localhost:${address.split(':')[1]}`, `[::1]:${address.split(':')[1]}`]) {
      expect((await refused(`curl -sS http://${target}/`)).details['exitCode']).toBe(7)
    }
    const nothing = commands({ allow: [] })
    expect((await nothing.refused('curl -sS http://echo.test/')).hint).toContain('`echo.test`')
  })

  test('the list holds although the network is allowed as a whole', async () => {
    const { refused, sh } = commands(echo(), { allowNetwork: true })
    expect(await sh('curl -sS http://echo.test/')).toBe('echo.test /')
    expect((await refused(`curl -sS http://${address}/`)).details['exitCode']).toBe(7)
  })

  test('a server in the background reaches what commands reach, and is reached by them alone', async () => {
    const { root } = makeSandbox()
    await using session = createSandboxSession({ rootDir: root, sandbox: { network: echo() } })
    expect(session.description).toContain('echo.test:80')
    const relay = await session.spawn({
      command: `node -e "const net = require('net'); net.createServer((c) => c.pipe(net.connect(80, 'echo.test')).pipe(c)).listen(7070, '127.0.0.1', () => console.log('ready'))"`,
    })
    const reader = relay.stdout.getReader()
    await reader.read()
    const ran = await session.run({ command: 'curl -sS -H "Host: relayed" http://127.0.0.1:7070/x; curl -sS http://echo.test/y' })
    expect(ran.stdout).toBe('relayed /xecho.test /y')
    await relay.kill()
  })

  test('a command that waits for a host is stopped with its call', async () => {
    const silent = createPlainServer(() => undefined)
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void silent.close())
    const here = `127.0.0.1:${(silent.address() as AddressInfo).port}`
    const { bash } = commands({ allow: ['silent.test'], addresses: { 'silent.test': here } })
    const abort = new AbortController()
    const call = bash.execute({ cmd: 'curl', args: ['-sS', 'http://silent.test/'] }, { toolCallId: 'call', abortSignal: abort.signal })
    setTimeout(() => abort.abort(new Error('enough')), 200)
    await expect(call).rejects.toThrow('enough')
  })

  test('a session of the contract narrows the list to its capabilities', async () => {
    const requires = { fs: { read: ['/**'], write: ['{workspace}/**'] }, net: { hosts: ['echo.test:80'] }, shell: [{ cmd: '*' }] }
    const manifest = { name: 'hosts', permissions: allowAll, requires }
    const sandbox = { network: { allow: ['*'], addresses: { 'echo.test': address, 'other.test': address } } }
    const { call } = await openScene({ manifest, sandbox })
    const reached = dataOf(await call('bash', { command: 'curl -sS http://echo.test/' }))
    expect(reached).toMatchObject({ exit_code: 0, stdout: 'echo.test /' })
    const refused = await call('bash', { command: 'curl -sS http://other.test/' })
    expect(dataOf(refused)).toMatchObject({ exit_code: 6 })
    expect(refused.metadata.notes?.join('\n')).toContain('`other.test`')
    const without = await openScene({ manifest })
    expect(dataOf(await without.call('bash', { command: 'curl -sS http://echo.test/' }))).toMatchObject({ exit_code: 6 })
  })
})

describe('the option is checked when tools are made', () => {
  const wrong: [object, RegExp][] = [
    [{}, /sandbox\.network\.allow must be an array of hosts/u],
    [{ allow: 'example.com' }, /sandbox\.network\.allow must be an array/u],
    [{ allow: ['https://example.com'] }, /sandbox\.network\.allow\[0\] must be a host without a scheme/u],
    [{ allow: ['a', 'b c'] }, /sandbox\.network\.allow\[1\] must be a host/u],
    [{ allow: [], hosts: [] }, /sandbox\.network\.hosts is no option/u],
    [{ allow: [], addresses: { 'a.test': 'b.test' } }, /sandbox\.network\.addresses\["a\.test"\] must be an address/u],
    [{ allow: [], addresses: { '*.test': '127.0.0.1' } }, /sandbox\.network\.addresses: "\*\.test" is no name/u],
    [{ allow: [], addresses: { 'a.test': '127.0.0.1:99999' } }, /must be an address/u],
  ]
  test.each(wrong)('%j', (network, message) => {
    const make = () => createTools({ sandbox: { network: network as SandboxHosts } })
    expect(make).toThrow(expect.objectContaining({ code: 'INVALID_INPUT', message: expect.stringMatching(message) as unknown }))
  })

  test.each(['none', 'host'] as const)('it has a loopback interface of its own and not %s', (loopback) => {
    const make = () => createTools({ sandbox: { network: { allow: [] }, loopback } })
    expect(make).toThrow(/sandbox\.loopback must be 'private'/u)
  })

  test.skipIf(!isHeld)('a pattern that no host has is refused by the first command', async () => {
    const { root } = makeSandbox()
    const { bash } = createTools({ rootDir: root, sandbox: { network: { allow: ['a*b.test'] } } })
    const error = await bash.execute({ cmd: 'true' }, { toolCallId: 'call' }).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'INVALID_INPUT' })
    expect(String(error)).toContain('sandbox.network: allow[0]: `a*b.test` is no host')
  })
})
