import type { ContractTool } from '../registry/contract-tool.js'
import type { NotSearched } from './grep.js'
import { LimitedOutput, wholeIn } from '../registry/limited-output.js'
import { parameters, pathParameter } from './parameters.js'

/** Arguments of `glob`. */
export interface GlobArguments {
  pattern: string
  path?: string
}

/** The result of `glob`: every path, or the first ones. */
export type GlobData = ({ entries: string[] } | { head: string }) & NotSearched

/** The files below a directory whose path matches. */
export const globTool: ContractTool<GlobArguments, LimitedOutput> = {
  id: 'glob',
  description: 'List the files that match a glob pattern, sorted by path. If metadata.truncated is true, there are more than it shows.',
  parameters: parameters(
    {
      pattern: {
        type: 'string',
        minLength: 1,
        maxLength: 4096,
        description: 'Relative to path, for example src/**/*.ts. A pattern without a slash, such as *.ts, matches at any depth',
      },
      path: pathParameter('The directory to search, without wildcards. Default: the whole workspace'),
    },
    ['pattern'],
  ),
  requires: { fs: { read: ['{workspace}/**', '{ad-hoc}/**'] } },
  kind: 'search',
  targets: ({ path }) => [{ kind: 'file', path: path ?? '.', access: 'search', everywhere: path === undefined }],
  async execute({ pattern, path }, { fs }) {
    const { items, output_path, not_searched } = await fs.glob(pattern, path)
    const left = not_searched === undefined ? {} : { not_searched }
    if (output_path === undefined) return new LimitedOutput({ entries: items, ...left })
    return new LimitedOutput({ head: items.join('\n'), ...left }, output_path, true, [
      `The first ${items.length} paths are shown. ${wholeIn(output_path)}`,
    ])
  },
}
