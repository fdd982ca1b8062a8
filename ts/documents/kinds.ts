/** Which files are documents, by their names and first bytes. */

/** What `read` shows of a file besides text. */
export type DocumentKind = 'notebook' | 'pdf' | 'image'

const names: readonly [RegExp, DocumentKind][] = [
  [/\.ipynb$/iu, 'notebook'],
  [/\.pdf$/iu, 'pdf'],
  [/\.(?:png|jpe?g|gif|webp)$/iu, 'image'],
]

/** The kind of a document by its name. */
export const kindOfName = (path: string): DocumentKind | undefined => names.find(([name]) => name.test(path))?.[1]

/** Whether bytes are a PDF document. Some begin with a few other bytes. */
export const isPdf = (bytes: Buffer): boolean => bytes.subarray(0, 1_024).includes('%PDF-')

/** The width and height of an image in pixels; `undefined` if its beginning does not say. */
export function sizeOfImage(bytes: Buffer): { width: number; height: number } | undefined {
  const at = (offset: number, length: number): string => bytes.toString('latin1', offset, offset + length)
  if (at(1, 3) === 'PNG' && bytes.length >= 24) return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
  if (at(0, 3) === 'GIF' && bytes.length >= 10) return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
  if (at(0, 4) === 'RIFF' && at(8, 4) === 'WEBP') return sizeOfWebp(bytes, at(12, 4))
  return bytes[0] === 0xff && bytes[1] === 0xd8 ? sizeOfJpeg(bytes) : undefined
}

function sizeOfWebp(bytes: Buffer, chunk: string): { width: number; height: number } | undefined {
  if (bytes.length < 30) return undefined
  if (chunk === 'VP8 ') return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
  if (chunk === 'VP8X') return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
  if (chunk !== 'VP8L') return undefined
  const bits = bytes.readUInt32LE(21)
  return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
}

/** The first frame header of a JPEG says its size. */
function sizeOfJpeg(bytes: Buffer): { width: number; height: number } | undefined {
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
