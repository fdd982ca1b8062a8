import { join } from 'node:path'
import fc from 'fast-check'
import type { Envelope, PromptDecision, PromptRequest, SessionOptions, WebRequest, WebResponse } from 'toolwright/contract'
import { describe, expect, test } from 'vitest'
import { loadAddressClasses } from '../../../ts/contract/web/resolve-host.ts'
import { startScript } from '../../support/child-script.ts'
import { runs, seed } from '../../support/randomised.ts'
import { makeSandbox } from '../../support/sandbox.ts'
import { dataOf, failureOf, openScene, rule, testTool } from '../scene.ts'
import { forbiddenNames, forbiddenUrls } from './forbidden-urls.ts'
import { reaching, send, serve, until, webRules, type WebServer } from './web-server.ts'

/** Names to addresses, and how often each was asked for. */
function names(known: Readonly<Record<string, readonly string[]>>) {
  const asked: string[] = []
  const lookup = (host: string): readonly string[] => {
    asked.push(host)
    const found = known[host]
    if (found === undefined) throw Object.assign(new Error('unknown'), { code: 'ENOTFOUND' })
    return found
  }
  return { lookup, asked }
}

/** A server that redirects to what its query says. */
const redirecting = (status = 302): Promise<WebServer> =>
  serve((request, response) => {
    const [path, ...to] = (request.url ?? '').split('?')
    if (path === '/to') response.writeHead(status, { location: to.join('?') })
    response.end('here')
  }, '127.0.0.3')

/** Listeners on loopback, of both families where there are both. */
async function listenEverywhere(): Promise<WebServer[]> {
  const first = await serve(send('secret'), '0.0.0.0')
  try {
    return [first, await serve(send('secret'), '::1', first.port)]
  } catch {
    return [first]
  }
}

describe('R15 R33 addresses', () => {
  test(`R15 R33 none of ${forbiddenUrls.length} URLs reaches a listener it may not`, async () => {
    expect(forbiddenUrls.length).toBeGreaterThanOrEqual(40)
    const listeners = await listenEverywhere()
    const open = await redirecting()
    const { lookup } = names({ ...forbiddenNames, 'open.test': ['127.0.0.3'] })
    const { call } = await openScene({
      // Everything but addresses at home, and the one that redirects; the rules would allow all of it.
      ...reaching(['*', `127.0.0.3:${open.port}`]),
      host: { lookup },
      limits: { webFetchMs: 5_000, webFetchCalls: 1_000 },
    })
    for (const [what, url] of forbiddenUrls) {
      const asked = url.replaceAll('PORT', String(listeners[0]?.port)).replaceAll('OPEN', `http://127.0.0.3:${open.port}`)
      const { code, text } = failureOf(await call('web_fetch', { url: asked }))
      expect(['capability_refused', 'invalid_arguments'], `${what}: ${asked}: ${text}`).toContain(code)
      expect(text).not.toContain('secret')
    }
    for (const { connections } of listeners) expect(connections()).toBe(0)
    // The way there works, so that nothing above was refused by accident.
    expect(dataOf(await call('web_fetch', { url: `http://127.0.0.3:${open.port}/to?/x` })).text).toBe('here')
  })

  test('R15 what a name leads to is looked up once for each hop, and that address is dialled', async () => {
    const good = await serve((_, response) => response.end('good'), '127.0.0.2')
    const bad = await serve(send('bad'), '127.0.0.1', good.port)
    let turn = 0
    // Good when it is checked, bad when anybody asks again.
    const lookup = (): string[] => [turn++ % 2 === 0 ? '127.0.0.2' : '127.0.0.1']
    const { call } = await openScene({ ...reaching(['rebind.test', '127.0.0.2']), host: { lookup }, limits: { webFetchCalls: 100 } })
    const url = `http://rebind.test:${good.port}/`
    for (let n = 0; n < 10; n += 1) {
      expect(dataOf(await call('web_fetch', { url })).text).toBe('good')
      expect(failureOf(await call('web_fetch', { url })).code).toBe('capability_refused')
    }
    expect(turn).toBe(20)
    expect(good.requests).toHaveLength(10)
    expect(good.requests[0]?.headers.host).toBe(`rebind.test:${good.port}`)
    expect(bad.connections()).toBe(0)
  })

  test('R15 no proxy that the environment names stands between the check and the dial', async () => {
    const proxy = await serve((_, response) => response.end('from the proxy'))
    const server = await serve((_, response) => response.writeHead(200, { 'content-type': 'text/plain' }).end('from the server'))
    const names = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'all_proxy']
    const env = ['NODE_USE_ENV_PROXY=1', 'NO_PROXY=', 'no_proxy=', ...names.map((name) => `${name}=${proxy.origin}`)]
    const urls = [`http://good.test:${server.port}/`, `http://127.0.0.1:${server.port}/`, `https://good.test:${server.port}/`]
    const { ended } = startScript(
      join(import.meta.dirname, 'fetch-client.ts'),
      [makeSandbox().root, String(server.port), ...urls],
      ['env', ...env],
    )
    const { stdout, stderr, code } = await ended
    expect(code, stderr).toBe(0)
    const [byName, byAddress, secure] = JSON.parse(stdout) as [Envelope, Envelope, Envelope]
    for (const envelope of [byName, byAddress]) expect(dataOf(envelope).text).toBe('from the server')
    expect(failureOf(secure).code).toBe('network_failed')
    expect(proxy.connections()).toBe(0)
  })

  test('R15 of several addresses of a name only those that may be dialled are', async () => {
    const good = await serve(send('good'), '127.0.0.2')
    const bad = await serve(send('bad'), '127.0.0.1', good.port)
    const { lookup } = names({ 'mixed.test': ['127.0.0.1', '127.0.0.2', '10.0.0.1'] })
    const { call } = await openScene({ ...reaching(['mixed.test', '127.0.0.2']), host: { lookup } })
    expect(dataOf(await call('web_fetch', { url: `http://mixed.test:${good.port}/` })).text).toBe('good')
    expect(bad.connections()).toBe(0)
  })

  test('R15 a name that leads home needs the address granted, and the rules are asked for the address as well', async () => {
    const server = await serve(send('home'))
    const { lookup } = names({ 'home.test': ['127.0.0.1'] })
    const url = `http://home.test:${server.port}/`
    const onlyName = await openScene({ ...reaching(['home.test']), host: { lookup } })
    expect(failureOf(await onlyName.call('web_fetch', { url })).code).toBe('capability_refused')
    const denied = await openScene({ ...reaching(['home.test', '127.0.0.1'], [rule('web_fetch home.test allow')]), host: { lookup } })
    expect(failureOf(await denied.call('web_fetch', { url })).code).toBe('permission_unattended')
    expect(server.connections()).toBe(0)
    const both = await openScene({ ...reaching(['home.test', '127.0.0.1']), host: { lookup } })
    expect(dataOf(await both.call('web_fetch', { url })).text).toBe('home')
  })

  test('R15 localhost, named by a pattern, is loopback and nothing else', async () => {
    const server = await serve(send('local'))
    const url = `http://localhost:${server.port}/`
    const granted = await openScene(reaching(['localhost']))
    expect(dataOf(await granted.call('web_fetch', { url })).text).toBe('local')
    const { lookup } = names({ localhost: ['10.0.0.1'] })
    const elsewhere = await openScene({ ...reaching(['localhost']), host: { lookup } })
    expect(failureOf(await elsewhere.call('web_fetch', { url })).code).toBe('capability_refused')
  })

  test('R15 the beginning of a private address names it, and that of a name names no address', async () => {
    const server = await serve(send('home'))
    const { lookup } = names({ 'home.test': ['127.0.0.1'], '127.test': ['127.0.0.1'] })
    const byAddress = `${server.origin}/`
    const byName = `http://home.test:${server.port}/`
    const open = await openScene({ ...reaching(['127.0.0.*', 'home*']), host: { lookup } })
    expect(dataOf(await open.call('web_fetch', { url: byAddress })).text).toBe('home')
    expect(dataOf(await open.call('web_fetch', { url: byName })).text).toBe('home')
    const before = server.connections()
    // A name alone, a beginning with another port, one that holds public addresses too, and a name that looks like an address.
    for (const [hosts, url] of [
      [['home*'], byName],
      [['home*', '127.0.0.*:1'], byName],
      [['home*', '128.*'], byName],
      [['1.*', '12.*'], byAddress],
      [['127.*'], `http://127.test:${server.port}/`],
    ] as const) {
      const { call } = await openScene({ ...reaching([...hosts]), host: { lookup } })
      expect(failureOf(await call('web_fetch', { url })).code, `${hosts.join(' ')} ${url}`).toBe('capability_refused')
    }
    expect(server.connections()).toBe(before)
  })

  test('R15 only a beginning without public addresses in it is one of special addresses', async () => {
    const classes = await loadAddressClasses()
    for (const start of ['10.', '127.0.', '172.16.', '192.168.1.', '169.254.', '0.', '224.', '192.0.2.']) {
      expect(classes.isSpecialAsAWhole(start), start).toBe(true)
    }
    for (const start of ['172.', '192.', '169.', '100.', '198.', '8.8.', '192.0.', '1', '10', '', '.', '10.0.0.0.', 'a.', '300.']) {
      expect(classes.isSpecialAsAWhole(start), start).toBe(false)
    }
  })

  test('R10 R15 a ceiling has to name the address, too', async () => {
    const server = await serve(send('x'))
    const url = `${server.origin}/`
    const capabilities = ['net.fetch']
    const hosts = (host: string) => openScene({ ...reaching(['127.0.0.1']), ceiling: { net: { hosts: [host] }, capabilities } })
    expect(failureOf(await (await hosts('*')).call('web_fetch', { url })).code).toBe('capability_refused')
    expect((await (await hosts('127.0.0.1')).call('web_fetch', { url })).type).toBe('output')
    const without = await openScene({ ...reaching(['127.0.0.1']), ceiling: { net: { hosts: ['127.0.0.1'] } } })
    expect(failureOf(await without.call('web_fetch', { url })).code).toBe('capability_refused')
  })

  test('R15 no embedding of an address of IPv4 at home is public', async () => {
    const classes = await loadAddressClasses()
    const home = fc.oneof(
      fc.tuple(fc.constantFrom(0, 10, 127, 224, 240, 255), fc.nat(255), fc.nat(255), fc.nat(255)),
      fc.tuple(fc.constantFrom(192), fc.constant(168), fc.nat(255), fc.nat(255)),
      fc.tuple(fc.constantFrom(172), fc.integer({ min: 16, max: 31 }), fc.nat(255), fc.nat(255)),
      fc.tuple(fc.constantFrom(169), fc.constant(254), fc.nat(255), fc.nat(255)),
      fc.tuple(fc.constantFrom(100), fc.integer({ min: 64, max: 127 }), fc.nat(255), fc.nat(255)),
    )
    fc.assert(
      fc.property(home, ([a, b, c, d]) => {
        const group = (x: number, y: number): string => ((x << 8) | y).toString(16)
        const low = `${group(a, b)}:${group(c, d)}`
        const number = ((a << 24) | (b << 16) | (c << 8) | d) >>> 0
        const spellings = [
          `${a}.${b}.${c}.${d}`,
          String(number),
          `0x${number.toString(16)}`,
          `[::ffff:${low}]`,
          `[::${low}]`,
          `[64:ff9b::${low}]`,
          `[64:ff9b:1::${low}]`,
          `[2002:${low}::]`,
          `[::ffff:0:${low}]`,
        ]
        for (const host of spellings) {
          const normal = classes.normal(new URL(`http://${host}/`).hostname)
          expect(normal, host).toBeDefined()
          expect(classes.special(normal as string), host).toBeDefined()
        }
      }),
      { numRuns: runs(300), seed },
    )
    for (const address of ['8.8.8.8', '1.1.1.1', '93.184.215.14', '2606:4700:4700::1111', '2a00:1450:4001:80b::200e']) {
      expect(classes.special(address), address).toBeUndefined()
    }
  })
})

describe('R15 R33 redirects', () => {
  test('R15 every hop is checked by capabilities and by rules', async () => {
    const first = await redirecting()
    const second = await serve(send('second'), '127.0.0.2')
    const url = `${first.origin}/to?${second.origin}/`
    const both = ['127.0.0.3', '127.0.0.2']
    const code = async (hosts: string[], rules: typeof webRules) =>
      (await (await openScene(reaching(hosts, rules))).call('web_fetch', { url })).metadata.code
    expect(await code(['127.0.0.3'], webRules)).toBe('capability_refused')
    expect(await code(both, [rule('net.fetch 127.0.0.3 allow'), rule('net.fetch 127.0.0.2 deny')])).toBe('permission_denied')
    // No rule speaks of the second one: that is for somebody to say, and nobody is there.
    expect(await code(both, [rule('net.fetch 127.0.0.3 allow')])).toBe('permission_unattended')
    expect(second.connections()).toBe(0)
    expect(await code(both, webRules)).toBe('ok')
  })

  test('R15 R39.8 where a user is, a hop that no rule speaks of is asked for, with its host', async () => {
    const first = await redirecting()
    const second = await serve(send('second'), '127.0.0.2')
    const asked: unknown[] = []
    const { call } = await openScene({
      ...reaching(['127.0.0.3', '127.0.0.2'], []),
      limits: { webFetchMs: 300 },
      host: {
        prompt: async ({ subjects, rules }) => {
          asked.push(subjects.map(({ resource }) => resource))
          // Whoever thinks does not use up the time of the fetch.
          await new Promise((resolve) => setTimeout(resolve, 250))
          expect(rules).toEqual(subjects.map(({ resource }) => ({ permission: 'web_fetch', pattern: resource })))
          return 'allow_always' as const
        },
      },
    })
    const url = `${first.origin}/to?${second.origin}/`
    expect(dataOf(await call('web_fetch', { url })).text).toBe('second')
    expect(asked).toEqual([[`127.0.0.3:${first.port}`], [`127.0.0.2:${second.port}`]])
    expect(dataOf(await call('web_fetch', { url })).text).toBe('second')
    expect(asked).toHaveLength(2)
  })

  test.each([301, 302, 303, 307, 308])('R33 %i is followed, and told by its last URL', async (status) => {
    const server = await redirecting(status)
    const { call } = await openScene(reaching(['127.0.0.3']))
    expect(dataOf(await call('web_fetch', { url: `${server.origin}/to?/end%20here#x` }))).toMatchObject({
      url: `${server.origin}/end%20here`,
      text: 'here',
    })
  })

  test('R33 ten redirects are followed, more and circles are not', async () => {
    const server = await serve((request, response) => {
      const left = Number(request.url?.slice(1))
      if (left > 0) response.writeHead(302, { location: `/${left - 1}` })
      response.end('end')
    })
    const { call } = await openScene(reaching(['127.0.0.1']))
    expect(dataOf(await call('web_fetch', { url: `${server.origin}/10` })).text).toBe('end')
    const { code, text } = failureOf(await call('web_fetch', { url: `${server.origin}/11` }))
    expect(code).toBe('network_failed')
    expect(text).toMatch(/10 times/u)
    await until(() => server.open() === 0)
    expect(server.open()).toBe(0)
  })

  test('R15 headers of the caller go to the origin they are for, and not along with a redirect', async () => {
    const second = await serve(send('second'), '127.0.0.2')
    const first = await serve((request, response) => {
      const to = request.url === '/' ? '/same' : `${second.origin}/`
      response.writeHead(302, { location: to }).end()
    }, '127.0.0.3')
    const fetcher = testTool(
      'fetch_with_key',
      (_, { net }) => net.fetchPage(`${first.origin}/`, { headers: { Authorization: 'Bearer k', 'X-Key': 'k' } }),
      {
        requires: { net: { hosts: ['127.0.0.2', '127.0.0.3'] } },
      },
    )
    const { call } = await openScene({ ...reaching([]), tools: [fetcher] })
    expect(dataOf(await call('fetch_with_key', {})).text).toBe('second')
    expect(first.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer k', 'Bearer k'])
    expect(second.requests[0]?.headers).not.toHaveProperty('authorization')
    expect(second.requests[0]?.headers).not.toHaveProperty('x-key')
    expect(second.requests[0]?.headers).not.toHaveProperty('cookie')
  })

  test.each([{ Host: 'x' }, { 'Content-Length': '1' }, { 'Transfer-Encoding': 'chunked' }, { 'X-A': 'a\r\nX-B: b' }, { 'X A': 'a' }])(
    'R15 a header that would speak for us is refused: %j',
    async (headers) => {
      const server = await serve(send('x'))
      const fetcher = testTool('fetch_oddly', (_, { net }) =>
        net.fetchPage(`${server.origin}/`, { headers: headers as Record<string, string> }),
      )
      const { call } = await openScene({ ...reaching(['127.0.0.1']), tools: [fetcher] })
      expect(failureOf(await call('fetch_oddly', {})).code).toBe('invalid_arguments')
      expect(server.connections()).toBe(0)
    },
  )

  test('R15 a host that makes the requests itself is asked for one hop at a time, with the addresses that were checked', async () => {
    const made: WebRequest[] = []
    const closed: string[] = []
    const { lookup } = names({ 'a.test': ['93.184.215.14'], 'b.test': ['10.0.0.1'] })
    const fetch = async (request: WebRequest): Promise<WebResponse> => {
      made.push(request)
      const to = { 'http://a.test/': 'https://a.test/x', 'https://a.test/x': '', 'http://a.test/away': 'http://b.test/' }[request.url] ?? ''
      const body = (async function* () {
        yield Buffer.from('from the host')
      })()
      return {
        status: to === '' ? 200 : 302,
        headers: { 'content-type': 'text/plain', ...(to === '' ? {} : { location: to }) },
        body,
        close: () => void closed.push(request.url),
      }
    }
    const { call } = await openScene({ ...reaching(['*']), host: { lookup, fetch } })
    expect(dataOf(await call('web_fetch', { url: 'http://a.test/' }))).toMatchObject({ url: 'https://a.test/x', text: 'from the host' })
    expect(made.map(({ url, addresses }) => [url, addresses])).toEqual([
      ['http://a.test/', ['93.184.215.14']],
      ['https://a.test/x', ['93.184.215.14']],
    ])
    expect(failureOf(await call('web_fetch', { url: 'http://a.test/away' })).code).toBe('capability_refused')
    expect(closed).toEqual(made.map(({ url }) => url))
  })

  test.each<[string, NonNullable<SessionOptions['host']>, string]>([
    [
      'a look-up that throws',
      {
        lookup: () => {
          throw new Error('no')
        },
      },
      'network_failed',
    ],
    ['a look-up that gives nothing', { lookup: () => [] }, 'network_failed'],
    ['a look-up that gives no list', { lookup: () => 7 as never }, 'network_failed'],
    ['a look-up that gives no addresses', { lookup: () => ['x', null as never, '1'] }, 'network_failed'],
    ['a look-up that hangs', { lookup: () => new Promise(() => undefined) }, 'timeout'],
    [
      'a request that throws',
      {
        lookup: () => ['1.1.1.1'],
        fetch: () => {
          throw new Error('no')
        },
      },
      'network_failed',
    ],
    ['a request that hangs', { lookup: () => ['1.1.1.1'], fetch: () => new Promise(() => undefined) }, 'timeout'],
  ])('R33 %s is a failure within the time', async (_, host, code) => {
    const { call } = await openScene({ ...reaching(['*']), host, limits: { webFetchMs: 150 } })
    const start = performance.now()
    expect(failureOf(await call('web_fetch', { url: 'http://a.test/' })).code).toBe(code)
    expect(performance.now() - start).toBeLessThan(1_500)
  })

  test('R3 a tool that was refused a file gets no further by asking twice, or twice at once', async () => {
    const stubborn = testTool(
      'stubborn',
      async (_, { fs }) => {
        const once = (): Promise<unknown> =>
          fs.read('a.txt').then(
            () => 'in',
            () => 'out',
          )
        return [await once(), await once(), ...(await Promise.all([once(), once()]))]
      },
      { requires: { fs: { read: ['{workspace}/**'] } } },
    )
    const { call, put } = await openScene({ ...reaching([], [rule('stubborn * allow'), rule('fs.read a.txt deny')]), tools: [stubborn] })
    put('a.txt', 'secret')
    expect(dataOf(await call('stubborn', {}))).toEqual(['out', 'out', 'out', 'out'])
  })

  test('R3 R15 whoever agreed to a host is not asked again within the call', async () => {
    const server = await serve(send('x'))
    const asked: string[][] = []
    const prompt = ({ subjects }: PromptRequest): PromptDecision => {
      asked.push(subjects.map(({ resource }) => resource))
      return 'allow_once'
    }
    const twice = testTool(
      'twice',
      async (_, { net }) => [await net.fetchPage(`${server.origin}/a`), await net.fetchPage(`${server.origin}/b`)].length,
    )
    const { call } = await openScene({ ...reaching(['127.0.0.1'], []), tools: [twice], host: { prompt } })
    expect(dataOf(await call('twice', {}))).toBe(2)
    expect(asked).toEqual([[`127.0.0.1:${server.port}`]])
  })

  test('R3 R15 a tool that was refused a host gets no further by asking twice, or twice at once', async () => {
    const server = await serve(send('x'))
    const stubborn = testTool('stubborn', async (_, { net }) => {
      const once = (): Promise<unknown> =>
        net.fetchPage(`${server.origin}/`).then(
          () => 'in',
          () => 'out',
        )
      return [await once(), await once(), ...(await Promise.all([once(), once()]))]
    })
    const { call } = await openScene({
      ...reaching(['127.0.0.1'], [rule('stubborn * allow'), rule('net.fetch 127.0.0.1 deny')]),
      tools: [stubborn],
    })
    expect(dataOf(await call('stubborn', {}))).toEqual(['out', 'out', 'out', 'out'])
    expect(server.connections()).toBe(0)
  })
})
