import { z } from 'zod'
import { grantedRoot } from '../../core/grants.js'
import { callLimited } from '../../core/native.js'
import { invalid } from '../../core/options.js'
import { recordedChange } from '../../journal/calls/recorded-values.js'
import { type BuiltInContext, type CallableTool, defineBuiltIn } from '../define-tool.js'
import type { BoundToolOptions } from '../tool-options.js'
import { callPlan, directCall, pathOrEmpty } from './call-plan.js'
import { forModel } from './model-errors.js'

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

/** Makes the `write` tool of a tool set; with `guides`, errors name the next move among the tools of the set. */
export function createWriteTool(bound: BoundToolOptions, description: string, guides = false): WriteTool {
  return defineBuiltIn(
    {
      name: 'write',
      description,
      schema,
      sideEffect: true,
      idempotent: false,
      kind: 'write',
      execute: (input: WriteInput, call) => (guides ? forModel('write', call, () => writeFile(input, call)) : writeFile(input, call)),
      recordedInput: ({ path, content }) => recordedChange(path, 'content', content),
    },
    bound,
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
  return writeFile({ path, content }, directCall('write'))
}

async function writeFile({ path, content }: WriteInput, call: Pick<BuiltInContext, 'settings' | 'signal'>): Promise<'ok'> {
  const plan = callPlan(call)
  if (typeof content !== 'string') throw invalid('content must be a string.')
  // The size of the content is judged before the path is.
  const target = pathOrEmpty(path)
  const { maxOutputBytes, publish } = plan
  await callLimited(plan.changeLimits(`write ${target}`), (addon, cancel) =>
    addon.write(grantedRoot(addon, plan), target, content, maxOutputBytes, publish, cancel),
  )
  return 'ok'
}
