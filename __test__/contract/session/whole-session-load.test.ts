import { searxng, type Envelope, type Session, type SessionOptions } from 'toolwright/contract'
import { describe, expect, test } from 'vitest'
import { allowAll, dataOf, openScene } from '../scene.ts'
import { serve, until, webRules } from '../web/web-server.ts'

const FETCHES = 10
const SEARCHES = 7
/** The event loop may be held for longer than this a few times, and never for longer than ten times this. */
const HELD_MS = 10
/** How many times at most, of 64 calls, it is held for longer than that. */
const MOST_HOLDS = 10

const page = `<h1>Head</h1>${'<p>Some <b>text</b> with <a href="x">links</a>.</p>'.repeat(500)}`
const results = { results: Array.from({ length: 10 }, (_, n) => ({ title: `T${n}`, url: `https://example.com/${n}`, content: 'S' })) }

/** A server of pages and searches that takes a moment for each. */
const startServer = () =>
  serve((request, response) => {
    const isSearch = request.url?.startsWith('/search') === true
    setTimeout(() => {
      response.writeHead(200, { 'content-type': isSearch ? 'application/json' : 'text/html' })
      response.end(isSearch ? JSON.stringify(results) : page)
    }, 5)
  })

async function openLoaded(limits: SessionOptions['limits'], more: Partial<SessionOptions> = {}) {
  const server = await startServer()
  const scene = await openScene(
    {
      manifest: { name: 'test', requires: { net: { hosts: [`127.0.0.1:${server.port}`] } }, permissions: [...allowAll, ...webRules] },
      host: { webSearch: [searxng({ baseUrl: server.origin })] },
      limits,
      ...more,
    },
    { checksOutputs: false },
  )
  const served = (what: string): number => server.requests.filter(({ url }) => url?.startsWith(what) === true).length
  return { ...scene, server, served }
}

type Loaded = Awaited<ReturnType<typeof openLoaded>>

/** As many calls at once, in turn a fetch, a search and a read; a third read is of a file that is not there. */
function callMixed({ call, server }: Loaded, count: number): Promise<{ tool: string; envelope: Envelope }[]> {
  const kinds: [string, (n: number) => object][] = [
    ['web_fetch', (n) => ({ url: `${server.origin}/page?${n}` })],
    ['web_search', (n) => ({ query: `q${n}` })],
    ['read', (n) => ({ path: n % 9 === 2 ? 'none.txt' : 'a.txt' })],
  ]
  const made = Array.from({ length: count }, async (_, n) => {
    const [tool, args] = kinds[n % 3] ?? ['', () => ({})]
    return { tool, envelope: await call(tool, args(n)) }
  })
  return Promise.all(made)
}

const countOf = (all: { tool: string; envelope: Envelope }[], tool: string, code: string): number =>
  all.filter((one) => one.tool === tool && one.envelope.metadata.code === code).length

function expectCaps(all: { tool: string; envelope: Envelope }[], { served }: Loaded): void {
  const of = (name: string): number => all.filter(({ tool }) => tool === name).length
  expect([countOf(all, 'web_fetch', 'ok'), countOf(all, 'web_fetch', 'limit_reached')]).toEqual([FETCHES, of('web_fetch') - FETCHES])
  expect([countOf(all, 'web_search', 'ok'), countOf(all, 'web_search', 'limit_reached')]).toEqual([SEARCHES, of('web_search') - SEARCHES])
  expect(countOf(all, 'read', 'ok') + countOf(all, 'read', 'not_found')).toBe(of('read'))
  expect(countOf(all, 'read', 'not_found')).toBeGreaterThan(0)
  expect([served('/page'), served('/search')]).toEqual([FETCHES, SEARCHES])
}

/** What this thread alone has computed: another program that holds the machine does not hold the event loop. */
const computedMs = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

/** For how long the event loop was held by what it computed while `work` ran, each time that it was longer than 10 ms. */
async function heldMsDuring(work: () => Promise<unknown>): Promise<number[]> {
  const held: number[] = []
  let last = computedMs()
  const look = (): void => {
    const now = computedMs()
    if (now - last > HELD_MS) held.push(Math.round(now - last))
    last = now
  }
  const timer = setInterval(look, 1)
  try {
    await work()
    look()
  } finally {
    clearInterval(timer)
  }
  return held
}

const caps = { webFetchCalls: FETCHES, webSearchCalls: SEARCHES }

describe('64 calls at once', () => {
  test('R32 R33 fetches, searches and reads mixed keep every cap exact, and the event loop free', async () => {
    const rounds: number[][] = []
    // In the first round the calls load what they need.
    for (let round = 0; round < 4; round += 1) {
      const loaded = await openLoaded(caps)
      loaded.put('a.txt', 'text '.repeat(10_000))
      let all: Awaited<ReturnType<typeof callMixed>> = []
      rounds.push(await heldMsDuring(async () => (all = await callMixed(loaded, 64))))
      expect(all).toHaveLength(64)
      expectCaps(all, loaded)
      for (const { tool, envelope } of all)
        if (tool === 'web_fetch' && envelope.type === 'output') expect(dataOf(envelope).text).toContain('# Head')
      // The cap is reached for good.
      expect((await loaded.call('web_fetch', { url: `${loaded.server.origin}/page` })).metadata.code).toBe('limit_reached')
      expect(loaded.served('/page')).toBe(FETCHES)
      await until(() => loaded.server.open() === 0)
      expect(loaded.server.open()).toBe(0)
    }
    for (const held of rounds.slice(1)) {
      expect(Math.max(0, ...held), `held for ${held.join(' ')} ms`).toBeLessThanOrEqual(10 * HELD_MS)
      expect(held.length, `held for ${held.join(' ')} ms`).toBeLessThanOrEqual(MOST_HOLDS)
    }
  })

  test('R32 R33 R52 over a session and its agents, at any depth, 64 calls keep the caps of the session', async () => {
    const loaded = await openLoaded(caps)
    const hosts = [`127.0.0.1:${loaded.server.port}`]
    const made: { tool: string; envelope: Envelope }[] = []
    const calls = async (session: Pick<Session, 'call'>, count: number): Promise<void> => {
      made.push(...(await callMixed({ ...loaded, call: (id, args) => session.call(id, args) }, count)))
    }
    const helper = { subagent_type: 'helper', prompt: 'x' }
    const parent = await openScene({
      manifest: {
        name: 'test',
        requires: { net: { hosts } },
        permissions: [...allowAll, ...webRules],
        agents: [{ name: 'helper', requires: { net: { hosts } } }],
      },
      host: {
        webSearch: [searxng({ baseUrl: loaded.server.origin })],
        spawn: async ({ session, depth }) => {
          const deeper = depth < 2 ? session.call('task', helper) : undefined
          await calls(session, 16)
          if (deeper !== undefined) dataOf(await deeper)
          return 'done'
        },
      },
      limits: caps,
    })
    const tasks = Array.from({ length: 2 }, (_, n) => parent.call('task', { ...helper, background: n === 1 }))
    await Promise.all([calls(parent, 12), ...tasks])
    await until(() => made.length === 12 + 4 * 16)
    const mine = made.filter(({ tool }) => tool !== 'read')
    expect([countOf(mine, 'web_fetch', 'ok'), countOf(mine, 'web_search', 'ok')]).toEqual([FETCHES, SEARCHES])
    expect(countOf(mine, 'web_fetch', 'limit_reached') + countOf(mine, 'web_search', 'limit_reached')).toBe(
      mine.length - FETCHES - SEARCHES,
    )
    expect([loaded.served('/page'), loaded.served('/search')]).toEqual([FETCHES, SEARCHES])
    // An agent that is called when nothing is left has nothing.
    await parent.call('task', helper)
    expect([loaded.served('/page'), loaded.served('/search')]).toEqual([FETCHES, SEARCHES])
  })

  test('R6 an abort in the middle ends all 64, counts what was dialled, and leaves no socket', async () => {
    const loaded = await openLoaded(caps)
    loaded.put('a.txt', 'x')
    const controller = new AbortController()
    const call: Loaded['call'] = (id, args) => loaded.call(id, args, { signal: controller.signal })
    const work = callMixed({ ...loaded, call }, 64)
    await until(() => loaded.server.requests.length > 0)
    const start = performance.now()
    controller.abort()
    const all = await work
    expect(performance.now() - start).toBeLessThan(2_000)
    expect(countOf(all, 'web_fetch', 'ok') + countOf(all, 'web_fetch', 'aborted') + countOf(all, 'web_fetch', 'limit_reached')).toBe(22)
    expect(loaded.served('/page')).toBeLessThanOrEqual(FETCHES)
    expect(loaded.served('/search')).toBeLessThanOrEqual(SEARCHES)
    await until(() => loaded.server.open() === 0)
    expect(loaded.server.open()).toBe(0)
  })
})
