/** The image in the data of `read`. A model and a client get it as an image, and never as a text. */
import { recordOf } from './json-schema.js'
import type { JsonSchema } from './contract-tool.js'
import { aText } from './output-schema.js'
import type { DataImage } from './tool-runtime.js'

export const imageSchema: JsonSchema = {
  type: 'object',
  properties: { media_type: aText, data: aText },
  required: ['media_type'],
  additionalProperties: false,
}

/** A result without the bytes of its image, and the image. */
export function apartFromImage<ENVELOPE extends { type: string }>(
  tool: string,
  envelope: ENVELOPE,
): { rest: ENVELOPE; image: Required<DataImage> | undefined } {
  if (tool !== 'read' || !('data' in envelope)) return { rest: envelope, image: undefined }
  const { image, ...data } = recordOf(envelope.data)
  const { media_type: type, data: bytes } = recordOf(image)
  if (typeof type !== 'string' || typeof bytes !== 'string') return { rest: envelope, image: undefined }
  return { rest: { ...envelope, data: { ...data, image: { media_type: type } } }, image: { media_type: type, data: bytes } }
}
