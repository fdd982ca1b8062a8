/** An image as a part of a result, in the form of the installed AI SDK. */
import { createRequire } from 'node:module'
import { loadLate } from '../core/late-code.js'
import type { ModelImage } from './images.js'

/** A result for a model: a text, or a text with an image, whose type both versions of the SDK write differently. */
export interface ModelText {
  type: 'text'
  value: string
}

/** A description of an image, and the image itself. */
export function textWithImage(text: string, { mediaType, bytes }: ModelImage): ModelText {
  return textWithImageData(text, mediaType, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64'))
}

/** The same of an image in base64. */
export function textWithImageData(text: string, mediaType: string, data: string): ModelText {
  const image = majorOfSdk() === 6 ? { type: 'image-data', mediaType, data } : { type: 'file', mediaType, data: { type: 'data', data } }
  // Cast, because the two versions of the SDK have different types for parts.
  return { type: 'content', value: [{ type: 'text', text }, image] } as unknown as ModelText
}

let major: number | undefined

/** The version of the installed SDK; in a bundle, where it cannot be found, the newest supported one. */
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

// A file of the packages, as code is.
loadLate(async () => majorOfSdk())
