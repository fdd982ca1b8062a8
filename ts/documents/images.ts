/** Images that a model is shown: which bytes are one, how large it is, and what providers take. */

/** An image for a model. */
export interface ModelImage {
  mediaType: string
  bytes: Uint8Array
}

interface Size {
  width: number
  height: number
}

/** The largest width and height to which an image is scaled, in pixels: providers scale larger ones down themselves. */
export const SCALED_PIXELS = 1_568
/** The largest width and height of an image that is shown as it is. Providers refuse larger ones once a conversation has many images. */
export const MAX_PIXELS = 2_000
/** The most bytes of an image, whatever the host allows: in base64, they are the 5 MB that providers take. */
export const MAX_IMAGE_BYTES = 3_750_000

interface ImageKind {
  mediaType: string
  begins(bytes: Buffer): boolean
}

const latin = (bytes: Buffer, from: number, to: number): string => bytes.toString('latin1', from, to)

/** Kinds of images that models take, by their first bytes. */
const kinds: readonly ImageKind[] = [
  { mediaType: 'image/png', begins: (bytes) => bytes.subarray(0, 8).equals(Buffer.from('89504e470d0a1a0a', 'hex')) },
  { mediaType: 'image/jpeg', begins: (bytes) => bytes.subarray(0, 3).equals(Buffer.from('ffd8ff', 'hex')) },
  { mediaType: 'image/gif', begins: (bytes) => /^GIF8[79]a/u.test(latin(bytes, 0, 6)) },
  { mediaType: 'image/webp', begins: (bytes) => /^RIFF.{4}WEBP/su.test(latin(bytes, 0, 12)) },
]

/** Kinds that are shown after a conversion. */
const convertible: readonly ImageKind[] = [
  { mediaType: 'image/tiff', begins: (bytes) => /^(?:II\*\0|MM\0\*)/u.test(latin(bytes, 0, 4)) },
  { mediaType: 'image/avif', begins: (bytes) => /^ftypavi[fs]/u.test(latin(bytes, 4, 12)) },
]

const ofKind = (bytes: Buffer, some: readonly ImageKind[]): ModelImage | undefined => {
  const kind = some.find(({ begins }) => begins(bytes))
  return kind === undefined ? undefined : { mediaType: kind.mediaType, bytes }
}

/** The image in these bytes, of a kind that models take; `undefined` for anything else, under any name. */
export const imageOf = (bytes: Buffer): ModelImage | undefined => ofKind(bytes, kinds)

/** The same of a kind that has to be converted. */
export const convertibleOf = (bytes: Buffer): ModelImage | undefined => ofKind(bytes, convertible)

/** Whether providers take an image as it is: it is whole, and neither its width and height nor its bytes are more than these. */
export function isTaken(bytes: Buffer, maxPixels: number, maxBytes: number): boolean {
  const size = sizeOfImage(bytes)
  if (size === undefined || bytes.length > Math.min(maxBytes, MAX_IMAGE_BYTES) || !isWhole(bytes)) return false
  return Math.min(size.width, size.height) > 0 && Math.max(size.width, size.height) <= maxPixels
}

/** The width and height of an image in pixels; `undefined` if its beginning does not say. */
export function sizeOfImage(bytes: Buffer): Size | undefined {
  const at = (offset: number, length: number): string => latin(bytes, offset, offset + length)
  if (at(1, 3) === 'PNG' && bytes.length >= 24) return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
  if (at(0, 3) === 'GIF' && bytes.length >= 10) return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
  if (at(0, 4) === 'RIFF' && at(8, 4) === 'WEBP') return sizeOfWebp(bytes, at(12, 4))
  return bytes[0] === 0xff && bytes[1] === 0xd8 ? sizeOfJpeg(bytes) : undefined
}

function sizeOfWebp(bytes: Buffer, chunk: string): Size | undefined {
  if (bytes.length < 30) return undefined
  if (chunk === 'VP8 ') return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
  if (chunk === 'VP8X') return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
  if (chunk !== 'VP8L') return undefined
  const bits = bytes.readUInt32LE(21)
  return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
}

/** The first frame header of a JPEG says its size. */
function sizeOfJpeg(bytes: Buffer): Size | undefined {
  let at = 2
  while (at + 9 < bytes.length) {
    const marker = bytes[at + 1] ?? 0
    if (bytes[at] !== 0xff) return undefined
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
    if (isFrame) return { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) }
    at += marker === 0xff ? 1 : 2 + bytes.readUInt16BE(at + 2)
  }
  return undefined
}

/** How far from its end an image may have its last mark: some programs append a little. */
const AFTER_END = 64_000

/** Whether an image has its end. Providers refuse one that was cut off, and with it the conversation. */
function isWhole(bytes: Buffer): boolean {
  const { mediaType } = imageOf(bytes) ?? {}
  const end = bytes.subarray(Math.max(0, bytes.length - AFTER_END))
  if (mediaType === 'image/png') return end.includes('IEND', 'latin1')
  if (mediaType === 'image/jpeg') return end.includes(Buffer.from([0xff, 0xd9]))
  if (mediaType === 'image/gif') return end.includes(0x3b)
  return bytes.length >= 12 && bytes.length >= bytes.readUInt32LE(4) + 8
}
