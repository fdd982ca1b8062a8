import { z } from 'zod'
import type * as Addon from '../../../index.js'
import type { FileSearch, FoundText, Unfinished } from '../../../index.js'
import { grantedRoot } from '../../core/grants.js'
import { traceStep } from '../../core/call-channel.js'
import { callLimited } from '../../core/native.js'
import { invalid, string } from '../../core/options.js'
import { type CallableTool, defineBuiltIn } from '../define-tool.js'
import type { BoundToolOptions } from '../settings.js'
import { callPlan, type CallSettings, directCall, pathText } from './call-plan.js'
import { guideModel } from './model-errors.js'
import { textWithNotes, type Toolkit } from './model-output.js'

/** Input of the `grep` tool. */
export interface GrepInput {
  pattern: string
  path?: string | undefined
}

/** Input of the `grep` tool of `createTools`. */
export interface ToolkitGrepInput extends GrepInput {
  /** How many lines before and after each match are shown too. */
  context?: number | undefined
  /** Whether to give a number of matching lines for each file, in place of the lines. */
  count?: boolean | undefined
  /** Whether to give the files with a match, in place of their lines. */
  files?: boolean | undefined
  /** Whether a match may go over the ends of lines. */
  multiline?: boolean | undefined
}

const schema = z.object({
  pattern: z.string().describe('The regular expression to search for'),
  path: z.string().optional().describe('Directory or file to search; the root directory when left out'),
})

const MAX_CONTEXT = 100

const toolkitSchema = z.object({
  ...schema.shape,
  context: z.number().int().min(0).max(MAX_CONTEXT).optional().describe('How many lines before and after each match to show'),
  count: z.boolean().optional().describe('Give the number of matching lines of each file, path:count'),
  files: z.boolean().optional().describe('Give only the paths of the files that match'),
  multiline: z.boolean().optional().describe('Match over the ends of lines: \\n in the pattern, and (?s) for . to match it'),
})

const outputSchema = z.string().describe('Lines of file:line:text; empty when nothing matches')

/** The `grep` tool: matching lines with their file and number, as `rg -n` prints them. */
export type GrepTool = CallableTool<GrepInput, string>

/** The `grep` tool of `createTools`: the same lines, with windows of long ones, or counts, or files. */
export type ToolkitGrepTool = CallableTool<ToolkitGrepInput, string>

const definition = { name: 'grep', outputSchema, sideEffect: false, kind: 'grep' } as const

/** Makes the `grep` tool that the documents describe. */
export function createGrepTool(bound: BoundToolOptions, description: string): GrepTool {
  return defineBuiltIn({ ...definition, description, schema, execute: (input: GrepInput, call) => grepFiles(input, call) }, bound)
}

/** Makes the `grep` tool of `createTools`. */
export function createToolkitGrepTool(bound: BoundToolOptions, description: string, toolkit: Toolkit): ToolkitGrepTool {
  const { notes } = toolkit
  return defineBuiltIn(
    {
      ...definition,
      description,
      schema: toolkitSchema,
      execute: async (input: ToolkitGrepInput, call) => {
        const { text, note } = await grepForModel(input, call).catch(guideModel('grep', call))
        const noted = { toolCallId: call.toolCallId, tool: 'grep', subject: input.pattern } as const
        notes.set(noted, { text: note })
        notes.addLate(noted, toolkit)
        return text
      },
      toModelOutput: ({ toolCallId, input, output }) =>
        textWithNotes(output, notes.get({ toolCallId, tool: 'grep', subject: input.pattern }).text ?? (output === '' ? NONE : undefined)),
    },
    bound,
  )
}

/** For a call of another process, whose note is unknown. */
const NONE = '(no matches)'

/**
 * Searches for a regular expression, in the current context.
 *
 * @returns lines of `file:line:text`, or an empty string if nothing matches.
 * @throws {ToolError} TOOL_GREP_FAILED for a bad pattern or a missing path; PROCESS_TIMEOUT with the
 * lines so far in `details.output`; TOOL_PATH_ESCAPE outside the root.
 */
export async function grepTool(pattern: string, path?: string): Promise<string> {
  return grepFiles({ pattern, path }, directCall('grep'))
}

/** The addon stops at the timeout. A search on a stuck disk ends this much later, in milliseconds. */
const HANG_GRACE_MS = 1_000

async function grepFiles({ pattern, path }: GrepInput, call: CallSettings): Promise<string> {
  const { text } = await search('grep', string(pattern, 'pattern'), path, call, (addon, root, request, cancel) =>
    addon.grep(root, request, undefined, cancel),
  )
  return text
}

async function grepForModel({ pattern, path, ...input }: ToolkitGrepInput, call: CallSettings): Promise<FoundText> {
  const { context = 0, count = false, files = false, multiline = false } = input
  if (!Number.isSafeInteger(context) || context < 0 || context > MAX_CONTEXT) {
    throw invalid(`context must be a whole number from 0 to ${MAX_CONTEXT}.`)
  }
  // An empty pattern matches every line: all files would be the answer.
  if (pattern === '') throw invalid('pattern is empty: give a text to look for, or list files with glob.')
  const model = { context, multiline, prints: count ? 'counts' : files ? 'files' : 'lines' }
  return search('grep', string(pattern, 'pattern'), path, call, (addon, root, request, cancel) => addon.grep(root, request, model, cancel))
}

/** Makes one search below the root of a call. */
export async function search(
  operation: 'grep' | 'glob',
  pattern: string,
  path: string | undefined,
  call: CallSettings,
  run: (addon: typeof Addon, root: Addon.GrantedRoot, request: FileSearch, cancel: Addon.CancelHandle) => Promise<FoundText | Unfinished>,
): Promise<FoundText> {
  const plan = callPlan(call)
  const target = path === undefined ? '.' : pathText(path)
  const request = { pattern, path: target, limitBytes: plan.maxOutputBytes, timeoutMs: plan.timeoutMs }
  const limits = plan.limits(`${operation} ${target}`, plan.timeoutMs + HANG_GRACE_MS)
  return traceStep('search', { operation }, () =>
    callLimited(limits, (addon, cancel) => run(addon, grantedRoot(addon, plan), request, cancel)),
  )
}
