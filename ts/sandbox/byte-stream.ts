import { ReadableStream as WebStream, type UnderlyingByteSource } from 'node:stream/web'

/** Puts the next bytes of a source into memory: how many, and 0 at the end. */
export type ReadInto = (target: Uint8Array) => Promise<number>

/** How much is asked for at once. */
const BLOCK_BYTES = 65_536
/**
 * How much one part has for a reader that brings no memory of its own. Node collects parts that have been read when it
 * collects the small objects of the reads, so many small parts leave less behind than few large ones.
 */
const PART_BYTES = 16_384

/**
 * Bytes as a stream that asks for more only when somebody reads. A reader that brings its own memory gets them there.
 *
 * @param readInto What it throws is the error of the stream.
 * @param cancelled is called when the reader wants no more.
 */
export function byteStream(readInto: ReadInto, cancelled: () => unknown): ReadableStream<Uint8Array> {
  const blocks = new Blocks(readInto)
  const source: UnderlyingByteSource = {
    type: 'bytes',
    async pull(controller) {
      const { byobRequest } = controller
      const view = byobRequest?.view
      if (view) {
        const count = await blocks.into(new Uint8Array(view.buffer, view.byteOffset, view.byteLength))
        if (count === 0) controller.close()
        byobRequest?.respond(count)
        return
      }
      const part = await blocks.part(PART_BYTES)
      if (part === undefined) {
        controller.close()
        // A reader with its own memory may have come meanwhile.
        controller.byobRequest?.respond(0)
      } else {
        controller.enqueue(part)
      }
    },
    cancel: () => void cancelled(),
  }
  // The same class; its global type lacks streams of bytes.
  return new WebStream(source, { highWaterMark: 0 }) as ReadableStream<Uint8Array>
}

/** A source that is asked for more than one part has. */
class Blocks {
  readonly #readInto: ReadInto
  #block: Uint8Array<ArrayBuffer> | undefined
  #at = 0
  #end = 0

  constructor(readInto: ReadInto) {
    this.#readInto = readInto
  }

  async into(target: Uint8Array): Promise<number> {
    const rest = this.#block?.subarray(this.#at, Math.min(this.#end, this.#at + target.byteLength))
    if (rest === undefined || rest.byteLength === 0) return this.#readInto(target)
    target.set(rest)
    this.#at += rest.byteLength
    return rest.byteLength
  }

  /** A part that is the reader's; nothing at the end. */
  async part(maxBytes: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
    this.#block ??= new Uint8Array(BLOCK_BYTES)
    if (this.#at === this.#end) {
      this.#end = await this.#readInto(this.#block)
      this.#at = 0
    }
    if (this.#end === 0) return undefined
    const part = this.#block.slice(this.#at, Math.min(this.#end, this.#at + maxBytes))
    this.#at += part.byteLength
    return part
  }
}

/** Concatenates parts. */
export function joined(parts: readonly Uint8Array[], bytes: number): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(bytes)
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.byteLength
  }
  return all
}
