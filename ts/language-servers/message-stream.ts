/** Messages of the language server protocol in a stream of bytes: a header with `Content-Length`, an empty line, and JSON. */

/** The longest header of one message, in bytes. Servers send some 30. */
const MAX_HEADER_BYTES = 8_192

/** What a server sends. */
export interface RpcMessage {
  id?: number | string | null | undefined
  method?: string | undefined
  params?: unknown
  result?: unknown
  error?: { code?: unknown; message?: unknown } | undefined
}

/** Why a stream is given up. */
export type BadStream = 'no messages' | 'too long'

/** Takes a stream of bytes apart. */
export class MessageStream {
  readonly #maxBytes: number
  #waiting: Uint8Array[] = []
  #length = 0
  /** The length of the body that comes next; `undefined` before its header is complete. */
  #body: number | undefined

  /** @param maxBytes the longest message that is taken. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Adds bytes, and returns the messages that are complete with them. A stream that is none of this protocol has no further messages. */
  push(bytes: Uint8Array): RpcMessage[] | BadStream {
    this.#waiting.push(bytes)
    this.#length += bytes.length
    const messages: RpcMessage[] = []
    for (;;) {
      if (this.#body === undefined) {
        const header = this.#header()
        if (header === undefined) return messages
        if (typeof header === 'string') return header
        this.#body = header
      }
      if (this.#length < this.#body) return messages
      const body = this.#take(this.#body)
      this.#body = undefined
      const message = messageOf(body.toString('utf8'))
      if (message === undefined) return 'no messages'
      messages.push(message)
    }
  }

  /** Takes the next header. @returns the length of its body, or `undefined` while it is not complete. */
  #header(): number | BadStream | undefined {
    const held = this.#joined()
    const end = held.subarray(0, MAX_HEADER_BYTES).indexOf('\r\n\r\n')
    if (end === -1) return held.length < MAX_HEADER_BYTES ? undefined : 'no messages'
    const length = /^content-length: *(\d{1,15})\r?$/imu.exec(this.#take(end + 4).toString('latin1'))?.[1]
    if (length === undefined) return 'no messages'
    return Number(length) > this.#maxBytes ? 'too long' : Number(length)
  }

  #joined(): Buffer {
    const [first] = this.#waiting
    if (this.#waiting.length === 1 && Buffer.isBuffer(first)) return first
    const joined = Buffer.concat(this.#waiting)
    this.#waiting = [joined]
    return joined
  }

  #take(count: number): Buffer {
    const held = this.#joined()
    this.#waiting = [held.subarray(count)]
    this.#length -= count
    return held.subarray(0, count)
  }
}

function messageOf(text: string): RpcMessage | undefined {
  try {
    const message: unknown = JSON.parse(text)
    return typeof message === 'object' && message !== null && !Array.isArray(message) ? (message as RpcMessage) : undefined
  } catch {
    return undefined
  }
}

/** A message as bytes. */
export function messageBytes(message: unknown): Buffer {
  const body = Buffer.from(JSON.stringify(message))
  return Buffer.concat([Buffer.from(`Content-Length: ${body.length}\r\n\r\n`), body])
}
