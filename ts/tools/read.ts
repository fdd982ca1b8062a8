import { z } from 'zod'
import type { DefinedToolContext } from '../call-context.js'
import type { ToolContext } from '../context.js'
import { type CallableTool, defineBoundTool } from '../define-tool.js'
import { grantedRoot } from '../granted-root.js'
import { atOnce, call } from '../native.js'
import { callPlan } from './call-plan.js'
import type { BoundToolOptions, ToolOptions } from '../settings.js'

/** Input of the `read` tool. */
export interface ReadInput {
  path: string
}

const schema = z.object({
  path: z.string().describe('File path, relative to the root directory or absolute within it'),
})

/** The `read` tool: a file of the sandbox as UTF-8 text. */
export type ReadTool = CallableTool<ReadInput, string>

/** Makes the `read` tool of a tool set. */
export function createReadTool(bound: BoundToolOptions, description: string): ReadTool {
  return defineBoundTool(
    {
      name: 'read',
      description,
      schema,
      sideEffect: false,
      idempotent: true,
      // Without a second parameter: a key would be of no use, and the original's metadata says so.
      execute: (...[{ path }, ctx]: [ReadInput, DefinedToolContext]) => readFile(path, ctx, bound),
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
  return readFile(path, undefined, {})
}

async function readFile(path: string, ctx: ToolContext | undefined, bound: ToolOptions): Promise<string> {
  const plan = callPlan(ctx, bound)
  const target = plan.path(path)
  const limits = plan.limits(`read ${target}`)
  const seen = atOnce(limits.signal, (addon) => addon.readAtOnce(grantedRoot(addon, plan), target, plan.maxOutputBytes))
  if (seen !== undefined) return typeof seen === 'string' ? seen : seen.toString('utf8')
  const { text, bytes } = await call(limits, (addon, cancel) =>
    addon.read(grantedRoot(addon, plan), target, plan.maxOutputBytes, cancel),
  )
  // Buffer's decoder keeps a byte order mark, TextDecoder's default does not.
  return text ?? bytes?.toString('utf8') ?? ''
}
