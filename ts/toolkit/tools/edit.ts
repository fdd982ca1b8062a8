import { z } from 'zod'
import { grantedRoot } from '../../core/grants.js'
import { callLimited } from '../../core/native.js'
import { recordedChange } from '../../journal/calls/recorded-values.js'
import { type CallableTool, defineBuiltIn } from '../define-tool.js'
import type { BoundToolOptions } from '../settings.js'
import { callPlan, type CallSettings, changeOf, directCall } from './call-plan.js'
import { changeAndFollow } from './followed-change.js'
import { namingCells } from './cell-patches.js'
import { guideModel } from './model-errors.js'
import { joinedNotes, textWithNotes, type Toolkit } from './model-output.js'

/** Input of the `edit` tool. */
export interface EditInput {
  path: string
  patch: string
}

const schema = z.object({
  path: z.string().describe('The file to patch; it must exist'),
  patch: z.string().describe('A unified diff against the current content of the file'),
})

const outputSchema = z.literal('ok').describe('The patch has been applied')

/** The `edit` tool: applies a unified diff to one file. */
export type EditTool = CallableTool<EditInput, 'ok'>

/** Makes the `edit` tool of a tool set. With a toolkit, hunks with wrong headers are placed where they fit. */
export function createEditTool(bound: BoundToolOptions, description: string, toolkit?: Toolkit): EditTool {
  return defineBuiltIn(
    {
      name: 'edit',
      description,
      schema,
      outputSchema,
      sideEffect: true,
      kind: 'write',
      execute: async (input: EditInput, call): Promise<'ok'> => {
        if (toolkit === undefined) await editFile(input, call)
        else {
          const noted = { toolCallId: call.toolCallId, tool: 'edit', subject: input.path } as const
          toolkit.notes.set(noted, {})
          const { result, note } = await changeAndFollow(toolkit, bound, [input.path], call, () =>
            editFile(input, call, true).catch(guideModel('edit', call)).catch(namingCells(toolkit.documents, input.patch)),
          )
          toolkit.notes.set(noted, { text: joinedNotes(result, note) })
        }
        return 'ok'
      },
      recordedInput: ({ path, patch }) => recordedChange(path, 'patch', patch),
      toModelOutput:
        toolkit &&
        (({ toolCallId, input, output }) =>
          textWithNotes(output, toolkit.notes.get({ toolCallId, tool: 'edit', subject: input.path }).text)),
    },
    bound,
  )
}

/**
 * Applies a unified diff to the existing file at `path`, in the current context.
 *
 * @throws {ToolError} TOOL_PATCH_TOO_LARGE over `maxOutputBytes`; TOOL_PATCH_FAILED when the patch
 * does not fit, with the hunk, the line, what was expected and what was found; TOOL_EDIT_CONFLICT if another program changed
 * the file meanwhile; others of `docs/errors.md`. Then nothing changes.
 */
export async function editFileTool(path: string, patch: string): Promise<'ok'> {
  await editFile({ path, patch }, directCall('write'))
  return 'ok'
}

/** Applies the patch; `byContent`: a hunk with a wrong header goes where it fits. Returns a note for the model on hunks with wrong headers, and on changes of others. */
async function editFile({ path, patch }: EditInput, call: CallSettings, byContent = false): Promise<string | undefined> {
  const plan = callPlan(call)
  const { target, text } = changeOf(path, 'patch', patch)
  const terms = { limitBytes: plan.maxOutputBytes, byContent }
  const { summary, note } = await callLimited(plan.changeLimits(`edit ${target}`), (addon, cancel) =>
    addon.edit(grantedRoot(addon, plan), target, text, terms, plan.publishSeen(addon), cancel),
  )
  return joinedNotes(summary, note)
}
