import { invalid } from '../../core/options.js'
import { unlessAborted } from '../../core/abort.js'
import type { AttachmentBytes } from './stored-attachment.js'
import { chunkBytes } from './stream-attachment.js'

/** The characters of base64 that are taken at a time: as many as make about one chunk. */
const PART_CHARACTERS = 2_446_676

/**
 * The data of an attachment in parts that are small enough to be held: bytes, or characters of base64. A part
 * is good until the next one is asked for.
 */
export async function* attachmentParts(
  data: AttachmentBytes,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array | string, void, undefined> {
  if (typeof data === 'string') {
    for (let at = 0; at < data.length; at += PART_CHARACTERS) yield data.slice(at, at + PART_CHARACTERS)
  } else if (ArrayBuffer.isView(data)) {
    yield* byteParts(data, new Copies())
  } else if (typeof data === 'object' && data !== null && Symbol.asyncIterator in data) {
    yield* streamParts(data, signal)
  } else {
    throw invalid('The data of an attachment is base64, bytes or a stream of bytes.')
  }
}

async function* streamParts(data: AsyncIterable<Uint8Array>, signal: AbortSignal | undefined) {
  const source = data[Symbol.asyncIterator]()
  const copies = new Copies()
  let ended = false
  try {
    for (;;) {
      const { value, done } = await unlessAborted(source.next(), signal)
      ended = done === true
      if (ended) return
      yield* byteParts(value, copies)
    }
  } finally {
    // A source that does not answer is not waited for.
    if (!ended) void Promise.resolve(source.return?.()).catch(() => undefined)
  }
}

function* byteParts(bytes: unknown, copies: Copies): Generator<Uint8Array> {
  if (!isBytes(bytes)) throw invalid('The parts of a stream of bytes are Uint8Array.')
  const { byteLength } = bytes
  for (let at = 0; at === 0 || at < byteLength; at += chunkBytes) {
    const isGone = (bytes.buffer as { detached?: boolean }).detached === true || bytes.byteLength !== byteLength
    if (isGone) throw invalid('The bytes were transferred to somebody else, or cut.')
    yield copies.of(bytes.subarray(at, at + chunkBytes))
  }
}

/**
 * Bytes in memory of our own, as they are read on another thread: the caller may change them, or give them
 * away, meanwhile. The same memory for one part after the other, which is freed sooner than the garbage of many.
 */
class Copies {
  #memory = new Uint8Array(0)

  of(bytes: Uint8Array): Uint8Array {
    if (this.#memory.length < bytes.length) this.#memory = new Uint8Array(bytes.length)
    this.#memory.set(bytes)
    return this.#memory.subarray(0, bytes.length)
  }
}

/** By its tag: where modules have globals of their own, the class is another one. */
const isBytes = (value: unknown): value is Uint8Array =>
  ArrayBuffer.isView(value) && Object.prototype.toString.call(value) === '[object Uint8Array]'
