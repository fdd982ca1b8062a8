import { z } from 'zod'
import { grantedRoot } from '../../core/grants.js'
import { callLimited } from '../../core/native.js'
import { recordedChange } from '../../journal/calls/recorded-values.js'
import { type CallableTool, defineBuiltIn } from '../define-tool.js'
import type { BoundToolOptions } from '../settings.js'
import { callPlan, type CallSettings, changeOf, directCall } from './call-plan.js'
import { guideModel } from './model-errors.js'

/** Input of the `write` tool. */
export interface WriteInput {
  path: string
  content: string
}

const schema = z.object({
  path: z.string().describe('Destination path, relative to the root directory or absolute within it'),
  content: z.string().describe('The whole content of the file'),
})

const outputSchema = z.literal('ok').describe('The file has the content')

/** The `write` tool: writes a whole file and creates its parent directories. */
export type WriteTool = CallableTool<WriteInput, 'ok'>

/** Makes the `write` tool of a tool set. With `guides`, errors name a next move with the tools of the set. */
export function createWriteTool(bound: BoundToolOptions, description: string, guides = false): WriteTool {
  return defineBuiltIn(
    {
      name: 'write',
      description,
      schema,
      outputSchema,
      sideEffect: true,
      kind: 'write',
      execute: (input: WriteInput, call) => (guides ? writeFile(input, call).catch(guideModel('write', call)) : writeFile(input, call)),
      recordedInput: ({ path, content }) => recordedChange(path, 'content', content),
    },
    bound,
  )
}

/**
 * Writes `content` to the file at `path`, in the current context.
 *
 * The file is replaced in one step: other readers see the old file or the new one, and a killed process leaves one of the
 * two.
 *
 * @throws {ToolError} TOOL_CONTENT_TOO_LARGE over `maxOutputBytes`; TOOL_PATH_ESCAPE outside the root; others of
 * `docs/errors.md`. Then nothing changes.
 */
export async function writeFileTool(path: string, content: string): Promise<'ok'> {
  return writeFile({ path, content }, directCall('write'))
}

async function writeFile({ path, content }: WriteInput, call: CallSettings): Promise<'ok'> {
  const plan = callPlan(call)
  const { target, text } = changeOf(path, 'content', content)
  await callLimited(plan.changeLimits(`write ${target}`), (addon, cancel) =>
    addon.write(grantedRoot(addon, plan), target, text, plan.maxOutputBytes, plan.publish, cancel),
  )
  return 'ok'
}
