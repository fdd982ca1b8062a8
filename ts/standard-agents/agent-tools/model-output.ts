import type { Tool as AgentTool } from 'ai'
import { messageContent, storedRefs, type AttachmentRef, type ToolResult } from '../tools/tool-result.js'
import type { ThreadAttachments } from '../thread/thread.js'

/** A tool's result for the model, in the AI SDK's form. */
type ModelOutput = Awaited<ReturnType<NonNullable<AgentTool['toModelOutput']>>>

/** The largest image that the model gets by default, in bytes. */
export const MAX_IMAGE_BYTES = 5_000_000

/** How images are read and passed on. */
export interface ImageOptions {
  attachments: Pick<ThreadAttachments, 'read'>
  maxImageBytes: number
  /** AI SDK 6 has another type for an image. */
  isMajor6: boolean
}

/** The image types that models accept. */
const IMAGE = /^image\/(?:png|jpe?g|gif|webp)$/iu

/** A result for the model: its text and its images, never its stack. */
export async function modelOutput(result: ToolResult, options: ImageOptions): Promise<ModelOutput> {
  const value = messageContent(result)
  if (result.status === 'error') return { type: 'error-text', value }
  const images = storedRefs(result).filter(({ mimeType, size }) => IMAGE.test(mimeType) && size <= options.maxImageBytes)
  const parts = (await Promise.all(images.map((image) => imagePart(image, options)))).filter((part) => part !== undefined)
  if (parts.length === 0) return { type: 'text', value }
  return { type: 'content', value: [{ type: 'text', text: value }, ...parts] } as ModelOutput
}

async function imagePart(image: AttachmentRef, { attachments, isMajor6 }: ImageOptions): Promise<object | undefined> {
  const { path, mimeType: mediaType, name: filename } = image
  let bytes: Uint8Array
  try {
    bytes = await attachments.read(path)
  } catch {
    // Deleted since then. The text still has its path.
    return undefined
  }
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
  if (isMajor6) return { type: 'image-data', mediaType, data }
  return { type: 'file', mediaType, filename, data: { type: 'data', data } }
}
