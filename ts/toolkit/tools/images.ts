import { createRequire } from 'node:module'
import type { ReadImage } from './call-notes.js'

/** Kinds of images that models take, by the ends of their names and their first bytes. */
const kinds: readonly { names: RegExp; mediaType: string; begins: (bytes: Buffer) => boolean }[] = [
  { names: /\.png$/iu, mediaType: 'image/png', begins: (bytes) => bytes.subarray(0, 8).equals(Buffer.from('89504e470d0a1a0a', 'hex')) },
  { names: /\.jpe?g$/iu, mediaType: 'image/jpeg', begins: (bytes) => bytes.subarray(0, 3).equals(Buffer.from('ffd8ff', 'hex')) },
  { names: /\.gif$/iu, mediaType: 'image/gif', begins: (bytes) => /^GIF8[79]a/u.test(bytes.subarray(0, 6).toString('latin1')) },
  { names: /\.webp$/iu, mediaType: 'image/webp', begins: (bytes) => /^RIFF.{4}WEBP/su.test(bytes.subarray(0, 12).toString('latin1')) },
]

/** Whether a path has the name of an image. */
export function isNamedLikeImage(path: string): boolean {
  return kinds.some(({ names }) => names.test(path))
}

/** The image in these bytes; `undefined` for anything else, under any name. */
export function imageOf(bytes: Buffer): ReadImage | undefined {
  const kind = kinds.find(({ begins }) => begins(bytes))
  return kind === undefined ? undefined : { mediaType: kind.mediaType, bytes }
}

/** An image as a part of a result, which version 6 of the AI SDK names differently. */
export function imagePart({ mediaType, bytes }: ReadImage): object {
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
  if (majorOfSdk() === 6) return { type: 'image-data', mediaType, data }
  return { type: 'file', mediaType, data: { type: 'data', data } }
}

let major: number | undefined

/** The version of the SDK beside this package, or in a bundle, where it cannot be found, the newest supported one. */
function majorOfSdk(): number {
  if (major !== undefined) return major
  try {
    const { version } = createRequire(import.meta.url)('ai/package.json') as { version: string }
    major = Number.parseInt(version, 10)
  } catch {
    major = 7
  }
  return major
}
