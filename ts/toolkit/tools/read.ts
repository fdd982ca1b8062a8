import { isUtf8 } from 'node:buffer'
import { z } from 'zod'
import { grantedRoot } from '../../core/grants.js'
import { call as callAddon, fileText, tryNowait } from '../../core/native.js'
import { invalid } from '../../core/options.js'
import { kindOfName } from '../../documents/kinds.js'
import { type ModelText, textWithImage } from '../../documents/model-image.js'
import { type BuiltInContext, type CallableTool, defineBuiltIn } from '../define-tool.js'
import type { BoundToolOptions } from '../settings.js'
import { type CallPlan, callPlan, type CallSettings, directCall, pathText } from './call-plan.js'
import { documentText, plainImage } from './documents.js'
import { guideModel } from './model-errors.js'
import { joinedNotes, type ModelOutputRequest, textWithNotes, type Toolkit } from './model-output.js'

/** Input of the `read` tool. */
export interface ReadInput {
  path: string
}

const schema = z.object({
  path: z.string().describe('File path, relative to the root directory or absolute within it'),
})

/** The `read` tool: reads a file of the root directory as UTF-8 text. */
export type ReadTool = CallableTool<ReadInput, string>

/** Input of the `read` tool of `createTools`. */
export interface ToolkitReadInput extends ReadInput {
  /** The first line to read, from 1. */
  offset?: number | undefined
  /** How many lines to read. */
  limit?: number | undefined
  /** The pages of a PDF document to read, such as `3` or `2-5`. In sets with `documents` only. */
  pages?: string | undefined
}

const toolkitSchema = z.object({
  ...schema.shape,
  offset: z.number().int().min(1).optional().describe('The first line to read, counted from 1'),
  limit: z.number().int().min(1).optional().describe('How many lines to read'),
})

const documentSchema = toolkitSchema.extend({
  pages: z.string().optional().describe('The pages of a PDF document to read, such as 3, 2-5 or 2-'),
})

/** The `read` tool of `createTools`: reads a file as text, or a range of its lines. */
export type ToolkitReadTool = CallableTool<ToolkitReadInput, string>

const outputSchema = z.string().describe('The text of the file, or what an image is')

const definition = { name: 'read', outputSchema, sideEffect: false, kind: 'read' } as const

/** Makes the `read` tool of `createTools`. */
export function createToolkitReadTool(bound: BoundToolOptions, description: string, toolkit: Toolkit): ToolkitReadTool {
  return defineBuiltIn(
    {
      ...definition,
      description,
      schema: toolkit.documents ? documentSchema : toolkitSchema,
      execute: async (input: ToolkitReadInput, call) => {
        const output = await readForModel(input, call, toolkit, bound).catch(guideModel('read', call))
        toolkit.notes.addLate({ toolCallId: call.toolCallId, tool: 'read', subject: input.path }, toolkit)
        toolkit.tracked?.known.add(input.path, call.settings.rootDir)
        return output
      },
      toModelOutput: (request) => modelOutput(toolkit, request),
    },
    bound,
  )
}

/** The model's form of a result: a text, with line numbers if the host sets them, or the image itself. */
function modelOutput(toolkit: Toolkit, { toolCallId, input, output }: ModelOutputRequest<ToolkitReadInput>): ModelText {
  const { text, image } = toolkit.notes.get({ toolCallId, tool: 'read', subject: input.path })
  if (image !== undefined) return textWithImage(output, image)
  if (output === '') return textWithNotes(text ?? '(empty file)')
  // Without the arguments, nothing says which line is the first.
  return textWithNotes(toolkit.lineNumbers && input.path !== undefined ? numbered(output, input.offset ?? 1) : output, text)
}

/** Puts a number and a tab before each line, like `cat -n`. */
function numbered(text: string, first: number): string {
  const ends = text.endsWith('\n')
  const lines = (ends ? text.slice(0, -1) : text).split('\n')
  return lines.map((line, index) => `${String(first + index).padStart(6)}\t${line}`).join('\n') + (ends ? '\n' : '')
}

/** Makes the `read` tool that the documents describe. */
export function createReadTool(bound: BoundToolOptions, description: string): ReadTool {
  return defineBuiltIn({ ...definition, description, schema, execute: (input: ReadInput, call) => readFile(input, call) }, bound)
}

/**
 * The text of the file at `path`, in the current context.
 *
 * Invalid UTF-8 is shown as U+FFFD; a byte order mark is kept.
 *
 * @throws {ToolError} TOOL_FILE_TOO_LARGE over `maxOutputBytes`; TOOL_PATH_ESCAPE outside the root; TOOL_FILE_NOT_FOUND,
 * TOOL_NOT_A_FILE and others of `docs/errors.md`.
 */
export async function readFileTool(path: string): Promise<string> {
  return readFile({ path }, directCall('read'))
}

async function readFile({ path }: ReadInput, call: CallSettings): Promise<string> {
  const { text } = await readText(callPlan(call), pathText(path), false)
  return text
}

/** Reads a file as text, a range of its lines, or an image. The result of an image describes it, and the model sees the image itself. */
async function readForModel(
  { path, offset, limit, pages }: ToolkitReadInput,
  call: BuiltInContext,
  toolkit: Toolkit,
  bound: BoundToolOptions,
): Promise<string> {
  const noted = { toolCallId: call.toolCallId, tool: 'read', subject: path } as const
  toolkit.notes.set(noted, {})
  checkLine('offset', offset)
  checkLine('limit', limit)
  const plan = callPlan(call)
  const target = pathText(path)
  if (offset !== undefined || limit !== undefined) {
    const { lines, note } = await readLines(plan, target, { offset, limit })
    toolkit.notes.set(noted, { text: note })
    return lines
  }
  const isImage = plan.imageBytes > 0 && kindOfName(target) === 'image'
  const plain = isImage && !toolkit.documents ? await plainImage(plan, target, bound) : undefined
  const document = toolkit.documents ? await documentText(plan, target, pages, bound) : plain
  if (document !== undefined) {
    const { text, note, image } = document
    toolkit.notes.set(noted, { text: joinedNotes(note, pages === undefined || document.hasPages === true ? undefined : NO_PAGES), image })
    return text
  }
  const { text, isLossy } = await readText(plan, target, true)
  const about = joinedNotes(isLossy ? LOSSY : undefined, pages === undefined ? undefined : NO_PAGES)
  if (about !== undefined) toolkit.notes.set(noted, { text: about })
  return text
}

const NO_PAGES = '(`pages` is for PDF documents and was left out: this is the whole file. For a part of a text, give offset and limit.)'

const LOSSY =
  '(Some bytes are not UTF-8 and are shown as U+FFFD: the file may be in another encoding. An edit leaves the bytes of other lines as they are.)'

/** Reads a whole file: without waiting if it is in memory, otherwise on another thread. */
async function readText(plan: CallPlan, target: string, textOnly: boolean): Promise<{ text: string; isLossy: boolean }> {
  const { maxOutputBytes, signal } = plan
  const cached = tryNowait(signal, (addon) =>
    addon.tryReadCached(grantedRoot(addon, plan), target, maxOutputBytes, textOnly, plan.seen(addon)),
  )
  const bytes = cached ?? (await readBytes(plan, target, maxOutputBytes, textOnly))
  return { text: fileText(bytes), isLossy: isLossy(bytes) }
}

const readBytes = (plan: CallPlan, target: string, limitBytes: number, textOnly: boolean, seen = plan.seen): Promise<string | Buffer> =>
  callAddon(plan.limits(`read ${target}`), (addon, cancel) =>
    addon.read(grantedRoot(addon, plan), target, limitBytes, textOnly, cancel, seen(addon)),
  )

async function readLines(
  plan: CallPlan,
  target: string,
  { offset = 1, limit = Number.MAX_SAFE_INTEGER }: { offset?: number | undefined; limit?: number | undefined },
): Promise<{ lines: string; note: string | undefined }> {
  const range = { first: offset, count: limit, limitBytes: plan.maxOutputBytes }
  const lines = await callAddon(plan.limits(`read ${target}`), (addon, cancel) =>
    addon.readLines(grantedRoot(addon, plan), target, range, cancel, plan.seen(addon)),
  )
  const { text, count, hasMore, isCut, total } = lines
  const last = offset + count - 1
  const parts: string[] = []
  if (isCut) parts.push(`(Line ${last} is longer than ${plan.maxOutputBytes} bytes: this is its beginning.)`)
  if (hasMore) parts.push(`(There are more lines: go on with offset ${last + 1}.)`)
  else if (count === 0) parts.push(total === 0 ? '(empty file)' : `(There is no line ${offset}: the file has ${total ?? 0}.)`)
  if (isLossy(text)) parts.push(LOSSY)
  return { lines: fileText(text), note: parts.length === 0 ? undefined : parts.join('\n') }
}

/** Whether some bytes are not UTF-8. */
const isLossy = (bytes: string | Buffer): boolean => typeof bytes !== 'string' && !isUtf8(bytes)

function checkLine(name: string, line: unknown): void {
  if (line === undefined || (Number.isSafeInteger(line) && (line as number) >= 1)) return
  throw invalid(`${name} must be a whole number from 1: lines are counted, not bytes.`)
}
