import { createServer } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

/** The service outside, which lives in the test: it counts what was done, whatever happens to the workers. */
export interface Service {
  url: string
  /** How often each payment of a task was made. */
  count(task: string, n: number): number
  close(): Promise<void>
}

export async function startService(): Promise<Service> {
  const made = new Map<string, number>()
  const keys = new Set<string>()
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://localhost')
    const [task, n, key] = ['task', 'n', 'key'].map((name) => url.searchParams.get(name) ?? '')
    void (async () => {
      if (request.method === 'GET') return response.end(JSON.stringify({ done: keys.has(key ?? '') }))
      await pause(Math.random() * 25)
      const isKnown = url.searchParams.has('honoured') && keys.has(key ?? '')
      if (!isKnown) made.set(`${task} ${n}`, (made.get(`${task} ${n}`) ?? 0) + 1)
      if (key !== '') keys.add(key ?? '')
      await pause(Math.random() * 25)
      return response.end('{}')
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return {
    url: `http://127.0.0.1:${port}`,
    count: (task, n) => made.get(`${task} ${n}`) ?? 0,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}
