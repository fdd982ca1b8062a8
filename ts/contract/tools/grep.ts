import type { ContractTool } from '../registry/contract-tool.js'
import type { GrepMatch } from '../registry/tool-runtime.js'
import { LimitedOutput, wholeIn } from '../registry/limited-output.js'
import { parameters, pathParameter } from './parameters.js'

/** Arguments of `grep`. */
export interface GrepArguments {
  pattern: string
  path?: string
  glob?: string
  case_insensitive?: boolean
}

/** The result of `grep`: every match, or the first and the last ones as lines `path:line:text`. */
export type GrepData = ({ matches: GrepMatch[]; files_scanned: number } | { head: string; tail?: string; files_scanned: number }) &
  NotSearched

/** Places that a search could not read, as `path: why`. The result says nothing about them. */
export interface NotSearched {
  not_searched?: string[]
}

/** The lines of files that a regular expression matches. */
export const grepTool: ContractTool<GrepArguments, LimitedOutput> = {
  id: 'grep',
  description:
    'Search file contents with a regular expression (Rust syntax: no look-around, no backreferences). Each match has its path, line number and text. ' +
    'When there are more matches than fit, head and tail have the first and the last ones; metadata.output_path is a file with all of them, which read takes.',
  parameters: parameters(
    {
      pattern: { type: 'string', minLength: 1, maxLength: 65_536, description: 'The regular expression, matched line by line' },
      path: pathParameter('The directory or file to search, without wildcards. Default: the whole workspace'),
      glob: {
        type: 'string',
        minLength: 1,
        maxLength: 4096,
        description: 'Search only files that match: *.ts at any depth, src/*.ts in one directory',
      },
      case_insensitive: { type: 'boolean', description: 'Ignore case. Default false' },
    },
    ['pattern'],
  ),
  requires: { fs: { read: ['{workspace}/**', '{ad-hoc}/**'] } },
  kind: 'search',
  targets: ({ path }) => [{ kind: 'file', path: path ?? '.', access: 'search', everywhere: path === undefined }],
  async execute({ pattern, path, glob, case_insensitive }, { fs, limits }) {
    const {
      items,
      last = [],
      count,
      files_scanned: scanned,
      output_path,
      not_searched,
    } = await fs.grep(pattern, { path, glob, case_insensitive })
    const about = { files_scanned: scanned, ...(not_searched === undefined ? {} : { not_searched }) }
    if (output_path === undefined) return new LimitedOutput({ matches: items, ...about })
    // The last matches replace the second half.
    const first = last.length === 0 ? items : items.slice(0, Math.ceil(limits.grepMatches / 2))
    const ends = { head: linesOf(first), ...(last.length === 0 ? {} : { tail: linesOf(last) }) }
    const shown = last.length === 0 ? `The first ${first.length}` : `The first ${first.length} and the last ${last.length}`
    const note = `${shown} of ${count ?? 'more'} matches are shown. ${wholeIn(output_path)}`
    return new LimitedOutput({ ...ends, ...about }, output_path, true, [note])
  },
}

const linesOf = (matches: readonly GrepMatch[]): string => matches.map(({ path, line, text }) => `${path}:${line}:${text}`).join('\n')
