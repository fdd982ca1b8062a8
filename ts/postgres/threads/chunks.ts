/** Bytes that come in parts of any size, as chunks of one size. */
import { threadError } from '../../standard-agents/store/store-checks.js'

export class Chunks {
  readonly #size: number
  readonly #memory: Buffer
  #filled = 0

  constructor(size: number) {
    this.#size = size
    this.#memory = Buffer.allocUnsafe(size)
  }

  /** Takes bytes, and gives each chunk that they complete. It is valid until the next one. */
  *add(bytes: Uint8Array): Generator<Buffer> {
    for (let at = 0; at < bytes.length;) {
      const length = Math.min(bytes.length - at, this.#size - this.#filled)
      this.#memory.set(bytes.subarray(at, at + length), this.#filled)
      this.#filled += length
      at += length
      if (this.#filled < this.#size) return
      this.#filled = 0
      yield this.#memory
    }
  }

  /** What is left. */
  rest(): Buffer {
    return this.#memory.subarray(0, this.#filled)
  }
}

/** Base64 of the standard alphabet, padded, in parts that have a multiple of four characters, except for the last one. */
export class StrictBase64 {
  readonly #name: string
  #isOver = false

  /** @param name the attachment, for an error. */
  constructor(name: string) {
    this.#name = name
  }

  decode(text: string): Buffer {
    const bytes = Buffer.from(text, 'base64')
    if (this.#isOver || bytes.toString('base64') !== text) {
      const hint = 'Give padded base64 of the standard alphabet, without line breaks.'
      const details = { attachment: this.#name }
      throw threadError('THREAD_ENCODING_INVALID', 'Attachment data is not base64', `\`${this.#name}\``, hint, details)
    }
    this.#isOver = text.endsWith('=')
    return bytes
  }
}
