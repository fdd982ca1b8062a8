import { z } from 'zod'
import type { DefinedToolContext } from '../call-context.js'
import type { ToolContext } from '../context.js'
import { type CallableTool, defineBoundTool } from '../define-tool.js'
import { grantedRoot } from '../../core/granted-root.js'
import { callInTurn } from '../../core/native.js'
import { invalid } from '../../core/options.js'
import type { BoundToolOptions, ToolOptions } from '../settings.js'
import { callPlan } from './call-plan.js'
import { forModel } from './model-errors.js'
import { type Toolkit, withNote } from './model-output.js'
import { recordedChange } from './recorded-text.js'

/** Input of the `edit` tool. */
export interface EditInput {
  path: string
  patch: string
}

const schema = z.object({
  path: z.string().describe('The file to patch; it must exist'),
  patch: z.string().describe('A unified diff against the current content of the file'),
})

/** The `edit` tool: a unified diff applied to one file. */
export type EditTool = CallableTool<EditInput, 'ok'>

/** Makes the `edit` tool of a tool set; with a toolkit, hunks with wrong headers go where they fit. */
export function createEditTool(bound: BoundToolOptions, description: string, toolkit?: Toolkit): EditTool {
  return defineBoundTool(
    {
      name: 'edit',
      description,
      schema,
      sideEffect: true,
      idempotent: false,
      execute: async ({ path, patch }: EditInput, ctx: DefinedToolContext): Promise<'ok'> => {
        if (toolkit === undefined) await editFile(path, patch, ctx, bound, false)
        else {
          const noted = { toolCallId: ctx.toolCallId, tool: 'edit', subject: path } as const
          toolkit.notes.clear(noted)
          toolkit.notes.set(noted, { text: await forModel('edit', bound, () => editFile(path, patch, ctx, bound, true)) })
        }
        return 'ok'
      },
    },
    bound,
    {
      recordedInput: ({ path, patch }) => recordedChange(path, 'patch', patch),
      toModelOutput:
        toolkit &&
        (({ toolCallId, input, output }) => withNote(toolkit.notes.get({ toolCallId, tool: 'edit', subject: input.path }), output, 'ok')),
    },
  )
}

/**
 * Applies a unified diff to the existing file at `path`, in the current context.
 *
 * @throws {ToolError} TOOL_PATCH_TOO_LARGE over `maxOutputBytes`; TOOL_PATCH_FAILED when the patch
 * does not fit, with the hunk, the line, what was expected and what was found; TOOL_EDIT_CONFLICT
 * when somebody else changed the file meanwhile; others of `docs/errors.md`. Nothing is changed then.
 */
export async function editFileTool(path: string, patch: string): Promise<'ok'> {
  await editFile(path, patch, undefined, {}, false)
  return 'ok'
}

/** Where the hunks landed, as sentences for a model. */
async function editFile(
  path: string,
  patch: string,
  ctx: ToolContext | undefined,
  bound: ToolOptions,
  byContent: boolean,
): Promise<string | undefined> {
  const plan = callPlan(ctx, bound, 'write')
  if (typeof patch !== 'string') throw invalid('patch must be a string.')
  // The size of the patch is judged before the path is.
  const target = plan.pathUnchecked(path)
  const { maxOutputBytes, publish } = plan
  const terms = { limitBytes: maxOutputBytes, byContent }
  const { summary } = await callInTurn(plan.changeLimits(`edit ${target}`), (addon, cancel) =>
    addon.edit(grantedRoot(addon, plan), target, patch, terms, publish, cancel),
  )
  return summary
}
