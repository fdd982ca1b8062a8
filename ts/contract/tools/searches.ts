import type { ContractTool } from '../registry/contract-tool.js'
import { LimitedOutput, wholeIn } from '../registry/limited-output.js'
import type { GrepMatch } from '../registry/tool-runtime.js'
import { aCount, aText, dataSchemaOf, listOfTexts } from '../registry/output-schema.js'
import { parameters, pathParameter } from './parameters.js'

/** What searches leave out. */
const LEFT_OUT = 'Ignored and hidden files are left out, unless path or the whole pattern names them; .git always is.'

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
    `${LEFT_OUT} ` +
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
  outputSchema: dataSchemaOf<GrepData>(
    {
      matches: {
        type: 'array',
        items: dataSchemaOf<GrepMatch>({ path: aText, line: aCount, text: aText, column: aCount }, ['path', 'line', 'text']),
      },
      files_scanned: aCount,
      head: aText,
      tail: aText,
      not_searched: listOfTexts,
    },
    ['matches', 'files_scanned'],
    ['head', 'files_scanned'],
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
      notes = [],
    } = await fs.grep(pattern, { path, glob, case_insensitive })
    const about = { files_scanned: scanned, ...(not_searched === undefined ? {} : { not_searched }) }
    if (output_path === undefined) return new LimitedOutput({ matches: items, ...about }, undefined, false, { notes })
    // The last matches replace the second half.
    const first = last.length === 0 ? items : items.slice(0, Math.ceil(limits.grepMatches / 2))
    const ends = { head: linesOf(first), ...(last.length === 0 ? {} : { tail: linesOf(last) }) }
    const range = last.length === 0 ? `The first ${first.length}` : `The first ${first.length} and the last ${last.length}`
    const note = `${range} of ${count ?? 'more'} matches are shown. ${wholeIn(output_path)}`
    return new LimitedOutput({ ...ends, ...about }, output_path, true, { notes: [note, ...notes] })
  },
}

const linesOf = (matches: readonly GrepMatch[]): string =>
  matches.map(({ path, line, text, column }) => `${path}:${line}:${text}${(column ?? 1) > 1 ? ` [column ${column}]` : ''}`).join('\n')

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
  description: `List the files that match a glob pattern, sorted by path. ${LEFT_OUT} If metadata.truncated is true, there are more than it shows.`,
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
  outputSchema: dataSchemaOf<GlobData>({ entries: listOfTexts, head: aText, not_searched: listOfTexts }, ['entries'], ['head']),
  requires: { fs: { read: ['{workspace}/**', '{ad-hoc}/**'] } },
  kind: 'search',
  targets: ({ path }) => [{ kind: 'file', path: path ?? '.', access: 'search', everywhere: path === undefined }],
  async execute({ pattern, path }, { fs }) {
    const { items, output_path, not_searched, notes = [] } = await fs.glob(pattern, path)
    const skipped = not_searched === undefined ? {} : { not_searched }
    if (output_path === undefined) return new LimitedOutput({ entries: items, ...skipped }, undefined, false, { notes })
    return new LimitedOutput({ head: items.join('\n'), ...skipped }, output_path, true, {
      notes: [`The first ${items.length} paths are shown. ${wholeIn(output_path)}`, ...notes],
    })
  },
}
