/** Bodies of answers: read within a limit, decompressed, and decoded to text. */
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
  const decoder = decompressorOf(encoding, first.value)
  if (decoder === undefined) throw unreadable(url, encoding)
  const all = async function* (): AsyncGenerator<Uint8Array> {
    yield first.value
    yield* source
  }
  pipeline(Readable.from(all()), decoder, () => undefined)
  yield* decoder as AsyncIterable<Uint8Array>
}

function decompressorOf(encoding: string, first: Uint8Array): Transform | undefined {
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

type Decoder = InstanceType<typeof TextDecoder>

export interface ContentType {
  /** For example `text/html`, in lower case; empty if the header is missing. */
  type: string
  /** The label of its encoding, if there is one. */
  charset: string | undefined
}

export function parseContentType(header: string): ContentType {
  const [type = '', ...rest] = header.split(';')
  const label = rest.map((part) => /^\s*charset\s*=\s*"?([^"\s]+)"?\s*$/iu.exec(part)?.[1]).find((found) => found !== undefined)
  return { type: type.trim().toLowerCase().slice(0, 100), charset: label }
}

const META_BYTES = 1_024
/** How many bytes are searched for a NUL, which text does not have. */
const BINARY_BYTES = 8_192

const textTypes =
  /^(?:text\/.*|application\/(?:json|xml|javascript|ecmascript|x-javascript|x-www-form-urlencoded|x-ndjson|ndjson|yaml|x-yaml|toml|graphql|sql|x-sh|rtf|.*\+(?:json|xml|yaml)))$/u
const unknownTypes = new Set(['', 'application/octet-stream', 'binary/octet-stream', 'application/unknown', 'unknown/unknown'])

/** Whether a type is that of a text; `undefined` where only the content tells. */
export function isTextType(type: string): boolean | undefined {
  if (unknownTypes.has(type)) return undefined
  return textTypes.test(type) || type === 'image/svg+xml'
}

export const isHtml = (type: string): boolean => type === 'text/html' || type === 'application/xhtml+xml'

/**
 * Decodes content, or returns `undefined` if it is binary. The encoding is the first known of these: the byte order mark,
 * the one of the header, the one of the page, UTF-8, and windows-1252 for invalid UTF-8.
 */
export function decodeText(bytes: Uint8Array, { type, charset }: ContentType): string | undefined {
  const declared = markOf(bytes) ?? decoderOf(charset) ?? (isHtml(type) ? decoderOf(metaCharset(bytes)) : undefined)
  const isWide = declared?.encoding.startsWith('utf-16') === true
  if (!isWide && bytes.subarray(0, BINARY_BYTES).includes(0)) return undefined
  if (declared !== undefined) return declared.decode(bytes)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return new TextDecoder(isTextType(type) === true ? 'windows-1252' : 'utf-8').decode(bytes)
  }
}

function markOf(bytes: Uint8Array): Decoder | undefined {
  const [a, b, c] = bytes
  if (a === 0xef && b === 0xbb && c === 0xbf) return new TextDecoder('utf-8')
  if (a === 0xff && b === 0xfe) return new TextDecoder('utf-16le')
  if (a === 0xfe && b === 0xff) return new TextDecoder('utf-16be')
  return undefined
}

/** `undefined` for an unknown label. */
function decoderOf(label: string | undefined): Decoder | undefined {
  if (label === undefined) return undefined
  try {
    return new TextDecoder(label)
  } catch {
    return undefined
  }
}

function metaCharset(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, META_BYTES)).toString('latin1')
  const label = /<meta\s[^>]*?charset\s*=\s*["']?\s*([A-Za-z0-9_:.-]+)/iu.exec(head)?.[1]
  // A page whose label can be read as ASCII is not in UTF-16, whatever the label says.
  return label !== undefined && /^utf-16/iu.test(label) ? 'utf-8' : label
}
