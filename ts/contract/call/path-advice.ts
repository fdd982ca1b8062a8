import { join, relative } from 'node:path'
import { type ToolError, withHint } from '../../core/errors.js'
import { entriesIn, innerPath, isOfHome, type NearEntry, nearPath, NO_HOME } from '../../core/near-paths.js'
import type { CallTarget } from '../registry/contract-tool.js'
import { escapeGlob } from '../permissions/prompt.js'
import { ContractFailure } from '../registry/envelope.js'

/** The facts that advice about a path may use. */
export interface PathSurroundings {
  /** The roots of the workspace, absolute and without links. */
  roots: readonly string[]
  /** Whether the session has a tool, which can then be recommended. */
  hasTool(id: string): boolean
  /** Whether the model may learn that a path exists: capabilities and rules allow it to be read without a prompt. */
  mayName(path: string): Promise<boolean>
}

const MAX_NAMED = 10

/** The same error, with a next move that fits the purpose of the path. */
export async function withPathAdvice(error: ToolError, tool: string, target: CallTarget, around: PathSurroundings): Promise<ToolError> {
  const hint = await adviceFor(error, tool, target, around)
  return hint === undefined ? error : withHint(error, hint)
}

async function adviceFor(error: ToolError, tool: string, target: CallTarget, around: PathSurroundings): Promise<string | undefined> {
  if (target.kind === 'command') return target.workdir === undefined ? undefined : workdirAdvice(error, target.workdir, around)
  if (target.kind !== 'file') return undefined
  const { path, access } = target
  if (error.code === 'TOOL_NOT_A_FILE' && error.details['kind'] === 'a directory') return directoryAdvice(path, around)
  if (error.code !== 'TOOL_FILE_NOT_FOUND') return undefined
  if (access === 'search') return searchAdvice(tool, path, around)
  return fileAdvice(path, access === 'edit' || access === 'remove', around)
}

/** What an absolute path outside of what is granted may have meant, as a sentence; empty if nothing. */
export async function meantInWorkspace(path: string, { roots, mayName }: PathSurroundings): Promise<string> {
  const [root] = roots
  if (!path.startsWith('/') || root === undefined) return ''
  const inner = await innerPath(root, path)
  return inner === undefined || !(await mayName(join(root, inner))) ? '' : ` Did you mean \`${inner}\`?`
}

async function fileAdvice(path: string, isEdit: boolean, around: PathSurroundings): Promise<string> {
  const near = await nearestTo(path, 'file', around)
  if (near === undefined && isOfHome(path)) return `${NO_HOME} Give a path in the workspace.`
  const [name = ''] = path.split(/[/\\]/u).slice(-1)
  const search =
    around.hasTool('glob') && name !== '' ? [`Find files by name with glob, for example with the pattern \`${escapeGlob(name)}\`.`] : []
  const first = near === undefined ? search : [`Did you mean \`${near}\`?`]
  const create = isEdit && around.hasTool('write') ? ['To create a file, use write.'] : []
  const advice = [...first, ...create]
  return advice.length === 0 ? 'Check the path, which begins in the workspace.' : advice.join(' ')
}

async function searchAdvice(tool: string, path: string, around: PathSurroundings): Promise<string> {
  const argument = tool === 'grep' ? 'glob' : tool === 'glob' ? 'pattern' : undefined
  if (argument !== undefined && /[*?[{]/u.test(path))
    return `\`path\` takes no wildcards: leave it out, and give \`${path}\` as \`${argument}\`.`
  const hasDefault = argument !== undefined || tool === 'repo_overview'
  const near = await nearestTo(path, hasDefault && tool !== 'grep' ? 'directory' : 'any', around)
  const other = near === undefined ? 'Check the path' : `Did you mean \`${near}\`? Give that`
  return hasDefault ? `${other}, or leave \`path\` out to search the whole workspace.` : `${other}.`
}

async function workdirAdvice({ code }: ToolError, workdir: string, around: PathSurroundings): Promise<string | undefined> {
  if (code !== 'TOOL_FILE_NOT_FOUND' && code !== 'TOOL_NOT_A_DIRECTORY') return undefined
  const near = code === 'TOOL_FILE_NOT_FOUND' ? await nearestTo(workdir, 'directory', around) : undefined
  const other = near === undefined ? 'Name an existing directory' : `Did you mean \`${near}\`? Give that`
  return `${other}, or leave \`workdir\` out to run in the workspace.`
}

async function directoryAdvice(path: string, around: PathSurroundings): Promise<string> {
  const location = locationOf(path, around.roots)
  const entries = location === undefined ? undefined : await entriesIn(location.root, location.below)
  if (location === undefined || entries === undefined) return 'Name a file inside it.'
  if (entries.length === 0) return 'It is empty.'
  const named: NearEntry[] = []
  const first = entries.slice(0, MAX_NAMED)
  for (const entry of first) if (await around.mayName(join(location.root, location.below, entry.name))) named.push(entry)
  if (named.length === 0) return 'Name a file inside it.'
  const names = named.map(({ name, isDirectory }) => `\`${name}${isDirectory ? '/' : ''}\``).join(', ')
  return `It holds ${names}${entries.length > first.length ? ' and more' : ''}: name a file inside it.`
}

/** The path that the model probably meant, as it would write it, if it may be named. */
async function nearestTo(
  path: string,
  kind: 'file' | 'directory' | 'any',
  { roots, mayName }: PathSurroundings,
): Promise<string | undefined> {
  const location = locationOf(path, roots)
  const near = location && (await nearPath(location.root, location.below, kind))
  if (location === undefined || near === undefined || !(await mayName(join(location.root, near)))) return undefined
  return path.startsWith('/') ? join(location.root, near) : near
}

/** The root in which a path lies, and its place there. */
function locationOf(path: string, roots: readonly string[]): { root: string; below: string } | undefined {
  const [first] = roots
  if (!path.startsWith('/')) return first === undefined ? undefined : { root: first, below: path }
  const root = roots.find((one) => path === one || path.startsWith(`${one}/`))
  return root === undefined ? undefined : { root, below: relative(root, path) }
}

/** A glob for the search, where `/` anchors a pattern to the directory as `./` does. */
export const anchoredPattern = (pattern: string): string => pattern.replace(/^(?:\.\/+)+/u, '/')

/** Refuses a glob that finds nothing because it begins outside the searched directory. `argument` is the name of the argument. */
export function explainPattern(pattern: string, argument: string, roots: readonly string[]): void {
  if (!/^(?:\/|~|\.\.(?:\/|$))/u.test(pattern)) return
  const root = roots.find((one) => pattern.startsWith(`${one}/`))
  const next =
    root === undefined
      ? `Give one such as \`src/**/*.ts\`, and the directory to look in as \`path\`.`
      : `Give \`${pattern.slice(root.length + 1)}\`${root === roots[0] ? '' : ` with \`path\`: \`${root}\``}.`
  throw new ContractFailure(
    'invalid_pattern',
    `No file matches \`${pattern}\`: \`${argument}\` is relative to the directory that is searched. ${next}`,
  )
}
