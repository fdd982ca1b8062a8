import type { AttachmentRef } from '../store/stored-records.js'

/** A new file that a tool returns. */
export interface ToolAttachment {
  /** The file's name as its reader sees it. It is stored under another name. */
  name: string
  mimeType: string
  /** The bytes, as base64. */
  data: string
  /** In pixels. @default what the image's header says */
  width?: number
  /** In pixels. @default what the image's header says */
  height?: number
}

/** The value that a tool returns. */
export interface ToolResult {
  status: 'success' | 'error'
  /** The text for the model; complex data as JSON. */
  result?: string
  /** What went wrong, for the model. */
  error?: string
  /** Where it went wrong. Stored for people; a model never reads it. */
  stack?: string
  /** New files, and references to stored ones. */
  attachments?: Array<ToolAttachment | AttachmentRef>
}

/** A failed call. */
export const failure = (error: string, stack?: string): ToolResult => ({
  status: 'error',
  error,
  ...(stack === undefined ? {} : { stack }),
})

/** The result of a call whose tool threw. */
export function thrownResult(thrown: unknown): ToolResult {
  try {
    const { message, stack } = (thrown ?? {}) as { message?: unknown; stack?: unknown }
    return failure(String(message ?? thrown), typeof stack === 'string' ? stack : undefined)
  } catch {
    return failure('The tool threw a value that cannot be read')
  }
}

/** Converts what a tool returned to a result with known fields only. Values that are not strings become JSON. */
export function toToolResult(name: string, returned: unknown): ToolResult {
  if (typeof returned !== 'object' || returned === null) return noResult(name)
  const { status, result, error, stack, attachments } = returned as Record<keyof ToolResult, unknown>
  if (status !== 'success' && status !== 'error') return noResult(name)
  const text = textOf(result)
  const errorText = status === 'error' ? (textOf(error) ?? text) : undefined
  const files = attachments === undefined || attachments === null ? undefined : toAttachments(attachments)
  if (typeof files === 'string') return failure(`Tool "${name}" returned ${files}`)
  return {
    status,
    ...(text === undefined ? {} : { result: text }),
    ...(errorText === undefined ? {} : { error: errorText }),
    ...(typeof stack === 'string' ? { stack } : {}),
    ...(files === undefined ? {} : { attachments: files }),
  }
}

const noResult = (name: string): ToolResult => failure(`Tool "${name}" did not return a ToolResult`)

/** A string as it is, any other value as JSON. */
function textOf(value: unknown): string | undefined {
  if (value === undefined || value === null || typeof value === 'string') return value ?? undefined
  return JSON.stringify(value, null, 2)
}

/** Attachments with their known fields, or a text that says what is wrong. */
function toAttachments(value: unknown): Array<ToolAttachment | AttachmentRef> | string {
  if (!Array.isArray(value)) return 'attachments that are no array'
  const attachments = []
  for (const [index, item] of (value as unknown[]).entries()) {
    if (typeof item !== 'object' || item === null) return `attachment ${index}, which is no object`
    const { id, path, name, mimeType, data, size, width, height } = item as Record<string, unknown>
    const isNew = 'data' in item
    const strings = isNew ? { name, mimeType, data } : { path }
    for (const [field, text] of Object.entries(strings)) {
      if (typeof text !== 'string') return `attachment ${index}, whose ${field} is no string`
    }
    const sizes = { ...(width === undefined ? {} : { width }), ...(height === undefined ? {} : { height }) }
    const fields = isNew ? { name, mimeType, data } : { id, type: 'file', path, name, mimeType, size }
    attachments.push({ ...fields, ...sizes } as ToolAttachment | AttachmentRef)
  }
  return attachments
}

/** The text of a result for the model, without the stack. */
export function messageContent(result: ToolResult): string {
  const text =
    result.status === 'success'
      ? result.result?.trim() || 'Tool executed successfully'
      : `Failed to execute tool: ${result.error || 'Tool execution failed'}`
  const lines = storedRefs(result).map(({ name, path }) => `Attachment path for "${name}": ${path}`)
  return lines.length === 0 ? text : `${text}\n\n${lines.join('\n')}`
}

/** The attachments of a result that are stored. */
export const storedRefs = ({ attachments = [] }: ToolResult): AttachmentRef[] => attachments.filter(isStored)

/** Whether an attachment is a reference to a stored file. */
export const isStored = (attachment: ToolAttachment | AttachmentRef): attachment is AttachmentRef => !('data' in attachment)
