import { ReadableStream as WebStream, type UnderlyingByteSource } from 'node:stream/web'

/**
 * A stream of bytes that asks for the next part only when the reader does.
 *
 * @param next returns the next part, or `undefined` at the end. Its error becomes the stream's.
 * @param cancelled called when the reader cancels the stream.
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
  // The same class; its global type lacks streams of bytes.
  return new WebStream(source, { highWaterMark: 0 }) as ReadableStream<Uint8Array>
}

/** Bytes that a stream may own. The stream detaches their memory, so bytes that share a buffer are copied. */
function owned(part: Uint8Array): Uint8Array<ArrayBuffer> {
  const isWhole = part.byteOffset === 0 && part.byteLength === part.buffer.byteLength && part.constructor === Uint8Array
  return isWhole ? (part as Uint8Array<ArrayBuffer>) : new Uint8Array(part)
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
