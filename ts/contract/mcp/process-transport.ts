import type { JSONRPCMessage, MCPTransport } from '@ai-sdk/mcp'
import { MessageLines } from './message-lines.js'
import { MAX_MESSAGE_BYTES } from './server-config.js'
import type { ServerProcess } from './server-process.js'

/** The most consecutive bytes of a server's output that are no message, such as a banner or a log. */
const MAX_NOISE_BYTES = 1_000_000
/** The most bytes that wait because the server does not read its input. */
const MAX_WAITING_BYTES = 64_000_000
/** The most requests of the server whose answers it has not read. */
const MAX_WAITING_ANSWERS = 1_000

/** Why a transport gave up its server. */
export type GaveUp = 'too long' | 'no messages' | 'does not read'

/** The transport of a server in the sandbox: one message on each line of its stdin and stdout. */
export class ProcessTransport implements MCPTransport {
  readonly supportsProtocolVersionDiscovery = true
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  /** Why the server was given up, if it was. */
  gaveUp: GaveUp | undefined
  server: ServerProcess | undefined
  readonly #start: () => Promise<ServerProcess>
  readonly #closing = new AbortController()
  #starting: Promise<ServerProcess> | undefined
  readonly #lines = new MessageLines(MAX_MESSAGE_BYTES)
  #noiseBytes = 0
  #waitingBytes = 0
  #waitingAnswers = 0
  #isClosed = false

  constructor(start: () => Promise<ServerProcess>) {
    this.#start = start
  }

  async start(): Promise<void> {
    const server = await (this.#starting = this.#start())
    this.server = server
    // The client may have given up while the process started.
    if (this.#closing.signal.aborted) return void server.end()
    void this.#listen(server)
      .catch((error: unknown) => this.onerror?.(error as Error))
      .finally(() => this.#closed())
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const { server } = this
    if (server === undefined || this.#isClosed) throw new Error('the server is not connected')
    const bytes = Buffer.from(`${JSON.stringify(message)}\n`)
    const isAnswer = !('method' in message)
    if (this.#waitingBytes + bytes.length > MAX_WAITING_BYTES || (isAnswer && this.#waitingAnswers >= MAX_WAITING_ANSWERS)) {
      this.#giveUp('does not read')
      throw new Error('the server does not read its input')
    }
    this.#waitingBytes += bytes.length
    if (isAnswer) this.#waitingAnswers += 1
    try {
      if (!(await server.process.write(bytes))) throw new Error('the server has closed its input')
    } finally {
      this.#waitingBytes -= bytes.length
      if (isAnswer) this.#waitingAnswers -= 1
    }
  }

  /** Tells the server to end, without waiting, because the client would wait too. */
  async close(): Promise<void> {
    this.#closing.abort()
    void this.server?.end()
    this.#closed()
  }

  /** Ends the server, and waits until its process has ended. */
  async end(): Promise<void> {
    await this.close()
    await this.#starting?.catch(() => undefined)
    await this.server?.end()
  }

  async #listen(server: ServerProcess): Promise<void> {
    // Awaits each piece, so that timers and other servers get a turn in between.
    for await (const piece of server.process.output('stdout', this.#closing.signal)) {
      const lines = this.#lines.push(piece)
      if (lines === undefined) return this.#giveUp('too long')
      for (const line of lines) this.#receive(line)
      if (this.#noiseBytes > MAX_NOISE_BYTES) return this.#giveUp('no messages')
      if (this.#closing.signal.aborted) return
    }
  }

  #receive(line: string): void {
    const message = messageOf(line)
    if (message === undefined) {
      this.#noiseBytes += line.length + 1
      return
    }
    this.#noiseBytes = 0
    try {
      this.onmessage?.(message)
    } catch (error) {
      // The answer belongs to a request that was given up or never made.
      this.onerror?.(error as Error)
    }
  }

  #giveUp(why: GaveUp): void {
    this.gaveUp ??= why
    this.#closing.abort()
    void this.server?.end(true)
    this.#closed()
  }

  #closed(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.onclose?.()
  }
}

/** The message of a line; `undefined` for an invalid one, because a client relies on its transport for the shape. */
export function messageOf(line: string): JSONRPCMessage | undefined {
  let message: unknown
  try {
    message = JSON.parse(line)
  } catch {
    return undefined
  }
  if (typeof message !== 'object' || message === null || Array.isArray(message)) return undefined
  const { jsonrpc, method, id, error } = message as Record<string, unknown>
  if (jsonrpc !== '2.0') return undefined
  if (method !== undefined) return typeof method === 'string' ? (message as JSONRPCMessage) : undefined
  const isNamed = typeof id === 'number' || typeof id === 'string'
  if (!isNamed) return undefined
  if (error === undefined)
    return 'result' in message && typeof message.result === 'object' && message.result !== null ? (message as JSONRPCMessage) : undefined
  const { code, message: text } = (typeof error === 'object' && error !== null ? error : {}) as Record<string, unknown>
  return typeof code === 'number' && typeof text === 'string' ? (message as JSONRPCMessage) : undefined
}
