import { z } from 'zod'
import { grantedRoot } from '../../core/grants.js'
import { callLimited } from '../../core/native.js'
import { keptForm } from '../../core/text.js'
import { recordedChange } from '../../journal/calls/recorded-values.js'
import { type CallableTool, defineBuiltIn } from '../define-tool.js'
import type { BoundToolOptions } from '../settings.js'
import { callPlan, type CallSettings, changeOf, directCall } from './call-plan.js'
import { contentNote } from './content-notes.js'
import { changeAndFollow } from './followed-change.js'
import { guideModel } from './model-errors.js'
import { joinedNotes, textWithNotes, type Toolkit } from './model-output.js'

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

/**
 * Makes the `write` tool of a tool set. With a toolkit, a file keeps its byte order mark and its CRLF, and errors name a next move
 * with the tools of the set.
 */
export function createWriteTool(bound: BoundToolOptions, description: string, toolkit?: Toolkit): WriteTool {
  return defineBuiltIn(
    {
      name: 'write',
      description,
      schema,
      outputSchema,
      sideEffect: true,
      kind: 'write',
      execute: async (input: WriteInput, call): Promise<'ok'> => {
        if (toolkit === undefined) await writeFile(input, call, false)
        else {
          const noted = { toolCallId: call.toolCallId, tool: 'write', subject: input.path } as const
          toolkit.notes.set(noted, {})
          const { result, note } = await changeAndFollow(toolkit, bound, [input.path], call, () =>
            writeFile(input, call, true).catch(guideModel('write', call)),
          )
          toolkit.notes.set(noted, { text: joinedNotes(contentNote(input), result, note) })
        }
        return 'ok'
      },
      recordedInput: ({ path, content }) => recordedChange(path, 'content', content),
      toModelOutput:
        toolkit &&
        (({ toolCallId, input, output }) =>
          textWithNotes(output, toolkit.notes.get({ toolCallId, tool: 'write', subject: input.path }).text)),
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
  await writeFile({ path, content }, directCall('write'), false)
  return 'ok'
}

/** Writes the file. Returns a note for the model on the file before: what is kept of its form, and what was replaced. */
async function writeFile({ path, content }: WriteInput, call: CallSettings, keepsForm: boolean): Promise<string | undefined> {
  const plan = callPlan(call)
  const { target, text } = changeOf(path, 'content', content)
  const written = await callLimited(plan.changeLimits(`write ${target}`), (addon, cancel) =>
    addon.write(grantedRoot(addon, plan), target, text, plan.maxOutputBytes, keepsForm, plan.publishSeen(addon), cancel),
  )
  const kept = keptForm(written)
  const form = kept.length === 0 ? undefined : `(The file keeps its ${kept.join(' and its ')}.)`
  return joinedNotes(form, written.note)
}
