// A host of sandbox sessions, for tests that look at it from outside: `stream` and `spawn`.
import { createSandboxSession } from '../../dist/sandbox.js'

const [mode = '', root = '', mark = ''] = process.argv.slice(2)
const session = createSandboxSession({ rootDir: root })
const MEGABYTE = 1_048_576

if (mode === 'spawn') {
  const all = await Promise.all(
    Array.from({ length: 64 }, () => session.spawn({ command: `trap '' TERM; (setsid sleep ${mark} &) ; sleep ${mark}` })),
  )
  process.stdout.write(`${all.length} started\n`)
  setInterval(() => undefined, 1_000)
} else {
  const path = mark
  const grown = async (work: () => Promise<number>): Promise<[number, number]> => {
    globalThis.gc?.()
    const before = process.memoryUsage.rss()
    let max = before
    const watch = setInterval(() => (max = Math.max(max, process.memoryUsage.rss())), 5)
    const bytes = await work()
    clearInterval(watch)
    return [bytes, Math.max(max, process.memoryUsage.rss()) - before]
  }
  const write = async (megabytes: number): Promise<number> => {
    let left = megabytes * 4
    // A source with one piece of memory: what others leave to the collector is theirs.
    const memory = new Uint8Array(MEGABYTE / 4)
    const pull = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
      if (left === 0) return controller.close()
      left -= 1
      controller.enqueue(memory.fill(left))
    }
    await session.writeFile({ path, content: new ReadableStream<Uint8Array>({ pull }, { highWaterMark: 0 }) })
    return megabytes * MEGABYTE
  }
  const read = async (): Promise<number> => {
    let bytes = 0
    const stream = await session.readFile({ path })
    for await (const part of stream as unknown as AsyncIterable<Uint8Array>) bytes += part.length
    return bytes
  }
  // What the runtime and the workers need anyhow.
  await write(16)
  await read()
  const written = await grown(() => write(400))
  process.stdout.write(`${JSON.stringify({ written, read: await grown(read) })}\n`)
  await session.close()
}
