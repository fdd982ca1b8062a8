import type { ContractTool } from '../registry/contract-tool.js'
import { LimitedOutput } from '../registry/limited-output.js'
import { imageSchema } from '../registry/result-image.js'
import type { DataImage } from '../registry/tool-runtime.js'
import { aCount, aText, dataSchemaOf } from '../registry/output-schema.js'
import { parameters, pathParameter } from './parameters.js'

/** Arguments of `read`. */
export interface ReadArguments {
  path: string
  offset?: number
  limit?: number
}

/** The result of `read`: the text, or its beginning and where it continues. In a session with `documents`, an image and what it is. */
export type ReadData =
  | { content: string; offset?: number; next_offset?: number; lossy?: true; image?: DataImage }
  | { head: string; offset?: number; next_offset: number; lossy?: true }

/** A text file, by ranges of bytes where it is long. */
export const readTool: ContractTool<ReadArguments, LimitedOutput> = {
  id: 'read',
  description:
    'Read a text file. A long file comes in parts: while the result has next_offset, call again with it as offset. offset and limit are bytes, not lines: to see the lines around a grep match, read the file without them.',
  parameters: parameters(
    {
      path: pathParameter('Path of the file, relative to the workspace or absolute'),
      offset: {
        type: 'integer',
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'Where to start, in bytes, not lines. Default 0',
      },
      limit: {
        type: 'integer',
        minimum: 1,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'How much to read at most, in bytes, not lines',
      },
    },
    ['path'],
  ),
  outputSchema: dataSchemaOf<ReadData>(
    { content: aText, head: aText, offset: aCount, next_offset: aCount, lossy: { const: true }, image: imageSchema },
    ['content'],
    ['head', 'next_offset'],
  ),
  requires: { fs: { read: ['{workspace}/**', '{ad-hoc}/**'] } },
  kind: 'read',
  targets: ({ path }) => [{ kind: 'file', path, access: 'read' }],
  async execute({ path, offset = 0, limit }, { fs, limits }) {
    const document = await fs.document?.(path, { offset, limit })
    const part = document ?? (await fs.read(path, { offset, limit }))
    const where = {
      ...(part.offset === 0 ? {} : { offset: part.offset }),
      ...(part.next_offset === undefined ? {} : { next_offset: part.next_offset }),
      ...(part.lossy === true ? { lossy: true as const } : {}),
    }
    // A requested part is complete; a part cut by the limit of the host is not.
    const isCut = part.next_offset !== undefined && (limit === undefined || limit > limits.readBytes)
    const { image, notes } = document ?? {}
    const facts = notes === undefined ? undefined : { notes }
    const shown = image === undefined ? where : { ...where, image }
    if (!isCut) return new LimitedOutput({ content: part.content, ...shown }, undefined, false, facts)
    // The rest is in the file itself.
    return new LimitedOutput({ head: part.content, ...where }, path, true, facts)
  },
}

/** The same tool in a session with `documents`. */
export const documentReadTool: ContractTool<ReadArguments, LimitedOutput> = {
  ...readTool,
  description: `${readTool.description} Notebooks are shown as cells, which edit changes; PDF documents as their text.`,
}
