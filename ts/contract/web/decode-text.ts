type Decoder = InstanceType<typeof TextDecoder>

/** The content type of an answer. */
export interface ContentType {
  /** For example `text/html`, in lower case; empty if the header is missing. */
  type: string
  /** The label of its encoding, if there is one. */
  charset: string | undefined
}

/** Parses a `content-type` header. */
export function parseContentType(header: string): ContentType {
  const [type = '', ...rest] = header.split(';')
  const label = rest.map((part) => /^\s*charset\s*=\s*"?([^"\s]+)"?\s*$/iu.exec(part)?.[1]).find((found) => found !== undefined)
  return { type: type.trim().toLowerCase().slice(0, 100), charset: label }
}

/** How many bytes of a page are searched for its encoding, as in the HTML standard. */
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

/** Whether a type is that of a page. */
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
