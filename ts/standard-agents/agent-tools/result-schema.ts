import type { Schema } from 'ai'
import { aCount, aText, dataSchemaOf } from '../../contract/registry/output-schema.js'
import type { AttachmentRef } from '../store/stored-records.js'
import type { ToolResult } from '../tools/tool-result.js'
import { sdkSchema } from './input-schema.js'

/** A file that is stored with the thread. The result of a call has references alone: new files are stored before it ends. */
const attachment = dataSchemaOf<AttachmentRef>(
  { id: aText, type: { const: 'file' }, path: aText, name: aText, mimeType: aText, size: aCount, width: aCount, height: aCount },
  ['path'],
)

/** The attachments of a result. */
export const attachmentList = { type: 'array', items: attachment }

/** The schema of a tool's result for the AI SDK. It describes and does not validate. */
export const resultSchema: Schema<unknown> = sdkSchema(
  dataSchemaOf<ToolResult>(
    { status: { type: 'string', enum: ['success', 'error'] }, result: aText, error: aText, stack: aText, attachments: attachmentList },
    ['status'],
  ),
)
