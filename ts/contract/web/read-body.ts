import { Readable, pipeline, type Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib'
import { unlessAborted } from '../../core/abort.js'
import { ContractFailure } from '../registry/envelope.js'
import type { WebResponse } from './dial.js'
import { networkFailure } from './network-failure.js'

/** The encodings that {@link readBody} can decode. */
export const acceptEncoding = 'gzip, deflate, br'

/**
 * Reads and decompresses the body of an answer. It counts both the transferred and the decompressed bytes as they come, so
 * that neither an endless answer nor a decompression bomb exceeds the limit.
 *
 * @throws {ContractFailure} too_large, network_failed; the reason of the signal.
 */
export async function readBody(url: URL, { headers, body }: WebResponse, limitBytes: number, signal: AbortSignal): Promise<Buffer> {
  const encodings = String(headers['content-encoding'] ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity')
  if (encodings.length > 1) throw unreadable(url, encodings.join(', '))
  const [encoding] = encodings
  const source = limited(url, body, limitBytes)
  const parts: Buffer[] = []
  const read = async (): Promise<Buffer> => {
    for await (const chunk of limited(url, encoding === undefined ? source : decompressed(url, source, encoding), limitBytes)) {
      parts.push(Buffer.from(chunk))
      signal.throwIfAborted()
    }
    return Buffer.concat(parts)
  }
  try {
    return await unlessAborted(read(), signal)
  } catch (error) {
    signal.throwIfAborted()
    throw networkFailure(url, error)
  }
}

async function* limited(url: URL, chunks: AsyncIterable<Uint8Array>, limitBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.byteLength
    if (bytes > limitBytes) {
      throw new ContractFailure(
        'too_large',
        `What \`${url.host}\` sends is longer than ${limitBytes} bytes, the most that is fetched. Look for a smaller page, or a part of this one.`,
      )
    }
    yield chunk
  }
}

async function* decompressed(url: URL, source: AsyncGenerator<Uint8Array>, encoding: string): AsyncGenerator<Uint8Array> {
  const first = await source.next()
  if (first.done === true) return
  const decoder = decoderOf(encoding, first.value)
  if (decoder === undefined) throw unreadable(url, encoding)
  const all = async function* (): AsyncGenerator<Uint8Array> {
    yield first.value
    yield* source
  }
  pipeline(Readable.from(all()), decoder, () => undefined)
  yield* decoder as AsyncIterable<Uint8Array>
}

function decoderOf(encoding: string, first: Uint8Array): Transform | undefined {
  if (encoding === 'gzip' || encoding === 'x-gzip') return createGunzip()
  if (encoding === 'br') return createBrotliDecompress()
  // Some servers leave out the header of zlib that the name stands for.
  if (encoding === 'deflate') return ((first[0] ?? 8) & 0x0f) === 8 ? createInflate() : createInflateRaw()
  return undefined
}

function unreadable(url: URL, encoding: string): ContractFailure {
  return new ContractFailure(
    'network_failed',
    `\`${url.host}\` sends its answer in an encoding that was not asked for: ${encoding.slice(0, 100)}. Use another source.`,
  )
}
