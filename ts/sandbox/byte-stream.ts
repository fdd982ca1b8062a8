import { ReadableStream as WebStream, type UnderlyingByteSource } from 'node:stream/web'

/**
 * Bytes as a stream that asks for the next part only when somebody reads.
 *
 * @param next gives a part, and nothing at the end. What it throws is the error of the stream.
 * @param cancelled is called when the reader wants no more.
 */
export function byteStream(next: () => Promise<Uint8Array | undefined>, cancelled: () => unknown): ReadableStream<Uint8Array> {
  const source: UnderlyingByteSource = {
    type: 'bytes',
    async pull(controller) {
      const part = await next()
      if (part === undefined) {
        controller.close()
        controller.byobRequest?.respond(0)
      } else {
        controller.enqueue(owned(part))
      }
    },
    cancel: () => void cancelled(),
  }
  // The same class, whose global type knows no streams of bytes.
  return new WebStream(source, { highWaterMark: 0 }) as ReadableStream<Uint8Array>
}

/** Bytes that a stream may take over. It detaches their memory, which a small buffer shares with others. */
function owned(part: Uint8Array): Uint8Array<ArrayBuffer> {
  const isWhole = part.byteOffset === 0 && part.byteLength === part.buffer.byteLength && part.constructor === Uint8Array
  return isWhole ? (part as Uint8Array<ArrayBuffer>) : new Uint8Array(part)
}

/** All bytes of some parts. */
export function joined(parts: readonly Uint8Array[], bytes: number): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(bytes)
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.byteLength
  }
  return all
}
