import { filesOfPatchNow } from '../../core/native.js'
import { type ContractTool, patchTargets } from '../registry/contract-tool.js'
import { aFlag, aText, dataSchemaOf } from '../registry/output-schema.js'
import { type PatchedFile, patchedFile } from '../registry/tool-runtime.js'
import { executeDirectly } from './built-in-tools.js'
import { parameters } from './parameters.js'

/** Arguments of `apply_patch`. */
export interface ApplyPatchArguments {
  patch: string
}

/** The result of `apply_patch`. */
export interface ApplyPatchData {
  /** The files of the patch, in its order. */
  files: PatchedFile[]
}

const tool: ContractTool<ApplyPatchArguments, ApplyPatchData> = {
  id: 'apply_patch',
  description:
    'Create, change, move and delete files with one patch: all of it is applied, or nothing. The patch begins with the line *** Begin Patch and ends with *** End Patch. Each file has a section: *** Add File: path, then every line of the file with + in front; *** Delete File: path; *** Update File: path, then *** Move to: path if it is moved, and hunks: a line @@, alone or with the line of the function or class around, then lines that begin with a space (context, about three before and after a change), - (removed) or + (added). A unified diff of several files works too.',
  parameters: parameters(
    { patch: { type: 'string', minLength: 1, description: 'The whole patch. Paths are relative to the workspace or absolute' } },
    ['patch'],
  ),
  outputSchema: dataSchemaOf<ApplyPatchData>(
    {
      files: {
        type: 'array',
        items: dataSchemaOf<PatchedFile>(
          {
            path: aText,
            change: { type: 'string', enum: ['add', 'update', 'delete', 'move'] },
            moved_to: aText,
            link: aFlag,
            replaced: aFlag,
            notes: { type: 'array', items: aText },
          },
          ['path', 'change'],
        ),
      },
    },
    ['files'],
  ),
  requires: { fs: { read: ['{workspace}/**', '{ad-hoc}/**'], write: ['{workspace}/**', '{ad-hoc}/**'] } },
  kind: 'edit',
  // What is no patch touches nothing, and execute says what is wrong with it.
  targets: ({ patch }) => patchTargets((filesOfPatchNow(patch, Number.MAX_SAFE_INTEGER) ?? []).map(patchedFile)),
  async execute({ patch }, { fs }) {
    return { files: await fs.applyPatch(patch) }
  },
}

/**
 * The extension `apply_patch`: files created, changed, moved and deleted by one patch, all of them or none. A session has it if
 * its host passes it on, as `createSession({ tools: [applyPatchTool] })`. Rules, watchdog and user judge every path, as for `edit`
 * and `write`.
 */
export const applyPatchTool: ContractTool<ApplyPatchArguments, ApplyPatchData> = Object.freeze({
  ...tool,
  execute: (args, runtime) => executeDirectly(tool, args, runtime) as Promise<ApplyPatchData>,
} satisfies ContractTool<ApplyPatchArguments, ApplyPatchData>)
