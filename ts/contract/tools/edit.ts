import { ContractFailure } from '../registry/envelope.js'
import type { ContractTool } from '../registry/contract-tool.js'
import { aCount, aText, dataSchemaOf } from '../registry/output-schema.js'
import { parameters, pathParameter } from './parameters.js'

/** Arguments of `edit`. */
export interface EditArguments {
  path: string
  old_string: string
  new_string: string
  replace_all?: boolean
}

/** The result of `edit`. */
export interface EditData {
  path: string
  replacements: number
  /** What others have changed near it since the model read the file, and the lines that a formatter has changed. */
  notes?: string[] | undefined
}

/** One text of an existing file replaced by another. */
export const editTool: ContractTool<EditArguments, EditData> = {
  id: 'edit',
  description:
    'Replace text in an existing file. old_string must match exactly, including whitespace, and must be unique in the file unless replace_all is true. To create a file, use write.',
  parameters: parameters(
    {
      path: pathParameter('Path of the file, relative to the workspace or absolute'),
      old_string: { type: 'string', minLength: 1, description: 'The text to replace, exactly as it stands in the file' },
      new_string: { type: 'string', description: 'The text to put in its place; must differ from old_string' },
      replace_all: { type: 'boolean', description: 'Replace every occurrence of old_string. Default false' },
    },
    ['path', 'old_string', 'new_string'],
  ),
  outputSchema: dataSchemaOf<EditData>({ path: aText, replacements: aCount, notes: { type: 'array', items: aText } }, [
    'path',
    'replacements',
  ]),
  requires: { fs: { read: ['{workspace}/**', '{ad-hoc}/**'], write: ['{workspace}/**', '{ad-hoc}/**'] } },
  kind: 'edit',
  targets: ({ path }) => [{ kind: 'file', path, access: 'edit' }],
  async execute({ path, old_string, new_string, replace_all = false }, { fs }) {
    if (old_string === new_string) {
      throw new ContractFailure(
        'invalid_arguments',
        'old_string and new_string are equal, so nothing would change: new_string must differ from old_string.',
      )
    }
    return { path, ...(await fs.replace(path, { old: old_string, new: new_string, all: replace_all })) }
  },
}
