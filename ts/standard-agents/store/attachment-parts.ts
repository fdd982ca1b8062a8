import { invalid } from '../../option-checks.js'
import { unlessAborted } from '../../unless-aborted.js'
import type { AttachmentBytes } from './stored-attachment.js'
import { chunkBytes } from './stream-attachment.js'

/** The characters of base64 that are taken at a time: as many as make about one chunk. */
const PART_CHARACTERS = 2_446_676

/** The data of an attachment in parts that are small enough to be held: bytes, or characters of base64. */
export async function* attachmentParts(
  data: AttachmentBytes,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array | string, void, undefined> {
  if (typeof data === 'string') {
    for (let at = 0; at < data.length; at += PART_CHARACTERS) yield data.slice(at, at + PART_CHARACTERS)
  } else if (ArrayBuffer.isView(data)) {
    yield* byteParts(data)
  } else if (typeof data === 'object' && data !== null && Symbol.asyncIterator in data) {
    yield* streamParts(data, signal)
  } else {
    throw invalid('The data of an attachment is base64, bytes or a stream of bytes.')
  }
}

async function* streamParts(data: AsyncIterable<Uint8Array>, signal: AbortSignal | undefined) {
  const source = data[Symbol.asyncIterator]()
  let ended = false
  try {
    for (;;) {
      const { value, done } = await unlessAborted(source.next(), signal)
      ended = done === true
      if (ended) return
      yield* byteParts(value)
    }
  } finally {
    // A source that does not answer is not waited for.
    if (!ended) void Promise.resolve(source.return?.()).catch(() => undefined)
  }
}

function* byteParts(bytes: unknown): Generator<Uint8Array> {
  if (!isBytes(bytes)) throw invalid('The parts of a stream of bytes are Uint8Array.')
  const { buffer } = bytes
  if ((buffer as { detached?: boolean }).detached === true) throw invalid('The bytes were transferred to somebody else.')
  // What is shared may change while it is read on another thread.
  const own = Object.prototype.toString.call(buffer) === '[object SharedArrayBuffer]' ? new Uint8Array(bytes) : bytes
  for (let at = 0; at < own.byteLength; at += chunkBytes) yield own.subarray(at, at + chunkBytes)
}

/** By its tag: where modules have globals of their own, the class is another one. */
const isBytes = (value: unknown): value is Uint8Array =>
  ArrayBuffer.isView(value) && Object.prototype.toString.call(value) === '[object Uint8Array]'
