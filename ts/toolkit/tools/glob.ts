import { z } from 'zod'
import { string } from '../../core/options.js'
import { type CallableTool, defineBuiltIn } from '../define-tool.js'
import type { BoundToolOptions } from '../settings.js'
import { search } from './grep.js'
import { guideModel } from './model-errors.js'
import { textWithNotes, type Toolkit } from './model-output.js'

/** Input of the `glob` tool of `createTools`. */
export interface GlobInput {
  pattern: string
  path?: string | undefined
}

const schema = z.object({
  pattern: z
    .string()
    .min(1)
    .describe('Relative to path, for example src/**/*.ts. A pattern without a slash, such as *.ts, matches at any depth'),
  path: z.string().optional().describe('Directory to list; the root directory when left out'),
})

const outputSchema = z.string().describe('The paths of files, one on each line; empty when none matches')

/** The `glob` tool: the files whose names match a pattern. */
export type GlobTool = CallableTool<GlobInput, string>

/** Makes the `glob` tool of `createTools`. */
export function createGlobTool(bound: BoundToolOptions, description: string, toolkit: Toolkit): GlobTool {
  const { notes } = toolkit
  return defineBuiltIn(
    {
      name: 'glob',
      description,
      schema,
      outputSchema,
      sideEffect: false,
      kind: 'grep',
      execute: async ({ pattern, path }: GlobInput, call) => {
        const { text, note } = await search('glob', string(pattern, 'pattern'), path, call, (addon, root, request, cancel) =>
          addon.glob(root, request, cancel),
        ).catch(guideModel('glob', call))
        const noted = { toolCallId: call.toolCallId, tool: 'glob', subject: pattern } as const
        notes.set(noted, { text: note })
        notes.addLate(noted, toolkit)
        return text
      },
      toModelOutput: ({ toolCallId, input, output }) =>
        textWithNotes(output, notes.get({ toolCallId, tool: 'glob', subject: input.pattern }).text ?? (output === '' ? NONE : undefined)),
    },
    bound,
  )
}

/** For a call of another process, whose note is unknown. */
const NONE = '(no files)'
