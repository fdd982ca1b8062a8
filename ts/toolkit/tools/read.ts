import { z } from 'zod'
import { grantedRoot } from '../../core/grants.js'
import { call as callAddon, fileText, tryNowait } from '../../core/native.js'
import { invalid } from '../../core/options.js'
import { type BuiltInContext, type CallableTool, defineBuiltIn } from '../define-tool.js'
import type { BoundToolOptions } from '../tool-options.js'
import type { ReadImage } from './call-notes.js'
import { type CallPlan, callPlan, directCall, pathText } from './call-plan.js'
import { imageOf, isNamedLikeImage } from './images.js'
import { forModel } from './model-errors.js'
import { readOutput, type Toolkit } from './model-output.js'

/** Input of the `read` tool. */
export interface ReadInput {
  path: string
}

const schema = z.object({
  path: z.string().describe('File path, relative to the root directory or absolute within it'),
})

/** The `read` tool: a file of the sandbox as UTF-8 text. */
export type ReadTool = CallableTool<ReadInput, string>

/** Input of the `read` tool of `createTools`. */
export interface ToolkitReadInput extends ReadInput {
  /** The first line to read, from 1. */
  offset?: number | undefined
  /** How many lines to read. */
  limit?: number | undefined
}

const toolkitSchema = z.object({
  path: z.string().describe('File path, relative to the root directory or absolute within it'),
  offset: z.number().int().min(1).optional().describe('The first line to read, counted from 1'),
  limit: z.number().int().min(1).optional().describe('How many lines to read'),
})

/** The `read` tool of `createTools`: a file as text, or some lines of it. */
export type ToolkitReadTool = CallableTool<ToolkitReadInput, string>

/** Makes the `read` tool of `createTools`. */
export function createToolkitReadTool(bound: BoundToolOptions, description: string, toolkit: Toolkit): ToolkitReadTool {
  return defineBuiltIn(
    {
      name: 'read',
      description,
      schema: toolkitSchema,
      sideEffect: false,
      idempotent: true,
      kind: 'read',
      execute: (input: ToolkitReadInput, call) => forModel('read', call, () => readForModel(input, call, toolkit)),
      toModelOutput: (request) => readOutput(toolkit, request),
    },
    bound,
  )
}

/** Makes the `read` tool that the documents describe. */
export function createReadTool(bound: BoundToolOptions, description: string): ReadTool {
  return defineBuiltIn(
    {
      name: 'read',
      description,
      schema,
      sideEffect: false,
      idempotent: true,
      kind: 'read',
      execute: ({ path }: ReadInput, call) => {
        const plan = callPlan(call)
        return readText(plan, pathText(path), false)
      },
    },
    bound,
  )
}

/**
 * The text of the file at `path`, in the current context.
 *
 * Invalid UTF-8 is shown as U+FFFD; a byte order mark is kept.
 *
 * @throws {ToolError} TOOL_FILE_TOO_LARGE over `maxOutputBytes`; TOOL_PATH_ESCAPE outside of the
 * root; TOOL_FILE_NOT_FOUND, TOOL_NOT_A_FILE and others of `docs/errors.md`.
 */
export async function readFileTool(path: string): Promise<string> {
  const plan = callPlan(directCall('read'))
  return readText(plan, pathText(path), false)
}

/** A file as text, some lines of it, or an image: then the result describes the image, and the model is shown it. */
async function readForModel({ path, offset, limit }: ToolkitReadInput, call: BuiltInContext, toolkit: Toolkit): Promise<string> {
  const noted = { toolCallId: call.toolCallId, tool: 'read', subject: path } as const
  toolkit.notes.clear(noted)
  checkLine('offset', offset)
  checkLine('limit', limit)
  const plan = callPlan(call)
  const target = pathText(path)
  if (offset !== undefined || limit !== undefined) {
    const { lines, note } = await readLines(plan, target, { offset, limit })
    toolkit.notes.set(noted, { text: note })
    return lines
  }
  if (plan.imageBytes > 0 && isNamedLikeImage(target)) {
    const image = await readImage(plan, target)
    if (image !== undefined) {
      toolkit.notes.set(noted, { image })
      return `${image.mediaType}, ${image.bytes.byteLength} bytes`
    }
  }
  return readText(plan, target, true)
}

/** A whole file: at once where it is in memory, and on another thread where it is not. */
async function readText(plan: CallPlan, target: string, textOnly: boolean): Promise<string> {
  const limits = plan.limits(`read ${target}`)
  const { maxOutputBytes } = plan
  const cached = tryNowait(limits.signal, (addon) => addon.tryReadCached(grantedRoot(addon, plan), target, maxOutputBytes, textOnly))
  if (cached !== undefined) return fileText(cached)
  return fileText(
    await callAddon(limits, (addon, cancel) => addon.read(grantedRoot(addon, plan), target, maxOutputBytes, textOnly, cancel)),
  )
}

async function readLines(
  plan: CallPlan,
  target: string,
  { offset = 1, limit = Number.MAX_SAFE_INTEGER }: { offset?: number | undefined; limit?: number | undefined },
): Promise<{ lines: string; note: string | undefined }> {
  const range = { first: offset, count: limit, limitBytes: plan.maxOutputBytes }
  const lines = await callAddon(plan.limits(`read ${target}`), (addon, cancel) =>
    addon.readLines(grantedRoot(addon, plan), target, range, cancel),
  )
  const { text, count, hasMore, isCut, total } = lines
  const last = offset + count - 1
  const parts: string[] = []
  if (isCut) parts.push(`(Line ${last} is longer than ${plan.maxOutputBytes} bytes: this is its beginning.)`)
  if (hasMore) parts.push(`(There are more lines: go on with offset ${last + 1}.)`)
  else if (count === 0) parts.push(total === 0 ? '(empty file)' : `(There is no line ${offset}: the file has ${total ?? 0}.)`)
  return { lines: fileText(text), note: parts.length === 0 ? undefined : parts.join('\n') }
}

/** The image at a path, where it is one and no larger than the host lets models see. */
async function readImage(plan: CallPlan, target: string): Promise<ReadImage | undefined> {
  const bytes = await callAddon(plan.limits(`read ${target}`), (addon, cancel) =>
    addon.read(grantedRoot(addon, plan), target, plan.imageBytes, false, cancel),
  )
  // What is ASCII is text.
  return typeof bytes === 'string' ? undefined : imageOf(bytes)
}

function checkLine(name: string, line: unknown): void {
  if (line === undefined || (Number.isSafeInteger(line) && (line as number) >= 1)) return
  throw invalid(`${name} must be a whole number from 1: lines are counted, not bytes.`)
}
