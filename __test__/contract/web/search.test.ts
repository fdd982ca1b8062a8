import type { IncomingMessage } from 'node:http'
import { brave, defaultLimits, searxng, tavily, type SessionOptions, type WebSearchProvider } from 'toolwright/contract'
import { describe, expect, test } from 'vitest'
import { dataOf, failureOf, openScene, openSession, rule } from '../scene.ts'
import { makeSandbox } from '../../support/sandbox.ts'
import { bodyOf, reaching, serve, until, webRules } from './web-server.ts'

const result = (n: number) => ({ title: `Title ${n}`, url: `https://example.com/${n}`, snippet: `Snippet ${n}` })

/** A provider that counts, and gives what it is told to. */
function counting(search?: WebSearchProvider['search'], id = 'counting') {
  const queries: string[] = []
  const provider: WebSearchProvider = {
    id,
    host: 'search.test',
    search: (query, options) => {
      queries.push(query)
      return search === undefined ? Promise.resolve([result(1)]) : search(query, options)
    },
  }
  return { provider, queries }
}

const searching = (provider: WebSearchProvider, options: Partial<SessionOptions> = {}) =>
  openScene({ ...reaching([]), host: { webSearch: [provider] }, ...options })

describe('R32 web_search', () => {
  test('R32 R33 R51 the defaults: 25 calls and 15 seconds each, 200,000 bytes of text, agents 5 deep', () => {
    expect(defaultLimits).toMatchObject({
      webSearchCalls: 25,
      webSearchMs: 15_000,
      webFetchCalls: 25,
      webFetchMs: 15_000,
      webFetchBytes: 200_000,
      agentDepth: 5,
    })
  })

  test('R32 without a provider it is not offered, and unavailable to who calls it', async () => {
    const { call, session } = await openScene()
    expect(session.tools).not.toHaveProperty('web_search')
    expect(failureOf(await call('web_search', { query: 'x' })).code).toBe('unavailable')
    expect(failureOf(await call('web_search', { query: ' ' })).code).toBe('invalid_arguments')
  })

  test('R32 gives title, url and snippet, and nothing else', async () => {
    const found = [{ ...result(1), score: 1 }, { title: 7, url: 'https://example.com/2' }, { title: 'no url' }, null, 'text']
    const { provider } = counting(() => Promise.resolve(found as never))
    const { call } = await searching(provider)
    expect(dataOf(await call('web_search', { query: 'x' }))).toEqual({
      results: [result(1), { title: '', url: 'https://example.com/2', snippet: '' }],
    })
  })

  test('R32 requires the host of the provider, and so the session reaches it without a word in the manifest', async () => {
    const { provider, queries } = counting()
    const { session, call } = await searching(provider)
    expect(session.requirements.declared.net?.hosts).toContain('search.test:443')
    expect((await call('web_search', { query: 'x' })).type).toBe('output')
    const closed = await searching(provider, { ceiling: { net: { hosts: ['other.test'] } } })
    expect(failureOf(await closed.call('web_search', { query: 'x' })).code).toBe('capability_refused')
    const denied = await searching(provider, reaching([], [rule('web_search search.test deny')]))
    expect(failureOf(await denied.call('web_search', { query: 'x' })).code).toBe('permission_denied')
    const unattended = await searching(provider, reaching([], []))
    expect(failureOf(await unattended.call('web_search', { query: 'x' })).code).toBe('permission_unattended')
    expect(queries).toEqual(['x'])
  })

  test('R32 over-returning providers are clipped, and over-long texts', async () => {
    const many = Array.from({ length: 50 }, (_, n) => result(n))
    const asked: number[] = []
    const { provider } = counting((_, { max_results }) => {
      asked.push(max_results)
      return Promise.resolve([{ ...result(0), snippet: 'x'.repeat(100_000) }, ...many])
    })
    const { call } = await searching(provider)
    const { results } = dataOf(await call('web_search', { query: 'x', max_results: 3 }))
    expect(results).toHaveLength(3)
    expect(results[0].snippet.length).toBeLessThan(3_000)
    expect(dataOf(await call('web_search', { query: 'x' })).results).toHaveLength(10)
    expect(asked).toEqual([3, 10])
    // Models that have to give every argument give 0 for none.
    expect(dataOf(await call('web_search', { query: 'x', max_results: 0 })).results).toHaveLength(10)
    for (const max_results of [-1, 21, 1.5, '3'])
      expect(failureOf(await call('web_search', { query: 'x', max_results })).code).toBe('invalid_arguments')
  })

  test('R32 call 26 names the cap, and the provider is not invoked', async () => {
    const { provider, queries } = counting()
    const { call } = await searching(provider)
    for (let n = 0; n < 25; n += 1) expect((await call('web_search', { query: `q${n}` })).type).toBe('output')
    const { code, text } = failureOf(await call('web_search', { query: 'q25' }))
    expect(code).toBe('limit_reached')
    expect(text).toMatch(/25.*webSearchCalls/u)
    expect(queries).toHaveLength(25)
    // Another session counts for itself.
    expect((await (await searching(provider)).call('web_search', { query: 'x' })).type).toBe('output')
  })

  test('R32 64 parallel calls reach the provider 25 times; failed ones count, refused ones do not', async () => {
    let failing = 0
    const { provider, queries } = counting(async () => {
      await new Promise((resolve) => setTimeout(resolve, 5))
      if (failing++ % 2 === 0) throw new Error('no luck')
      return [result(1)]
    })
    let refuse = true
    const { call } = await searching(provider, { watchdog: () => (refuse ? { action: 'deny', reason: 'no' } : { action: 'allow' }) })
    for (let n = 0; n < 30; n += 1) await call('web_search', { query: 'x' })
    await call('web_search', { query: 7 })
    expect(queries).toHaveLength(0)
    refuse = false
    const codes = (await Promise.all(Array.from({ length: 64 }, () => call('web_search', { query: 'x' })))).map(
      ({ metadata }) => metadata.code,
    )
    expect(queries).toHaveLength(25)
    expect(codes.filter((code) => code === 'limit_reached')).toHaveLength(39)
    expect(codes.filter((code) => code === 'network_failed')).toHaveLength(13)
    expect(codes.filter((code) => code === 'ok')).toHaveLength(12)
  })

  test('R32 one that hangs is given up at the timeout, and told so; one that throws anything is a failure', async () => {
    let signal: AbortSignal | undefined
    const hanging = counting((_, options) => {
      signal = options.signal
      return new Promise(() => undefined)
    })
    const { call } = await searching(hanging.provider, { limits: { webSearchMs: 80 } })
    const start = performance.now()
    const { code, text } = failureOf(await call('web_search', { query: 'x' }))
    expect(code).toBe('timeout')
    expect(text).toMatch(/counting.*80 ms/u)
    expect(performance.now() - start).toBeLessThan(1_000)
    expect(signal?.aborted).toBe(true)
    expect(failureOf(await call('web_search', { query: 'x' }, { signal: AbortSignal.timeout(20) })).code).toBe('aborted')
    for (const search of [
      () => {
        throw undefined
      },
      () => Promise.reject(new Error('x')),
      () => Promise.resolve('text'),
      () => Promise.resolve(null),
    ]) {
      const broken = await searching(counting(search as never).provider)
      expect(failureOf(await broken.call('web_search', { query: 'x' })).code).toBe('network_failed')
    }
  })

  test('R32 the provider is chosen by the session, and stays', async () => {
    const providers = ['a', 'b', 'c'].map((id) => counting(undefined, id))
    const used = async (id: string): Promise<string> => {
      const before = providers.map(({ queries }) => queries.length)
      const session = await openSession(makeSandbox(), {
        ...reaching([]),
        id,
        host: { webSearch: providers.map(({ provider }) => provider) },
      })
      for (let n = 0; n < 3; n += 1) await session.call('web_search', { query: 'x' })
      const grown = providers.filter(({ queries }, at) => queries.length !== before[at])
      expect(grown).toHaveLength(1)
      return grown[0]?.provider.id ?? ''
    }
    const ids = Array.from({ length: 24 }, (_, n) => `session-${n}`)
    const first: string[] = []
    for (const id of ids) first.push(await used(id))
    expect(new Set(first)).toEqual(new Set(['a', 'b', 'c']))
    for (const [at, id] of ids.slice(0, 6).entries()) expect(await used(id)).toBe(first[at])
  })

  test('R32 R52 an agent searches with the provider of its caller, whose host is the only one that both reach', async () => {
    const providers = ['a', 'b', 'c', 'd'].map((id) => ({ ...counting(undefined, id), at: `${id}.test` }))
    const { call } = await openScene({
      manifest: { ...reaching([]).manifest, agents: [{ name: 'helper' }] },
      host: {
        webSearch: providers.map(({ provider, at }) => ({ ...provider, host: at })),
        spawn: async ({ session }) => (await session.call('web_search', { query: 'x' })).metadata.code,
      },
    })
    for (let n = 0; n < 12; n += 1) expect(dataOf(await call('task', { subagent_type: 'helper', prompt: 'x' })).output).toBe('ok')
    expect(providers.map(({ queries }) => queries.length).sort()).toEqual([0, 0, 0, 12])
  })

  test('R32 providers that are none are refused when the session is opened', async () => {
    for (const webSearch of [
      'x',
      [{}],
      [{ ...counting().provider, host: '' }],
      [{ ...counting().provider, host: 'http://x/' }],
      [{ ...counting().provider, search: 1 }],
    ]) {
      await expect(openScene({ host: { webSearch: webSearch as never } })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    }
    for (const make of [
      () => searxng({ baseUrl: 'search.example.com' }),
      () => searxng({ baseUrl: 'https://u:p@search.example.com' }),
      () => brave({ apiKey: '' }),
      () => tavily({ apiKey: 'a\r\nb' }),
    ])
      expect(make).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }))
  })
})

const apis = [
  {
    name: 'searxng',
    make: (baseUrl: string) => searxng({ baseUrl: `${baseUrl}/sub`, language: 'de' }),
    path: '/sub/search',
    answer: { query: 'x', results: [{ title: 'T', url: 'https://example.com/', content: 'S', engine: 'e' }] },
    check: async (request: IncomingMessage) => {
      const { searchParams } = new URL(request.url ?? '', 'http://x')
      expect(request.method).toBe('GET')
      expect(Object.fromEntries(searchParams)).toEqual({ q: 'größe & co', format: 'json', language: 'de' })
    },
  },
  {
    name: 'brave',
    make: (baseUrl: string) => brave({ apiKey: 'key-1', baseUrl }),
    path: '/res/v1/web/search',
    answer: { type: 'search', web: { results: [{ title: 'T', url: 'https://example.com/', description: 'S' }] } },
    check: async (request: IncomingMessage) => {
      const { searchParams } = new URL(request.url ?? '', 'http://x')
      expect(request.method).toBe('GET')
      expect(request.headers['x-subscription-token']).toBe('key-1')
      expect(searchParams.get('q')).toBe('größe & co')
      expect(searchParams.get('count')).toBe('4')
    },
  },
  {
    name: 'tavily',
    make: (baseUrl: string) => tavily({ apiKey: 'key-1', baseUrl }),
    path: '/search',
    answer: { query: 'x', results: [{ title: 'T', url: 'https://example.com/', content: 'S', score: 0.9 }], response_time: 1 },
    check: async (request: IncomingMessage) => {
      expect(request.method).toBe('POST')
      expect(request.headers.authorization).toBe('Bearer key-1')
      expect(request.headers['content-type']).toBe('application/json')
      expect(JSON.parse(await bodyOf(request))).toMatchObject({ query: 'größe & co', max_results: 4 })
    },
  },
]

describe('R32 adapters', () => {
  test.each(apis)('R32 $name speaks its API', async ({ make, path, answer, check }) => {
    let problem: unknown
    const server = await serve(async (request, response) => {
      await check(request).catch((error: unknown) => (problem = error))
      expect(new URL(request.url ?? '', 'http://x').pathname).toBe(path)
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    })
    const { call } = await searching(make(server.origin), reaching([], webRules))
    const envelope = await call('web_search', { query: 'größe & co', max_results: 4 })
    expect(problem).toBeUndefined()
    expect(dataOf(envelope)).toEqual({ results: [{ title: 'T', url: 'https://example.com/', snippet: 'S' }] })
    await until(() => server.open() === 0)
    expect(server.open()).toBe(0)
  })

  test.each(apis)(
    'R32 $name: refusals, odd answers, redirects and silence are failures that name it, without the key',
    async ({ name, make }) => {
      const elsewhere = await serve((_, response) => response.end('{}'), '127.0.0.2')
      const answers: [number, string, Record<string, string>][] = [
        [401, '{}', {}],
        [429, 'slow down', {}],
        [500, '', {}],
        [302, '', { location: `${elsewhere.origin}/` }],
        [200, 'no json', {}],
        [200, '{"results": 7, "web": {"results": 7}}', {}],
      ]
      const server = await serve((_, response) => {
        const next = answers.shift()
        if (next === undefined) return
        response.writeHead(next[0], next[2]).end(next[1])
      })
      const { call } = await searching(make(server.origin), { ...reaching([], webRules), limits: { webSearchMs: 300 } })
      for (let left = answers.length; left > 0; left -= 1) {
        const { code, text } = failureOf(await call('web_search', { query: 'x' }))
        expect(code).toBe('network_failed')
        expect(text).toContain(name)
        expect(text).not.toContain('key-1')
      }
      expect(failureOf(await call('web_search', { query: 'x' })).code).toBe('timeout')
      expect(elsewhere.connections()).toBe(0)
      await until(() => server.open() === 0)
      expect(server.open()).toBe(0)
    },
  )

  test.each(apis)('R32 $name: no results are an empty list', async ({ make }) => {
    const server = await serve((_, response) => response.end('{}'))
    const { call } = await searching(make(server.origin), reaching([], webRules))
    expect(dataOf(await call('web_search', { query: 'x' }))).toEqual({ results: [] })
  })
})
