import type { ContractTool } from '../registry/contract-tool.js'
import { aCount, aFlag, aText, dataSchemaOf } from '../registry/output-schema.js'
import { parameters, pathParameter } from './parameters.js'

/** Arguments of `write`. */
export interface WriteArguments {
  path: string
  content: string
}

/** The result of `write`. */
export interface WriteData {
  path: string
  bytes: number
  created: boolean
  /** What it has kept of the form of the file before. */
  kept?: string[] | undefined
  /** What was in the file before that the model had not read, and the lines that a formatter has changed. */
  notes?: string[] | undefined
}

const texts = { type: 'array', items: aText }

/** A file as a whole: created with its directories, or replaced. */
export const writeTool: ContractTool<WriteArguments, WriteData> = {
  id: 'write',
  description: 'Create a file, or overwrite an existing one. Missing parent directories are created. To change part of a file, use edit.',
  parameters: parameters(
    {
      path: pathParameter('Path of the file, relative to the workspace or absolute'),
      content: { type: 'string', description: 'The complete content of the file' },
    },
    ['path', 'content'],
  ),
  outputSchema: dataSchemaOf<WriteData>({ path: aText, bytes: aCount, created: aFlag, kept: texts, notes: texts }, [
    'path',
    'bytes',
    'created',
  ]),
  requires: { fs: { write: ['{workspace}/**', '{ad-hoc}/**'] } },
  kind: 'edit',
  targets: ({ path }) => [{ kind: 'file', path, access: 'write' }],
  async execute({ path, content }, { fs }) {
    return { path, ...(await fs.write(path, content)) }
  },
}
