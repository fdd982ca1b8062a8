import { ContractFailure } from '../codes.js'
import type { ContractTool } from '../contract-tool.js'
import { parameters, pathParameter } from './parameters.js'

/** Arguments of `edit`. */
export interface EditArguments {
  path: string
  old_string: string
  new_string: string
  replace_all?: boolean
}

/** What `edit` gives. */
export interface EditData {
  path: string
  replacements: number
}

/** One text of an existing file replaced by another. */
export const editTool: ContractTool<EditArguments, EditData> = {
  id: 'edit',
  description:
    'Replace a text in an existing file. old_string must be exactly as in the file, and stand there once unless replace_all is true.',
  parameters: parameters(
    {
      path: pathParameter('The file, relative to the workspace or absolute'),
      old_string: { type: 'string', minLength: 1, description: 'The text to replace, with its white space' },
      new_string: { type: 'string', description: 'The text that takes its place' },
      replace_all: { type: 'boolean', description: 'Replace every place where it stands. Default false' },
    },
    ['path', 'old_string', 'new_string'],
  ),
  requires: { fs: { read: ['{workspace}/**', '{ad-hoc}/**'], write: ['{workspace}/**', '{ad-hoc}/**'] } },
  kind: 'edit',
  targets: ({ path }) => [{ kind: 'file', path, access: 'edit' }],
  async execute({ path, old_string, new_string, replace_all = false }, { fs }) {
    if (old_string === new_string) {
      throw new ContractFailure('invalid_arguments', 'old_string and new_string are equal: nothing would change. Give the text as it shall become.')
    }
    const { replacements } = await fs.replace(path, { old: old_string, new: new_string, all: replace_all })
    return { path, replacements }
  },
}
