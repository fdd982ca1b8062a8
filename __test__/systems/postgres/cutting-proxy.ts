import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'

/** A proxy before a server that cuts connections in the middle of what they say. */
export interface CuttingProxy {
  port: number
  /** The number of connections that were cut. */
  readonly cuts: number
  /** Cuts each connection with a probability, at an interval. @returns what ends it. */
  cut(everyMs: number, probability: number): () => void
  close(): void
}

/** @param sockets the folder of the server's socket */
export async function cuttingProxy(sockets: string): Promise<CuttingProxy> {
  const open = new Set<Socket>()
  let cuts = 0
  const server = createServer((near) => {
    const far = connect(join(sockets, '.s.PGSQL.5432'))
    open.add(near)
    for (const socket of [near, far]) socket.on('error', () => undefined)
    near.on('close', () => {
      open.delete(near)
      far.destroy()
    })
    far.on('close', () => near.destroy())
    near.pipe(far)
    far.pipe(near)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as { port: number }).port,
    get cuts() {
      return cuts
    },
    cut(everyMs, probability) {
      const timer = setInterval(() => {
        for (const socket of open) {
          if (Math.random() >= probability) continue
          socket.destroy()
          cuts += 1
        }
      }, everyMs)
      return () => clearInterval(timer)
    },
    close: () => void server.close(),
  }
}
