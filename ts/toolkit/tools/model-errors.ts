import { isAbsolute, relative } from 'node:path'
import { ToolError, withHint } from '../../core/errors.js'
import { entriesIn, isOfHome, isThere, meantInside, nearPath, NO_HOME, realRoot } from '../../core/near-paths.js'
import { programName, shells } from '../../core/network-guard/programs.js'
import type { BuiltInContext } from '../define-tool.js'
import type { ToolName } from './descriptions.js'

const MAX_NAMED = 10

/** Rejects with the error of a call, and names a next move with the tools of the set. */
export const guideModel =
  (tool: ToolName, { settings }: BuiltInContext) =>
  async (error: unknown): Promise<never> => {
    throw ToolError.isInstance(error) ? await withMove(error, tool, settings.rootDir) : error
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
  if (code === 'TOOL_PATH_ESCAPE') return escapeHint(hint, details['path'], rootDir)
  if (code === 'TOOL_FILE_TOO_LARGE' && tool === 'read') {
    return 'Read a part of it with offset and limit, which count lines, or search it with grep.'
  }
  const { path, kind } = details
  if (code === 'TOOL_GREP_FAILED' && tool === 'grep' && typeof path === 'string') return missingStart(path, rootDir)
  const isMissing = code === 'TOOL_FILE_NOT_FOUND' && (tool === 'read' || tool === 'edit' || tool === 'apply_patch')
  const isDirectory = code === 'TOOL_NOT_A_FILE' && kind === 'a directory'
  if (typeof path !== 'string' || !(isMissing || isDirectory)) return undefined
  const root = await realRoot(rootDir)
  const below = isAbsolute(path) ? relative(rootDir, path) : path
  if (isMissing) return missingFile(tool, root, below)
  const next = await directory(root, below)
  return tool === 'apply_patch' ? `No file was changed. ${next} A patch removes files; a directory is removed by a command.` : next
}

/** After a path that leads out of the root: it is named, and what may have been meant in it. */
export async function escapeHint(hint: string, path: unknown, rootDir: string): Promise<string> {
  return `${hint} The root directory is \`${rootDir}\`.${await meantInside(rootDir, path)}`
}

/** Rejects with the error of a start, in the words of its argument for the directory. */
export const guideWorkdir =
  (workdir: string | undefined, { settings: { rootDir } }: BuiltInContext) =>
  async (error: unknown): Promise<never> => {
    const isMissing = ToolError.isInstance(error) && (error.code === 'TOOL_FILE_NOT_FOUND' || error.code === 'TOOL_NOT_A_DIRECTORY')
    if (!isMissing || workdir === undefined) throw error
    const root = await realRoot(rootDir)
    const near = await nearPath(root, isAbsolute(workdir) ? relative(rootDir, workdir) : workdir, 'directory')
    throw withHint(
      error,
      `${near === undefined ? 'Check `workdir`' : `Did you mean \`${near}\`? Correct \`workdir\``}, or leave it out to run in the root directory.`,
    )
  }

/** After a search whose start is not there. */
async function missingStart(path: string, rootDir: string): Promise<string | undefined> {
  const root = await realRoot(rootDir)
  const parts = path.split(/[\s,]+/u).filter((part) => part !== '')
  const there = await Promise.all(parts.map((part) => isThere(root, part)))
  if (parts.length > 1 && parts.length <= MAX_NAMED && there.every(Boolean)) {
    const named = parts.map((part) => `\`${part}\``).join(' and ')
    return `The path is one file or directory: search ${named} in a call each, or leave it out to search everything.`
  }
  const near = await nearPath(root, isAbsolute(path) ? relative(rootDir, path) : path)
  return near === undefined ? undefined : `Did you mean \`${near}\`? Leave the path out to search everything.`
}

/** A web address, or the address of another kind. */
const address = /^(?!file:)[a-z][a-z\d+.-]*:\/\//iu

/** A path with the number of a line at its end. */
const withLine = /(?<=.)(?:#L|:)\d+(?:[-:,]L?\d+)*$/u

async function missingFile(tool: ToolName, root: string, path: string): Promise<string> {
  const near = await nearPath(root, path, 'file')
  const create = tool === 'read' ? '' : ` To create a file, use ${tool === 'edit' ? 'write' : '*** Add File'}.`
  const begin = tool === 'apply_patch' ? 'No file was changed. ' : ''
  if (address.test(path)) {
    const meant = near === undefined ? '' : ` If a file below the root is meant, give its path: \`${near}\`.`
    return `${begin}This is an address, and ${tool} takes the path of a file.${meant}`
  }
  if (near !== undefined) {
    const line = tool === 'read' && withLine.test(path) ? ' A line is given as `offset`, not in the path.' : ''
    return `${begin}Did you mean \`${near}\`?${line}${create}`
  }
  if (isOfHome(path)) return `${begin}${NO_HOME} Give a path below the root directory.${create}`
  if (/[*?]/u.test(path)) return `${begin}This is a pattern: the tool glob lists the files that it names.`
  return `${begin}Check the path; list a directory with bash (cmd "ls").${create}`
}

async function directory(root: string, path: string): Promise<string> {
  const entries = (await entriesIn(root, path)) ?? []
  if (entries.length === 0) return 'Name a file inside it.'
  const named = entries.slice(0, MAX_NAMED).map(({ name, isDirectory }) => `\`${name}${isDirectory ? '/' : ''}\``)
  return `It holds ${named.join(', ')}${entries.length > MAX_NAMED ? ' and more' : ''}: name a file inside it.`
}

/** Arguments that a shell reads as an operator or a redirection. */
const operator = /^(?:\|\|?|&&?|;|<|\d?>>?(?:&\d)?|&>>?)$|^(?:\d?>>?|&>>?|<)[\w./-]+$|^<<[<-]?["']?\w+["']?$/u

/** Texts that a shell replaces: variables, commands, the home directory. */
const expansion = /^(?:(?:\$\w+|\$\{\w+\})(?:\/.*)?|\$\(.*\)|`.*`|~\/.*|~)$/su

/** A text in quotes, which a shell removes. Programs that take a program text, such as `node -e`, may well be meant to have them. */
const quotes = /^(["'])[^"']+\1$/u

const pattern = /^[\w./@-]*[*?][\w./@*?-]*$/u

/** Programs that take texts to look for: quotes around one were meant for a shell. */
const textPrograms: ReadonlySet<string> = new Set('cp egrep fgrep fd find git grep head ls mkdir mv rg rm sed tail touch wc'.split(' '))

/** Programs that take paths. A pattern among their arguments was meant for a shell. */
const pathPrograms: ReadonlySet<string> = new Set(
  'cat chmod chown cp diff du echo file head less ln ls mkdir mv node rm rmdir sort stat tail tar touch wc'.split(' '),
)

/**
 * A note about shell syntax among the arguments of a program that is no shell. The program gets it as text: the model means a
 * pipe, and the program gets a `|`.
 *
 * @param line how a line for the shell is given.
 */
export function syntaxNote(
  { cmd, args }: { cmd: string; args?: readonly string[] | undefined },
  line = 'cmd "sh" with args ["-c", "…"]',
): string | undefined {
  if (typeof cmd !== 'string' || !Array.isArray(args)) return undefined
  if (shells.has(programName(cmd))) return afterLine(args)
  const takesPaths = pathPrograms.has(programName(cmd))
  const takesTexts = textPrograms.has(programName(cmd))
  const syntax = args.find(
    (arg) =>
      typeof arg === 'string' &&
      (operator.test(arg) || expansion.test(arg) || (takesPaths && pattern.test(arg)) || (takesTexts && quotes.test(arg))),
  )
  if (syntax === undefined) return undefined
  if (quotes.test(syntax) && takesTexts)
    return `${shownSyntax(syntax)} was passed to ${programName(cmd)} with its quotes, which no shell removed: leave them out.`
  return `${shownSyntax(syntax)} was passed to ${programName(cmd)} as it is: no shell read it. For shell syntax use ${line}.`
}

function shownSyntax(syntax: string): string {
  const text = syntax.length > 80 ? `${syntax.slice(0, 80)}…` : syntax
  return `\`${text}\``
}

/** A shell takes one line: what follows it is `$0` and the arguments of the line. */
function afterLine(args: readonly unknown[]): string | undefined {
  const [option, line, next] = args
  if (option !== '-c' || typeof line !== 'string' || typeof next !== 'string' || /[\s$]/u.test(line)) return undefined
  return `The shell ran \`${line}\` alone: write the whole line into one argument after "-c", as "${line} ${next.slice(0, 80)}".`
}

/** Throws the error of a command again, and names shell syntax among its arguments as the likely reason. */
export const withSyntaxNote =
  (input: { cmd: string; args?: readonly string[] | undefined }) =>
  (error: unknown): never => {
    const syntax = ToolError.isInstance(error) && error.code === 'TOOL_COMMAND_FAILED' ? syntaxNote(input) : undefined
    if (syntax === undefined || !ToolError.isInstance(error)) throw error
    const { code, summary, details, cause } = error
    const message = `${error.message.trimEnd()}\n${syntax}`
    throw new ToolError({ code, summary, details, cause, message, hint: error.hint === '' ? syntax : error.hint })
  }

/** The text of a failure for a model. */
export function failureText(error: unknown): string {
  if (ToolError.isInstance(error)) return error.message
  if (error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError')) return 'The call was aborted.'
  return error instanceof Error ? error.message : String(error)
}
