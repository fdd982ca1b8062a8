/** Codex's `view_image`: an image of the root directory, of a size that providers take. */
import { z } from 'zod'
import { ToolError } from '../../core/errors.js'
import { textWithImage } from '../../documents/model-image.js'
import { kindOfName } from '../../documents/kinds.js'
import { type CallableTool, defineBuiltIn } from '../../toolkit/define-tool.js'
import { callPlan, pathText } from '../../toolkit/tools/call-plan.js'
import { documentText } from '../../toolkit/tools/documents.js'
import { CallNotes, textWithNotes } from '../../toolkit/tools/model-output.js'
import { knownNames } from '../argument-habits.js'
import type { ProviderSettings } from '../settings.js'

/** Input of `view_image`. */
export interface ViewImageInput {
  /** Relative to the root directory, or absolute within it. */
  path: string
}

const schema = z.object({ path: z.string().describe('Local filesystem path to an image file') })

/** Makes the tool. */
export function createViewImage({ bound: shared }: ProviderSettings): CallableTool<ViewImageInput, string> {
  const bound = { ...shared, documents: true }
  const notes = new CallNotes()
  const noted = (toolCallId: string | undefined, subject: string) => ({ toolCallId, tool: 'read', subject }) as const
  return defineBuiltIn(
    {
      name: 'view_image',
      description:
        'View a local image from the filesystem (only use if given a full filepath by the user, or to look at what a command made).',
      schema: z.preprocess(knownNames('view_image', 'path', schema), schema),
      outputSchema: z.string().describe('What the image is'),
      sideEffect: false,
      kind: 'read',
      execute: async ({ path }: ViewImageInput, call): Promise<string> => {
        const key = noted(call.toolCallId, path)
        notes.set(key, {})
        const target = pathText(path)
        const shown = kindOfName(target) === 'image' ? await documentText(callPlan(call), target, undefined, bound) : undefined
        if (shown?.image === undefined) throw noImage(target)
        notes.set(key, { image: shown.image })
        return shown.text
      },
      toModelOutput: ({ toolCallId, input, output }) => {
        const { image } = notes.get(noted(toolCallId, input.path))
        return image === undefined ? textWithNotes(output) : textWithImage(output, image)
      },
    },
    bound,
  )
}

function noImage(path: string): ToolError {
  const summary = 'No image of a kind that can be viewed'
  const hint = 'View PNG, JPEG, GIF, WebP, TIFF or AVIF; read anything else with a command.'
  return new ToolError({ code: 'TOOL_FILE_BINARY', summary, place: `${summary}: \`${path}\``, hint, details: { path } })
}
