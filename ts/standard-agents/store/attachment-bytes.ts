import { invalid } from '../../core/options.js'
import { unlessAborted } from '../../core/abort.js'
import type { AttachmentBytes, ThreadStore } from './thread-store.js'

/** The size of a stored chunk. */
const CHUNK_BYTES = 1_835_008

/**
 * The bytes of an attachment, chunk after chunk, with one chunk in memory at a time.
 *
 * @throws {ToolError} THREAD_ATTACHMENT_NOT_FOUND (also in the middle, when it is deleted),
 * THREAD_NAME_REFUSED.
 */
export async function* streamAttachment(store: ThreadStore, threadId: string, path: string): AsyncGenerator<Uint8Array, void, undefined> {
  for (let start = 0; ; start += CHUNK_BYTES) {
    const chunk = await store.readAttachment(threadId, path, { start, end: start + CHUNK_BYTES })
    if (chunk.byteLength > 0) yield chunk
    if (chunk.byteLength < CHUNK_BYTES) return
  }
}

/** Characters of base64 in one part: about one chunk of bytes. */
const PART_CHARACTERS = 2_446_676

/**
 * The data of an attachment in parts of bounded size: bytes, or characters of base64. A part is valid until
 * the next one is requested.
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
    // The source may never answer.
    if (!ended) void Promise.resolve(source.return?.()).catch(() => undefined)
  }
}

function* byteParts(bytes: unknown, copies: Copies): Generator<Uint8Array> {
  if (!isBytes(bytes)) throw invalid('The parts of a stream of bytes are Uint8Array.')
  const { byteLength } = bytes
  for (let at = 0; at === 0 || at < byteLength; at += CHUNK_BYTES) {
    const isDetached = (bytes.buffer as { detached?: boolean }).detached === true || bytes.byteLength !== byteLength
    if (isDetached) throw invalid('The bytes were transferred or cut while they were read.')
    yield copies.of(bytes.subarray(at, at + CHUNK_BYTES))
  }
}

/**
 * Copies bytes, since another thread reads them while the caller may change or transfer them. Each part uses the
 * same memory: many copies would wait for the garbage collector.
 */
class Copies {
  #memory = new Uint8Array(0)

  of(bytes: Uint8Array): Uint8Array {
    if (this.#memory.length < bytes.length) this.#memory = new Uint8Array(bytes.length)
    this.#memory.set(bytes)
    return this.#memory.subarray(0, bytes.length)
  }
}

/** Compares the tag: in a realm of its own, a module has another class. */
const isBytes = (value: unknown): value is Uint8Array =>
  ArrayBuffer.isView(value) && Object.prototype.toString.call(value) === '[object Uint8Array]'
