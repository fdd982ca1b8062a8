import { z } from 'zod'
import { grantedRoot } from '../../core/grants.js'
import { callLimited, filesOfPatch } from '../../core/native.js'
import { string } from '../../core/options.js'
import { recordedPatch } from '../../journal/calls/recorded-values.js'
import { type CallableTool, defineBuiltIn } from '../define-tool.js'
import type { BoundToolOptions } from '../settings.js'
import { filesChangedBy } from '../../language-servers/root-host.js'
import { callPlan, type CallSettings, directCall } from './call-plan.js'
import { namingCells } from './cell-patches.js'
import { changeAndFollow, hasFollowers } from './followed-change.js'
import { guideModel } from './model-errors.js'
import type { Toolkit } from './model-output.js'

/** Input of the `apply_patch` tool. */
export interface ApplyPatchInput {
  patch: string
}

const schema = z.object({
  patch: z.string().describe('The whole patch, from *** Begin Patch to *** End Patch, or a unified diff of one or several files'),
})

const outputSchema = z
  .string()
  .describe('The files that were added (A), changed (M), deleted (D) and moved (R), a line for each, and notes on what did not fit exactly')

/** The `apply_patch` tool: creates, changes, moves and deletes files with one patch, all of them or none. */
export type ApplyPatchTool = CallableTool<ApplyPatchInput, string>

/** Makes the `apply_patch` tool of a tool set. */
export function createApplyPatchTool(bound: BoundToolOptions, description: string, toolkit?: Toolkit): ApplyPatchTool {
  return defineBuiltIn(
    {
      name: 'apply_patch',
      description,
      schema,
      outputSchema,
      sideEffect: true,
      kind: 'write',
      execute: async (input: ApplyPatchInput, call): Promise<string> => {
        const followers = toolkit ?? { formats: false }
        const paths = hasFollowers(followers) ? await filesChangedBy(input.patch) : []
        const { result, note } = await changeAndFollow(followers, bound, paths, call, () =>
          patchFiles(input.patch, call)
            .catch(guideModel('apply_patch', call))
            .catch(namingCells(toolkit?.documents === true, input.patch)),
        )
        return note === undefined ? result.summary : `${result.summary.trimEnd()}\n${note}`
      },
      recordedInput: ({ patch }) => recordedPatch(patch, (text) => filesOfPatch(text, MAX_RECORDED_BYTES)),
    },
    bound,
  )
}

/** The longest patch whose files a record names. */
const MAX_RECORDED_BYTES = 10_485_760

/** A patch that was applied. */
export interface AppliedPatch {
  /** The changes, one file on each line. */
  readonly summary: string
  /**
   * Restores every file, and removes the directories that the patch made. Until then, this process keeps the earlier contents
   * in memory.
   *
   * @throws {ToolError} TOOL_EDIT_CONFLICT if a file has changed since; others of `docs/errors.md`. Then nothing changes.
   */
  undo(): Promise<void>
}

/**
 * Applies a patch of any number of files below the root directory, in the current context: all of it or nothing.
 *
 * ```ts
 * import { applyPatch } from 'toolwright'
 *
 * const applied = await applyPatch(`*** Begin Patch
 * *** Add File: notes/today.md
 * +remember the milk
 * *** End Patch`)
 * console.log(applied.summary)
 * await applied.undo()
 * ```
 *
 * @param patch the envelope of `apply_patch`, or a unified diff. At most `maxOutputBytes`.
 * @throws {ToolError} TOOL_PATCH_TOO_LARGE; TOOL_PATCH_FAILED when it is malformed or does not fit a file, with the file, the hunk and
 * the line; TOOL_FILE_EXISTS if a unified diff creates an existing file; TOOL_EDIT_CONFLICT if another program changed a file
 * meanwhile; others of `docs/errors.md`. Then nothing changes.
 */
export async function applyPatch(patch: string): Promise<AppliedPatch> {
  return patchFiles(patch, directCall('write'))
}

async function patchFiles(patch: string, call: CallSettings): Promise<AppliedPatch> {
  const plan = callPlan(call)
  const text = string(patch, 'patch')
  const result = await callLimited(plan.changeLimits('apply_patch'), (addon, cancel) =>
    addon.applyPatch(grantedRoot(addon, plan), text, plan.maxOutputBytes, plan.publishSeen(addon), cancel),
  )
  return {
    summary: result.summary,
    undo: async () => {
      // An abort of the undone call must not stop the undo.
      const limits = { ...plan.changeLimits('undo apply_patch'), signal: undefined }
      await callLimited(limits, (addon, cancel) => result.undo(grantedRoot(addon, plan), plan.publish, cancel))
    },
  }
}
