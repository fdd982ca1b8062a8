import { createServer } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

/** The service outside, which lives in the test: it counts what was done, whatever happens to the workers. */
export interface Service {
  url: string
  /** How often each payment of a task was made. */
  count(task: string, n: number): number
  /** How many payments of a task were under way at the same time, at most. */
  atOnce(task: string): number
  close(): Promise<void>
}

export async function startService(): Promise<Service> {
  const made = new Map<string, number>()
  const keys = new Set<string>()
  const under = new Map<string, { now: number; most: number }>()
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://localhost')
    const [task, n, key] = ['task', 'n', 'key'].map((name) => url.searchParams.get(name) ?? '')
    void (async () => {
      if (request.method === 'GET') return response.end(JSON.stringify({ done: keys.has(key ?? '') }))
      const paying = under.get(task ?? '') ?? { now: 0, most: 0 }
      under.set(task ?? '', paying)
      paying.now += 1
      paying.most = Math.max(paying.most, paying.now)
      await pause(Math.random() * 25)
      const isKnown = url.searchParams.has('honoured') && keys.has(key ?? '')
      if (!isKnown) made.set(`${task} ${n}`, (made.get(`${task} ${n}`) ?? 0) + 1)
      if (key !== '') keys.add(key ?? '')
      await pause(Math.random() * 25)
      paying.now -= 1
      return response.end('{}')
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return {
    url: `http://127.0.0.1:${port}`,
    count: (task, n) => made.get(`${task} ${n}`) ?? 0,
    atOnce: (task) => under.get(task)?.most ?? 0,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}
