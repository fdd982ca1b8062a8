import { Console } from 'node:console'
import { once } from 'node:events'
import { Writable } from 'node:stream'
import { shown, tell } from '../core/terminal.js'
import { ToolServer } from './mcp-server.js'
import { interrupted, MAX_MESSAGE_BYTES, report } from './transport.js'
import { loadStdio } from './sdk.js'
import type { ServerSettings } from './tool-sessions.js'

/** Serves one client over stdin and stdout, until the client goes or a signal arrives. */
export async function serveStdio(settings: ServerSettings): Promise<void> {
  const output = protocolOutput()
  // Listens before the first wait, so as not to miss the end of stdin.
  const ended = clientGone(output)
  const [{ serveStdio: serve, StdioServerTransport }, server] = await Promise.all([loadStdio(), openServer(settings)])
  try {
    const transport = new StdioServerTransport(process.stdin, output, { maxBufferSize: MAX_MESSAGE_BYTES })
    const handle = serve(() => server.connect(), { transport, onerror: report })
    await ended
    await Promise.allSettled([server.close(), handle.close()])
  } finally {
    await server.close()
    // Without this, a client that went without closing its end would keep the process alive.
    process.stdin.destroy()
  }
}

async function openServer(settings: ServerSettings): Promise<ToolServer> {
  const server = await ToolServer.open(settings)
  for (const warning of server.warnings) tell(shown`toolwright: ${warning}\n`)
  return server
}

/**
 * Reserves stdout for messages. Other output, such as the log of a library, goes to stderr from now on, because one such line
 * would break the protocol.
 */
function protocolOutput(): Writable {
  const { stdout, stderr } = process
  const write = stdout.write.bind(stdout)
  const output = new Writable({
    write: (chunk: Buffer, _encoding, done) => void write(chunk, done),
  })
  stdout.on('error', (error) => output.destroy(error))
  stdout.write = stderr.write.bind(stderr) as typeof stdout.write
  // Bun's console does not write through `process.stdout`.
  const quiet = new Console(stderr, stderr)
  for (const name of Object.keys(quiet) as (keyof Console)[]) {
    if (typeof quiet[name] === 'function') (console as unknown as Record<string, unknown>)[name] = quiet[name]
  }
  return output
}

/** Settles when the client has closed its end, or a signal asks this process to end. */
async function clientGone(output: Writable): Promise<void> {
  const { stdin } = process
  const isOver = once(stdin, 'end').then(() => undefined)
  const closed = once(stdin, 'close').then(() => undefined)
  const broken = new Promise<void>((resolve) => output.once('error', () => resolve()))
  await Promise.race([isOver, closed, broken, interrupted()].map((end) => end.catch(() => undefined)))
}
