import { realpath } from 'node:fs/promises'
import { isAbsolute, relative } from 'node:path'
import { ToolError, withHint } from '../../core/errors.js'
import { entriesIn, nearPath } from '../../core/near-paths.js'
import type { BuiltInContext } from '../define-tool.js'
import type { ToolName } from './descriptions.js'

/** How many entries of a directory are named. */
const MAX_NAMED = 10

/** Runs a call of `createTools`; its error names the next move that the model has with the tools of the set. */
export async function forModel<T>(tool: ToolName, { settings }: BuiltInContext, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    throw ToolError.isInstance(error) ? await withMove(error, tool, settings.rootDir) : error
  }
}

async function withMove(error: ToolError, tool: ToolName, rootDir: string): Promise<ToolError> {
  if (error.code === 'TOOL_PATH_INVALID' && error.details['path'] === '') {
    const summary = 'The path is empty'
    return new ToolError({ code: error.code, summary, details: error.details, hint: error.hint, cause: error })
  }
  const hint = await moveAfter(error, tool, rootDir)
  return hint === undefined ? error : withHint(error, hint)
}

async function moveAfter({ code, hint, details }: ToolError, tool: ToolName, rootDir: string): Promise<string | undefined> {
  if (code === 'TOOL_PATH_ESCAPE') return `${hint} The root directory is \`${rootDir}\`.`
  if (code === 'TOOL_FILE_TOO_LARGE' && tool === 'read') {
    return 'Read a part of it with offset and limit, which count lines, or search it with grep.'
  }
  const { path, kind } = details
  if (typeof path !== 'string') return undefined
  if (code === 'TOOL_FILE_NOT_FOUND' && (tool === 'read' || tool === 'edit')) return missingFile(tool, path, rootDir)
  if (code === 'TOOL_NOT_A_FILE' && kind === 'a directory') return directory(path, rootDir)
  return undefined
}

async function missingFile(tool: ToolName, path: string, rootDir: string): Promise<string> {
  const root = await realpath(rootDir).catch(() => rootDir)
  const near = await nearPath(root, isAbsolute(path) ? relative(rootDir, path) : path, 'file')
  const create = tool === 'edit' ? ' To create a file, use write.' : ''
  if (near !== undefined) return `Did you mean \`${near}\`?${create}`
  return `Check the path; list a directory with bash (cmd "ls").${create}`
}

async function directory(path: string, rootDir: string): Promise<string> {
  const root = await realpath(rootDir).catch(() => rootDir)
  const entries = (await entriesIn(root, isAbsolute(path) ? relative(rootDir, path) : path)) ?? []
  if (entries.length === 0) return 'Name a file inside it.'
  const named = entries.slice(0, MAX_NAMED).map(({ name, isDirectory }) => `\`${name}${isDirectory ? '/' : ''}\``)
  return `It holds ${named.join(', ')}${entries.length > MAX_NAMED ? ' and more' : ''}: name a file inside it.`
}
