/** Requests and notifications to one language server, and what it asks of its client. */
import type { KeptProcess } from '../core/kept-process.js'
import { printable } from '../core/printable.js'
import { type BadStream, messageBytes, MessageStream, type RpcMessage } from './message-stream.js'

/** The longest message of a server. */
const MAX_MESSAGE_BYTES = 16_000_000
/** The most bytes that wait because a server does not read its input. */
const MAX_WAITING_BYTES = 64_000_000

/** How much of what a server prints beside its messages is kept, in characters. */
const MAX_ERRORS = 400

/** Codes of JSON-RPC and of the protocol. */
const METHOD_NOT_FOUND = -32_601
const RETRY = new Set([-32_802, -32_801, -32_800])

/** A server that has failed: it ended, printed no messages, or does not read. */
export class ServerFailed extends Error {}

/** A server that has refused one request. */
export class RequestRefused extends Error {
  /** Whether the same request may be answered later: its file has changed meanwhile, or the server was not ready. */
  readonly canRetry: boolean

  constructor(message: string, code: unknown) {
    super(message)
    this.canRetry = RETRY.has(code as number)
  }
}

/** What a client hears of a server. */
export interface ServerListener {
  /** A notification of the server. */
  onNotification(method: string, params: unknown): void
  /** A request of the server. @returns the answer, or `undefined` for a method that this client lacks. */
  onRequest(method: string, params: unknown): unknown
  /** The server has failed, in a few words. */
  onFailed(why: string): void
}

/** How long one wait for output takes, in milliseconds. A wait keeps the host alive. */
const READ_MS = 250

/**
 * The connection to one server, over its input and output. Output is read only while somebody uses the connection: a wait for it
 * would keep a host alive that has nothing else to do. A server that writes meanwhile waits.
 */
export class Connection {
  readonly #process: KeptProcess
  readonly #listener: ServerListener
  readonly #waiting = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>()
  readonly #stream = new MessageStream(MAX_MESSAGE_BYTES)
  #from = 0
  #errorsFrom = 0
  /** The end of what the server has printed beside its messages. */
  #errors = ''
  #users = 0
  #isListening = false
  #nextId = 1
  #waitingBytes = 0
  #failed: string | undefined
  #ending: Promise<void> | undefined

  constructor(process: KeptProcess, listener: ServerListener) {
    this.#process = process
    this.#listener = listener
  }

  /** Why the server is given up; `undefined` while it works. */
  get failed(): string | undefined {
    return this.#failed
  }

  /** Listens to the server during a work. */
  async use<T>(work: () => Promise<T>): Promise<T> {
    this.#users += 1
    if (!this.#isListening) {
      this.#isListening = true
      void this.#listen()
        .catch((error: unknown) => this.#fail(String(error)))
        .finally(() => {
          this.#isListening = false
        })
    }
    try {
      return await work()
    } finally {
      this.#users -= 1
    }
  }

  /**
   * Makes a request, inside {@link use}.
   *
   * @param signal gives it up: the server is told, and the answer is dropped.
   * @throws {ServerFailed} and {@link RequestRefused}, or the signal's reason.
   */
  async request<T>(method: string, params: unknown, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted()
    const id = this.#nextId++
    const answer = new Promise<unknown>((resolve, reject) => void this.#waiting.set(id, { resolve, reject }))
    const giveUp = (): void => {
      const waiting = this.#waiting.get(id)
      if (waiting === undefined) return
      this.#waiting.delete(id)
      this.notify('$/cancelRequest', { id })
      waiting.reject(signal?.reason as Error)
    }
    signal?.addEventListener('abort', giveUp, { once: true })
    try {
      this.#send({ jsonrpc: '2.0', id, method, params })
      return (await answer) as T
    } finally {
      signal?.removeEventListener('abort', giveUp)
    }
  }

  notify(method: string, params: unknown): void {
    this.#send({ jsonrpc: '2.0', method, params })
  }

  /** Gives the server up. Requests that wait are refused. */
  close(why: string): void {
    this.#fail(why)
  }

  #send(message: unknown): void {
    if (this.#failed !== undefined) return this.#rejectAll()
    const bytes = messageBytes(message)
    this.#waitingBytes += bytes.length
    if (this.#waitingBytes > MAX_WAITING_BYTES) return this.#fail('it does not read its input')
    void this.#write(bytes).catch((error: unknown) => this.#fail(String(error)))
  }

  async #write(bytes: Uint8Array): Promise<void> {
    const isTaken = await this.#process.write(bytes)
    this.#waitingBytes -= bytes.length
    if (!isTaken) await this.#end('it has closed its input')
  }

  async #listen(): Promise<void> {
    while (this.#users > 0 && this.#failed === undefined) {
      // eslint-disable-next-line no-await-in-loop -- one part after the other
      const piece = await this.#process.read({ from: this.#from, maxBytes: 262_144, waitMs: READ_MS })
      if (piece.at !== this.#from && piece.bytes.length > 0) return this.#fail('some of its output is lost')
      this.#from = piece.at + piece.bytes.length
      const messages = this.#stream.push(piece.bytes)
      if (typeof messages === 'string') return this.#fail(badStreams[messages])
      for (const message of messages) this.#receive(message)
      // A server that prints errors which nobody reads would wait.
      // eslint-disable-next-line no-await-in-loop -- one part after the other
      await this.#readErrors()
      if (piece.isEnded) return this.#end('it has closed its output')
    }
  }

  /** The output and the input end a moment before the process does. */
  #end(otherwise: string): Promise<void> {
    return (this.#ending ??= (async () => {
      await this.#process.wait(1_000)
      await this.#readErrors()
      this.#fail(endOf(this.#process) ?? otherwise)
    })())
  }

  async #readErrors(): Promise<void> {
    const { at, bytes } = await this.#process.read({ stream: 'stderr', from: this.#errorsFrom, maxBytes: 65_536 })
    this.#errorsFrom = at + bytes.length
    this.#errors = (this.#errors + Buffer.from(bytes).toString('utf8')).slice(-MAX_ERRORS)
  }

  #receive({ id, method, params, result, error }: RpcMessage): void {
    if (method !== undefined) {
      if (id === undefined || id === null) return this.#listener.onNotification(method, params)
      const answer = this.#listener.onRequest(method, params)
      if (answer !== undefined) return this.#send({ jsonrpc: '2.0', id, result: answer })
      return this.#send({ jsonrpc: '2.0', id, error: { code: METHOD_NOT_FOUND, message: `there is no ${method} here` } })
    }
    const waiting = this.#waiting.get(id as number)
    if (waiting === undefined) return
    this.#waiting.delete(id as number)
    if (error === undefined || error === null) waiting.resolve(result)
    else waiting.reject(new RequestRefused(String(error.message), error.code))
  }

  #fail(reason: string): void {
    if (this.#failed === undefined) {
      const said = this.#errors.trim().split('\n').at(-1)?.trim() ?? ''
      const why = said === '' ? reason : `${reason} (it printed: ${printable(said)})`
      this.#failed = why
      this.#listener.onFailed(why)
    }
    this.#rejectAll()
  }

  #rejectAll(): void {
    const all = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const { reject } of all) reject(new ServerFailed(this.#failed))
  }
}

const badStreams: Record<BadStream, string> = {
  'no messages': 'its output is no messages of the protocol',
  'too long': `one of its messages is longer than ${MAX_MESSAGE_BYTES} bytes`,
}

/** How a process ended by itself, in a few words. */
function endOf({ end }: KeptProcess): string | undefined {
  if (end === undefined) return undefined
  if (end.exitCode === 127) return 'its program was not found'
  return typeof end.exitCode === 'number' ? `it ended with exit code ${end.exitCode}` : `it was ended by ${end.signal ?? 'the system'}`
}
