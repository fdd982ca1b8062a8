import { existsSync, readFileSync } from 'node:fs'
import { createSession } from 'toolwright/contract'
import { describe, expect, test } from 'vitest'
import { describeConnectError } from '../../../ts/contract/mcp/connect-error.ts'
import { McpServer } from '../../../ts/contract/mcp/mcp-server.ts'
import { mcpTools, McpToolIds } from '../../../ts/contract/mcp/mcp-tools.ts'
import { MCP_TIMEOUT_MS } from '../../../ts/contract/mcp/server-config.ts'
import { expectGone, running, sleepingMark } from '../../support/processes.ts'
import { makeSandbox } from '../../support/sandbox.ts'
import { dataOf, failureOf, openScene, testTool } from '../scene.ts'
import { place, startHttp, stdio, step, until, withServers } from './servers.ts'

const signal = new AbortController().signal

describe('servers', () => {
  test('R61 a server over stdio and one over HTTP: ids, descriptions, calls, envelopes', async () => {
    const { url } = await startHttp()
    const { session, call } = await openScene(withServers({ local: stdio(), 'far-away': { url } }))
    const { activeTools } = await session.prepareStep(step)
    expect(activeTools).toContain('local_add')
    expect(activeTools).toContain('far_away_create_issue')
    for (const id of activeTools) expect(id).toMatch(/^[A-Za-z0-9_]+$/u)
    const long = session.registered.find(({ id }) => id === 'local_long')
    expect([...(long?.description ?? '')]).toHaveLength(200)
    for (const server of ['local', 'far_away']) {
      expect(dataOf(await call(`${server}_add`, { a: 2, b: 3 }))).toEqual({ content: [{ type: 'text', text: '5' }] })
    }
    expect(dataOf(await call('local_create_issue', { title: 'x' })).content[0].text).toBe('created x')
  })

  test("R61 the input is checked against the server's schema, and the server does not see what does not fit", async () => {
    const fixture = makeSandbox()
    const { session, call } = await openScene(withServers({ local: stdio({ LOG: fixture.at('log') }) }))
    await session.prepareStep(step)
    for (const args of [{ a: 'x', b: 1 }, { a: 1 }, { a: 1, b: 2, c: 3 }, null]) {
      expect(failureOf(await call('local_add', args)).code).toBe('invalid_arguments')
    }
    expect(readFileSync(fixture.at('log'), 'utf8')).not.toContain('call')
    expect(session.warnings.join()).toMatch(/tool broken of mcp server local is left out/u)
  })

  test('R61 the output is truncated by the session, bytes are named, and a failure is one', async () => {
    const { session, call } = await openScene(withServers({ local: stdio() }))
    await session.prepareStep(step)
    const long = await call('local_long', {})
    expect(long.metadata).toMatchObject({ truncated: true, output_path: expect.stringMatching(/local_long-output/u) })
    expect(dataOf(await call('local_image', {}))).toEqual({ content: [{ type: 'binary', mime_type: 'image/png', bytes: 30 }] })
    expect(failureOf(await call('local_fails', {}))).toEqual({ code: 'tool_failed', text: 'it went wrong' })
  })

  test('R61 nothing is started before the first step, and nothing that is not enabled', async () => {
    const fixture = makeSandbox()
    const mcpServers = { one: stdio({ LOG: fixture.at('one') }), two: stdio({ LOG: fixture.at('two') }) }
    const { session } = await openScene({ ...withServers(mcpServers), enabledMcpServers: ['one'] })
    expect(existsSync(fixture.at('one'))).toBe(false)
    await session.prepareStep(step)
    expect(existsSync(fixture.at('one'))).toBe(true)
    expect(existsSync(fixture.at('two'))).toBe(false)
    expect(failureOf(await session.call('two_add', { a: 1, b: 1 })).code).toBe('unknown_tool')
  })

  test('R61 ids that would be the same, locked or too long end in their hash', () => {
    const listed = ['a.b', 'a_b', 'a-b', 'search', 'x'.repeat(100), 'x'.repeat(101)].map((name) => ({ name, inputSchema: {} }))
    const ids = mcpTools('web', listed, new McpToolIds(['web_a_b'])).tools.map(({ id }) => id)
    expect(new Set(ids).size).toBe(6)
    for (const id of ids) {
      expect(id).toMatch(/^web_[A-Za-z0-9_]+$/u)
      expect(id.length).toBeLessThanOrEqual(64)
      expect(['web_a_b', 'web_search']).not.toContain(id)
    }
  })
})

describe('permissions', () => {
  test('R62 a call is asked for, and the user sees mcp:<server>:<tool>', async () => {
    const asked: unknown[] = []
    const host = {
      prompt: ({ subjects }: { subjects: readonly { resource: string }[] }) => (
        asked.push(subjects.map(({ resource }) => resource)),
        'allow_once' as const
      ),
    }
    const { session, call } = await openScene({ ...withServers({ local: stdio() }, []), host })
    await session.prepareStep(step)
    expect(dataOf(await call('local_create_issue', { title: 'x' })).content).toHaveLength(1)
    expect(asked).toEqual([['mcp:local:create.issue']])
  })

  test('R62 rules say mcp:<server>:<tool>; headless, what no rule allows is refused', async () => {
    const permissions = [
      { permission: '*', pattern: 'mcp:local:*', action: 'allow' as const },
      { permission: 'mcp:local', pattern: 'mcp:local:create*', action: 'deny' as const },
    ]
    const { session, call } = await openScene(withServers({ local: stdio(), other: stdio() }, permissions))
    await session.prepareStep(step)
    expect(dataOf(await call('local_add', { a: 1, b: 1 })).content[0].text).toBe('2')
    expect(failureOf(await call('local_create_issue', { title: 'x' })).code).toBe('permission_denied')
    expect(failureOf(await call('other_add', { a: 1, b: 1 })).code).toBe('permission_unattended')
  })

  test('R61 R3 a tool that does not require a server does not reach it, and one that does is asked for', async () => {
    const asked: string[] = []
    const host = { prompt: ({ tool }: { tool: string }) => (asked.push(tool), 'allow_once' as const) }
    const calls = (id: string, requires: object) => testTool(id, (_, { mcp }) => mcp.call('local', 'add', { a: 1, b: 2 }), { requires })
    const tools = [calls('sly', {}), calls('open', { capabilities: ['mcp:local'] })]
    const { session, call } = await openScene({ ...withServers({ local: stdio() }, []), host, tools })
    await session.prepareStep(step)
    expect(failureOf(await call('sly', {})).code).toBe('capability_refused')
    expect(dataOf(await call('open', {})).content[0].text).toBe('3')
    expect(asked).toEqual(['open'])
  })

  test('R62 a ceiling without the server refuses its tools', async () => {
    const { session, call } = await openScene({ ...withServers({ local: stdio() }), ceiling: { fs: { read: ['{workspace}/**'] } } })
    await session.prepareStep(step)
    expect(failureOf(await call('local_add', { a: 1, b: 1 })).code).toBe('capability_refused')
  })
})

describe('servers that fail', () => {
  test('R62 one that cannot be started is unavailable, and the session goes on', async () => {
    const { session } = await openScene(withServers({ none: { command: '/no/such/program' }, local: stdio() }))
    const { activeTools } = await session.prepareStep(step)
    expect(activeTools).toContain('local_add')
    expect(activeTools.some((id) => id.startsWith('none_'))).toBe(false)
  })

  test('R62 one that dies is unavailable, and is not started again within a call', async () => {
    const fixture = makeSandbox()
    const { session, call } = await openScene(withServers({ local: stdio({ LOG: fixture.at('log') }) }))
    await session.prepareStep(step)
    expect(failureOf(await call('local_dies', {}))).toEqual({ code: 'unavailable', text: 'mcp server local is unavailable' })
    expect(failureOf(await call('local_add', { a: 1, b: 1 }))).toEqual({ code: 'unavailable', text: 'mcp server local is unavailable' })
    await session.prepareStep(step)
    expect(fixture.text('log').match(/start/gu)).toHaveLength(1)
    await until(async () => (await call('local_add', { a: 1, b: 1 })).type === 'output')
    expect(fixture.text('log').match(/start/gu)).toHaveLength(2)
  })

  test('R62 it is tried again after 1, 2, 5, 15 and 60 seconds, and every 60 from then on', async () => {
    const { backOffMs } = await import('../../../ts/contract/mcp/mcp-server.ts')
    expect(backOffMs).toEqual([1_000, 2_000, 5_000, 15_000, 60_000])
    const fixture = makeSandbox()
    const failing = new McpServer(
      'x',
      { command: '/bin/sh', args: ['-c', `date +%s%N >> ${fixture.at('log')}; exit 1`], sandbox: { writableRoots: [fixture.root] } },
      place(),
      [50, 100, 400],
    )
    await failing.refresh(signal)
    await until(() => fixture.text('log').trim().split('\n').length >= 5)
    await failing.close()
    const times = fixture
      .text('log')
      .trim()
      .split('\n')
      .map((line) => Number(line) / 1e6)
    const waits = times.slice(1).map((time, index) => time - (times[index] ?? 0))
    for (const [index, least] of [50, 100, 400, 400].entries()) expect(waits[index]).toBeGreaterThanOrEqual(least - 5)
    const count = times.length
    await new Promise((resolve) => setTimeout(resolve, 600))
    expect(fixture.text('log').trim().split('\n')).toHaveLength(count)
  })

  test('R62 a call that does not come back is given up in time, and an abort ends it at once', async () => {
    const { session, call } = await openScene(withServers({ local: { ...stdio(), timeout_ms: 3_000 } }))
    await until(async () => (await session.prepareStep(step)).activeTools.some((id: string) => id === 'local_hangs'))
    const start = performance.now()
    const aborted = await call('local_hangs', {}, { signal: AbortSignal.timeout(200) })
    expect(failureOf(aborted).code).toBe('aborted')
    expect(performance.now() - start).toBeLessThan(1_500)
    expect(failureOf(await call('local_hangs', {})).code).toBe('timeout')
    expect(dataOf(await call('local_add', { a: 1, b: 1 })).content[0].text).toBe('2')
  })

  test('R62 a server may take 30 seconds where its configuration says nothing else', () => {
    expect(MCP_TIMEOUT_MS).toBe(30_000)
  })

  test('R62 the host is told of a server that cannot be connected, and of what to look at', async () => {
    const gone = await startHttp()
    const guarded = await startHttp({ TOKEN: 'sk-the-right-token' })
    gone.process.kill('SIGKILL')
    await until(() => gone.process.signalCode !== null)
    const { session } = await openScene(
      withServers({
        misspelt: { command: 'no-such-mcp-server' },
        gone: { url: gone.url },
        guarded: { url: guarded.url, headers: { Authorization: 'Bearer sk-another-token' } },
        local: stdio(),
      }),
    )
    await session.prepareStep(step)
    await session.prepareStep(step)
    const about = (name: string) => session.warnings.filter((line) => line.includes(`mcp server ${name} cannot be connected`))
    expect(about('misspelt')).toEqual([
      expect.stringMatching(
        /\(its command was not found\), and is tried again\. Check its command, args, env and cwd\..*no-such-mcp-server: not found$/u,
      ),
    ])
    expect(about('gone')).toEqual([expect.stringMatching(/\(\w*Refused\), and is tried again\. Check its url and its headers\.$/iu)])
    expect(about('guarded')).toEqual([expect.stringMatching(/\(HTTP 401\)/u)])
    expect(about('local')).toEqual([])
    expect(session.warnings.join()).not.toMatch(/token|127\.0\.0\.1/u)
  })

  test('R62 the host is told of a client that is not installed', () => {
    const missing = Object.assign(new Error("Cannot find package '@ai-sdk/mcp'"), { code: 'ERR_MODULE_NOT_FOUND' })
    expect(describeConnectError({ name: 'local', server: stdio(), secrets: [] }, missing)).toMatch(
      /package @ai-sdk\/mcp is not installed\. Install it with npm install @ai-sdk\/mcp\.$/u,
    )
  })

  test('R62 neither what a server says nor a refused token shows a token', async () => {
    const token = 'sk-very-secret-token'
    const { url } = await startHttp({ TOKEN: token })
    const good = { url, headers: { Authorization: `Bearer ${token}` } }
    const bad = { url, headers: { Authorization: 'Bearer sk-wrong-but-secret' } }
    const shown: unknown[] = []
    const { session, call } = await openScene({
      ...withServers({ good, bad, local: stdio({ TOKEN: token }) }),
      onRecord: (part) => shown.push(part),
    })
    const warned: string[] = []
    const listen = (warning: Error): void => void warned.push(warning.message)
    process.on('warning', listen)
    const { activeTools } = await session.prepareStep(step)
    expect(activeTools).toContain('good_add')
    expect(activeTools.some((id) => id.startsWith('bad_'))).toBe(false)
    for (const server of ['good', 'local']) {
      for (const tool of ['throws', 'leaks']) shown.push(await call(`${server}_${tool}`, {}))
    }
    process.off('warning', listen)
    const all = JSON.stringify([shown, session.warnings, warned])
    expect(all).toContain('[redacted]')
    expect(all).not.toContain('secret')
  })

  test('R62 a server over HTTP that goes away is unavailable, and comes back', async () => {
    const first = await startHttp()
    const { session, call } = await openScene(withServers({ far: { url: first.url } }))
    await session.prepareStep(step)
    first.process.kill('SIGKILL')
    await until(() => first.process.signalCode !== null)
    expect(failureOf(await call('far_add', { a: 1, b: 1 })).code).toBe('unavailable')
    await startHttp({ PORT: String(first.port) })
    await until(async () => (await call('far_add', { a: 1, b: 1 })).type === 'output')
  })

  test('R62 a changed list is there in the next turn', async () => {
    const { session, call } = await openScene(withServers({ local: stdio() }))
    expect((await session.prepareStep(step)).activeTools).not.toContain('local_fresh')
    await call('local_grows', {})
    expect(Object.keys(session.tools)).not.toContain('local_fresh')
    await until(async () => ((await session.prepareStep(step)).activeTools as string[]).includes('local_fresh'))
    expect(dataOf(await call('local_fresh', {})).content[0].text).toBe('fresh was called')
  })

  test.each(['none', undefined] as const)(
    'closing a session ends its servers, also one that does not want to: sandbox %s',
    async (sandbox) => {
      const fixture = makeSandbox()
      const mark = sleepingMark()
      const env = { LOG: fixture.at('log'), DEAF: '1' }
      const server = { ...stdio(env), args: [...stdio().args, mark] }
      const { session } = await openScene(withServers({ local: sandbox === undefined ? server : { ...server, sandbox } }))
      await session.prepareStep(step)
      expect(running(mark)).toHaveLength(1)
      await session.close()
      await expectGone(mark)
    },
  )

  test.each<[string, object, RegExp]>([
    ['credentials in an address', { a: { url: 'https://user:secret@x.test/' } }, /a: url must hold no credentials/u],
    ['headers without encryption', { a: { url: 'http://x.test/', headers: { Authorization: 'secret' } } }, /https only/u],
    ['both', { a: { url: 'https://x.test/', command: 'x' } }, /either command or url/u],
    ['neither', { a: {} }, /either command or url/u],
    ['a name with a colon', { 'a:b': stdio() }, /name must be/u],
    ['a timeout that is none', { a: { ...stdio(), timeout_ms: 0 } }, /timeout_ms/u],
  ])('a manifest is refused: %s', async (_what, mcpServers, message) => {
    const refused = createSession({ workspace: makeSandbox().root, manifest: { name: 'x', mcpServers: mcpServers as never } })
    await expect(refused).rejects.toMatchObject({ code: 'INVALID_INPUT', message: expect.stringMatching(message) })
    await expect(refused).rejects.not.toThrow(/secret/u)
  })
})
