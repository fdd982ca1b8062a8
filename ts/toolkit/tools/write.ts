import { z } from 'zod'
import type { ToolContext } from '../context.js'
import { type CallableTool, defineBoundTool } from '../define-tool.js'
import { grantedRoot } from '../../core/granted-root.js'
import { callInTurn } from '../../core/native.js'
import { invalid } from '../../core/options.js'
import type { BoundToolOptions, ToolOptions } from '../settings.js'
import { callPlan } from './call-plan.js'
import { forModel } from './model-errors.js'
import { recordedChange } from './recorded-text.js'

/** Input of the `write` tool. */
export interface WriteInput {
  path: string
  content: string
}

const schema = z.object({
  path: z.string().describe('Destination path, relative to the root directory or absolute within it'),
  content: z.string().describe('The whole content of the file'),
})

/** The `write` tool: a whole file, its parent directories created. */
export type WriteTool = CallableTool<WriteInput, 'ok'>

/** Makes the `write` tool of a tool set. */
export function createWriteTool(bound: BoundToolOptions, description: string, forTheModel = false): WriteTool {
  return defineBoundTool(
    {
      name: 'write',
      description,
      schema,
      sideEffect: true,
      idempotent: false,
      execute: ({ path, content }, ctx) => {
        const change = (): Promise<'ok'> => writeFile(path, content, ctx, bound)
        return forTheModel ? forModel('write', bound, change) : change()
      },
    },
    bound,
    { recordedInput: ({ path, content }) => recordedChange(path, 'content', content) },
  )
}

/**
 * Makes `content` the content of the file at `path`, in the current context.
 *
 * Published in one step: other readers see the old file or the new one, and a killed process leaves
 * one of the two.
 *
 * @throws {ToolError} TOOL_CONTENT_TOO_LARGE over `maxOutputBytes`; TOOL_PATH_ESCAPE outside of the
 * root; others of `docs/errors.md`. Nothing is changed then.
 */
export async function writeFileTool(path: string, content: string): Promise<'ok'> {
  return writeFile(path, content, undefined, {})
}

async function writeFile(path: string, content: string, ctx: ToolContext | undefined, bound: ToolOptions): Promise<'ok'> {
  const plan = callPlan(ctx, bound, 'write')
  if (typeof content !== 'string') throw invalid('content must be a string.')
  // The size of the content is judged before the path is.
  const target = plan.pathUnchecked(path)
  const { maxOutputBytes, publish } = plan
  await callInTurn(plan.changeLimits(`write ${target}`), (addon, cancel) =>
    addon.write(grantedRoot(addon, plan), target, content, maxOutputBytes, publish, cancel),
  )
  return 'ok'
}
