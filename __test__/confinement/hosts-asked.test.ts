// docs/tools.md, "Hosts by name": hosts of `ask`
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createTools, type HostQuestion, sandboxReport, type SandboxHosts, type ToolError } from 'toolwright'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { allowAll, dataOf, openScene } from '../contract/scene.ts'
import { makeSandbox } from '../support/sandbox.ts'

const report = await sandboxReport()
const isHeld = process.platform === 'linux' && /process namespace/u.test(report.processKill.mechanism) && report.loopback.level === 'kernel'

describe.skipIf(!isHeld)('hosts that the host program is asked about', { timeout: 60_000 }, () => {
  let server: Server
  let address: string
  beforeAll(async () => {
    server = createServer(({ headers, url }, response) => response.end(`${headers.host} ${url}`))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    address = `127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(() => void server.close())

  const addresses = (): Record<string, string> => ({ 'a.ask.test': address, 'b.ask.test': address, 'open.test': address })

  function commands(network: Partial<SandboxHosts>, timeoutMs = 30_000) {
    const { root: rootDir } = makeSandbox()
    const sandbox = { network: { allow: ['open.test'], ask: ['*.ask.test'], addresses: addresses(), ...network } }
    const { bash } = createTools({ rootDir, sandbox, toolTimeoutMs: timeoutMs })
    const sh = async (script: string): Promise<string> => String(await bash.execute({ cmd: 'bash', args: ['-c', script] }))
    const refused = async (script: string): Promise<ToolError> =>
      sh(script).then(
        (output) => expect.fail(`it succeeded: ${output}`),
        (error: ToolError) => error,
      )
    return { sh, refused }
  }

  test('an agreement holds for the command, and is asked for once for each host and port', async () => {
    const asked: string[] = []
    const { sh } = commands({ onAsk: ({ host, port }) => (asked.push(`${host}:${port}`), 'allow_once') })
    const twice = 'curl -sS http://a.ask.test/1 && curl -sS http://a.ask.test/2 && curl -sS http://open.test/3'
    expect(await sh(twice)).toBe('a.ask.test /1a.ask.test /2open.test /3')
    expect(asked).toEqual(['a.ask.test:80'])
    await sh('curl -sS http://a.ask.test/ && curl -sS http://b.ask.test/')
    expect(asked).toEqual(['a.ask.test:80', 'a.ask.test:80', 'b.ask.test:80'])
  })

  test('an answer for always holds for the set', async () => {
    const asked: string[] = []
    const onAsk = ({ host }: HostQuestion) => (asked.push(host), host.startsWith('a') ? 'allow_always' : 'reject_always') as never
    const { sh } = commands({ onAsk })
    for (let run = 0; run < 2; run += 1) {
      expect(await sh('curl -sS http://a.ask.test/; curl -sS http://b.ask.test/ || true')).toContain('a.ask.test /')
    }
    expect(asked).toEqual(['a.ask.test', 'b.ask.test'])
  })

  test.each([
    ['rejects', (() => 'reject_once') as never],
    ['fails', (() => Promise.reject(new Error('no screen'))) as never],
    ['gives no valid answer', (() => true) as never],
  ])('a host is refused if onAsk %s', async (_, onAsk) => {
    const { hint, details } = await commands({ onAsk }).refused('curl -sS http://a.ask.test/')
    expect(hint).toContain('`a.ask.test:80`: the host program was asked, and did not agree')
    expect(details['denials']).toContainEqual({ layer: 'network', subject: 'a.ask.test:80', option: 'sandbox.network.ask' })
  })

  test('without onAsk those hosts are refused, and the result says why', async () => {
    const { hint, details } = await commands({}).refused('curl -sS http://a.ask.test/')
    expect(hint).toContain('`a.ask.test`: the host program has to agree (sandbox.network.ask), and nobody answered')
    expect(details['denials']).toContainEqual({ layer: 'network', subject: 'a.ask.test', option: 'sandbox.network.ask' })
  })

  test('what is denied is not asked about, and neither is what is on no list or an address', async () => {
    const asked: string[] = []
    const { refused } = commands({ ask: ['*'], deny: ['b.ask.test'], onAsk: ({ host }) => (asked.push(host), 'allow_once') })
    expect((await refused('curl -sS http://b.ask.test/')).hint).toContain('the host program denies it')
    await refused('curl -sS http://192.0.2.1/')
    const narrow = commands({ onAsk: ({ host }) => (asked.push(host), 'allow_once') })
    expect((await narrow.refused('curl -sS http://other.test/')).hint).toContain('sandbox.network.allow')
    expect(asked).toEqual([])
  })

  test('an agreement opens no address outside of the public internet', async () => {
    const { refused } = commands({ ask: ['localhost.ask.test', 'localtest.me'], addresses: {}, onAsk: () => 'allow_once' })
    const { details } = await refused('curl -sS http://localhost.ask.test/')
    expect(details['exitCode']).toBe(7)
  })

  test('the timeout of a command goes on while it waits, and its end gives up the question', async () => {
    let given: Promise<unknown> | undefined
    const onAsk = ({ signal }: HostQuestion) =>
      (given = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(new Error('given up'))))) as Promise<never>
    const { code, details } = await commands({ onAsk }, 1_500).refused('curl -sS http://a.ask.test/')
    expect(code).toBe('PROCESS_TIMEOUT')
    expect(details['denials']).toContainEqual({ layer: 'network', subject: 'a.ask.test:80', option: 'sandbox.network.ask' })
    await expect(given).rejects.toThrow('given up')
  })

  test('a session asks its prompt, and an answer for always holds in it', async () => {
    const asked: string[] = []
    const prompt = ({ subjects }: { subjects: readonly { resource: string }[] }) => {
      asked.push(...subjects.map(({ resource }) => resource))
      return 'allow_always' as const
    }
    // No rule is about the host.
    const permissions = allowAll.map((rule) => ({ ...rule, permission: 'shell.run' }))
    const requires = {
      fs: { read: ['/**'], write: ['{workspace}/**'] },
      net: { hosts: ['*.ask.test', 'open.test'] },
      shell: [{ cmd: '*' }],
    }
    const manifest = { name: 'asked', permissions, requires }
    const sandbox = { network: { allow: ['open.test'], ask: ['*.ask.test'], addresses: addresses() } }
    const { call } = await openScene({ manifest, sandbox, host: { prompt } } as never)
    for (let run = 0; run < 2; run += 1) {
      const reached = dataOf(await call('bash', { command: 'curl -sS http://open.test/ && curl -sS http://a.ask.test/' }))
      expect(reached).toMatchObject({ exit_code: 0, stdout: 'open.test /a.ask.test /' })
    }
    expect(asked).toEqual(['a.ask.test:80'])
  })
})
