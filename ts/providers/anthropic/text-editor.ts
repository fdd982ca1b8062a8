/** `anthropic.tools.textEditor_*`: files of the root directory. The texts are those of Anthropic's own implementation. */
import { isAbsolute, relative } from 'node:path'
import type { ChangedText } from './changed-text.js'
import { ToolError, withHint } from '../../core/errors.js'
import { nearPath, realRoot } from '../../core/near-paths.js'
import { invalid, string } from '../../core/options.js'
import { outputRequest } from '../../core/model-output-request.js'
import { boundedPath } from '../../core/text.js'
import { kindOfName } from '../../documents/kinds.js'
import { type ModelText, textWithImage } from '../../documents/model-image.js'
import type { ToolCallOptions } from '../../journal/calls/call-record.js'
import { recordedFunction } from '../../toolkit/built-in-call.js'
import type { BuiltInContext } from '../../toolkit/define-tool.js'
import { describedExecutor, isView } from '../../toolkit/described-executor.js'
import type { BoundToolOptions } from '../../toolkit/settings.js'
import type { DocumentText } from '../../toolkit/tools/documents.js'
import { changeAndFollow } from '../../toolkit/tools/followed-change.js'
import { escapeHint } from '../../toolkit/tools/model-errors.js'
import { CallNotes, type ModelOutputRequest } from '../../toolkit/tools/model-output.js'
import type { ProviderSettings } from '../settings.js'
import { listedLines, needed, noSuchLine, notThere, notUnique, recordedTexts, refused, reworded } from './refusals.js'
import { linesOf, lineOf, numberedLines, placesOf, replacedAt, TextFiles, withNote } from './text-files.js'

/** A command of the text editor. */
export interface TextEditorInput {
  command: 'view' | 'create' | 'str_replace' | 'insert'
  /** Relative to the root directory, or absolute within it. */
  path: string
  /** The content of the new file, for `create`. */
  file_text?: string | undefined
  /** The line after which the text is inserted; 0 for the beginning of the file. */
  insert_line?: number | undefined
  /** The text that replaces `old_str`. @default '' */
  new_str?: string | undefined
  /** The text to insert. */
  insert_text?: string | undefined
  /** The text to replace. It must be in the file exactly once. */
  old_str?: string | undefined
  /** The first and the last line to show, from 1; -1 for the end of the file. */
  view_range?: readonly number[] | undefined
}

/**
 * Carries out a command of the editor.
 *
 * @throws {ToolError} with the documented text, which the AI SDK sends as the error of the tool.
 */
export type TextEditorFunction = (input: TextEditorInput, options?: ToolCallOptions) => Promise<string>

/** The form of a result for the model: its text, or the image that was viewed. */
export type TextEditorOutput = (request: ModelOutputRequest<TextEditorInput>) => ModelText

export function createTextEditor({ bound: shared, maxCharacters, documents, followers }: ProviderSettings): {
  textEditor: TextEditorFunction
  textEditorOutput: TextEditorOutput
} {
  // OpenAI's tools see notebooks as their commands print them.
  const bound = { ...shared, documents }
  const notes = new CallNotes()
  const noted = (toolCallId: string | undefined, subject: string) => ({ toolCallId, tool: 'read', subject }) as const
  const execute = async (input: TextEditorInput, call: BuiltInContext): Promise<string> => {
    const files = new TextFiles(call)
    if (isView(input) && documents) {
      notes.set(noted(call.toolCallId, input.path), {})
      const shown = await viewDocument(input, files, bound, maxCharacters).catch(namingRoot(call.settings.rootDir))
      if (shown?.image !== undefined) notes.set(noted(call.toolCallId, input.path), { image: shown.image })
      if (shown !== undefined) return shown.text
    }
    const change = (): Promise<string> => run(input, files, maxCharacters).catch(namingRoot(call.settings.rootDir))
    if (isView(input)) return change()
    const { result, note } = await changeAndFollow(followers, bound, [input.path], call, change)
    return note === undefined ? result : `${result}\n${note}`
  }
  const named = { name: 'str_replace_based_edit_tool', execute, recordedInput: recordedCommand }
  const looking = recordedFunction({ ...named, sideEffect: false, kind: 'read' }, bound)
  const changing = recordedFunction({ ...named, sideEffect: true, kind: 'write' }, bound)
  const edit: TextEditorFunction = (input, options) => (isView(input) ? looking : changing)(input, options)
  const textEditorOutput: TextEditorOutput = (given) => {
    const { toolCallId, input, output } = outputRequest<string>(given) as ModelOutputRequest<TextEditorInput>
    const { image } = isView(input) ? notes.get(noted(toolCallId, input.path)) : {}
    return image === undefined ? { type: 'text', value: output } : textWithImage(output, image)
  }
  return { textEditor: describedExecutor('str_replace_based_edit_tool', edit, isView), textEditorOutput }
}

/** What is in a document, as lines or an image; `undefined` for a file that is none. */
async function viewDocument(
  { path, view_range: range }: TextEditorInput,
  files: TextFiles,
  bound: BoundToolOptions,
  maxCharacters: number | undefined,
): Promise<DocumentText | undefined> {
  const target = boundedPath(string(path, 'path'))
  if (kindOfName(target) === undefined) return undefined
  const isPart = Array.isArray(range) || maxCharacters !== undefined
  const document = await files.document(target, bound, isPart).catch((error: unknown) => {
    // A directory with such a name is listed.
    if (ToolError.isInstance(error) && error.code === 'TOOL_NOT_A_FILE') return undefined
    return reworded(['TOOL_FILE_NOT_FOUND'], () => missing(target))(error)
  })
  if (document === undefined || document.image !== undefined) return document
  const { lines, first } = linesIn(document.text.replace(/\n$/u, ''), range)
  const text = catOf(lines, first, target, maxCharacters ?? files.limitBytes)
  return { text: document.note === undefined ? text : `${text}${document.note}\n` }
}

/** Models write absolute paths: what leads out of the root names the root. */
const namingRoot =
  (rootDir: string) =>
  async (error: unknown): Promise<never> => {
    if (ToolError.isInstance(error) && error.code === 'TOOL_FILE_NOT_FOUND') throw await withNear(error, rootDir)
    if (!ToolError.isInstance(error) || error.code !== 'TOOL_PATH_ESCAPE') throw error
    throw withHint(error, await escapeHint(error.hint, error.details['path'], rootDir))
  }

/** The documented text, and the path that may have been meant. */
async function withNear(error: ToolError, rootDir: string): Promise<ToolError> {
  const { path } = error.details
  const root = await realRoot(rootDir)
  const near = typeof path === 'string' ? await nearPath(root, isAbsolute(path) ? relative(rootDir, path) : path) : undefined
  return near === undefined ? error : refused('TOOL_FILE_NOT_FOUND', `${error.message} Did you mean \`${near}\`?`, { path })
}

/** The input without the texts of a change, which a record must not hold. */
function recordedCommand(input: TextEditorInput): unknown {
  const { command, path, file_text, insert_text, insert_line, old_str, new_str } = input
  if (command === 'create') return recordedTexts(command, path, [file_text])
  if (command === 'str_replace') return recordedTexts(command, path, [old_str, new_str])
  if (command === 'insert') return recordedTexts(command, path, [insert_text ?? new_str], { insert_line })
  return input
}

async function run(input: TextEditorInput, files: TextFiles, maxCharacters: number | undefined): Promise<string> {
  const { command } = input
  const path = boundedPath(string(input.path, 'path'))
  switch (command) {
    case 'view':
      return view(path, input.view_range, files, maxCharacters)
    case 'create':
      return create(path, needed(input.file_text, 'file_text', command), files)
    case 'str_replace':
      return replace(path, needed(input.old_str, 'old_str', command), string(input.new_str ?? '', 'new_str'), files)
    case 'insert':
      // Some versions of the model name this argument new_str.
      return insert(path, input.insert_line, needed(input.insert_text ?? input.new_str, 'insert_text', command), files)
    default:
      throw invalid(
        `Unrecognized command ${String(command)}. The allowed commands for the str_replace_based_edit_tool tool are: view, create, str_replace, insert`,
      )
  }
}

const missing = (path: string) => refused('TOOL_FILE_NOT_FOUND', `The path ${path} does not exist. Please provide a valid path.`, { path })

const SHORTENED =
  '<response clipped><NOTE>To save on context only part of this file has been shown to you. You should retry this tool after you have searched inside the file with `grep -n` in order to find the line numbers of what you are looking for.</NOTE>'

async function view(
  path: string,
  range: readonly number[] | undefined,
  files: TextFiles,
  maxCharacters: number | undefined,
): Promise<string> {
  const listed = await files.list(path).catch(reworded(['TOOL_FILE_NOT_FOUND', 'TOOL_NOT_A_DIRECTORY'], () => missing(path)))
  if (listed.isDirectory) {
    if (range !== undefined && range !== null) {
      throw refused('INVALID_INPUT', 'The `view_range` parameter is not allowed when `path` points to a directory.', { path })
    }
    const base = path.replace(/(?<=.)\/+$/u, '')
    const entries = [base, ...listed.entries.map((entry) => `${base === '/' ? '' : base}/${entry.path}${entry.isDirectory ? '/' : ''}`)]
    const more = listed.isCut ? 'There are more: view a directory inside it.\n' : ''
    return `Here's the files and directories up to 2 levels deep in ${path}, excluding hidden items and node_modules:\n${entries.join('\n')}\n${more}`
  }
  const isPart = Array.isArray(range) || maxCharacters !== undefined
  const content = await files.read(path, isPart).catch(reworded(['TOOL_FILE_NOT_FOUND'], () => missing(path)))
  const { lines, first } = linesIn(content, range)
  const limit = maxCharacters ?? files.limitBytes
  await noteShown(path, lines, { first, isEnd: first + lines.length > content.split('\n').length, limit }, files)
  return catOf(lines, first, path, limit)
}

/** Notes the lines of a view that are shown whole. */
function noteShown(
  path: string,
  lines: readonly string[],
  { first, isEnd, limit }: { first: number; isEnd: boolean; limit: number },
  files: TextFiles,
): Promise<void> {
  const text = lines.join('\n')
  if (text.length <= limit) return files.noteShown(path, isEnd ? text : `${text}\n`, first, isEnd)
  return files.noteShown(path, text.slice(0, text.lastIndexOf('\n', limit) + 1), first, false)
}

/** The lines of a range. @throws {ToolError} INVALID_INPUT */
function linesIn(content: string, range: readonly number[] | undefined): { lines: string[]; first: number } {
  const lines = content.split('\n')
  if (range === undefined || range === null) return { lines, first: 1 }
  const [first = 0, last = 0] = range
  if (!Array.isArray(range) || range.length !== 2 || !range.every(Number.isInteger)) {
    throw refused('INVALID_INPUT', 'Invalid `view_range`. It should be a list of two integers.')
  }
  const wrong = (problem: string) => refused('INVALID_INPUT', `Invalid \`view_range\`: [${range.join(', ')}]. ${problem}`)
  if (first < 1 || first > lines.length) {
    throw wrong(`Its first element \`${first}\` should be within the range of lines of the file: [1, ${lines.length}]`)
  }
  if (last > lines.length)
    throw wrong(`Its second element \`${last}\` should be smaller than the number of lines in the file: \`${lines.length}\``)
  if (last !== -1 && last < first) throw wrong(`Its second element \`${last}\` should be larger or equal than its first \`${first}\``)
  return { lines: lines.slice(first - 1, last === -1 ? lines.length : last), first }
}

/** Lines as `cat -n` shows them, cut to a number of characters. */
function catOf(lines: readonly string[], first: number, what: string, limit: number): string {
  const text = lines.join('\n')
  const cut = text.length <= limit ? text : `${Buffer.from(text.slice(0, limit)).toString()}${SHORTENED}`
  return `Here's the result of running \`cat -n\` on ${what}:\n${numberedLines(cut.split('\n'), first)}\n`
}

async function create(path: string, text: string, files: TextFiles): Promise<string> {
  if (await files.create(path, text)) return `File created successfully at: ${path}`
  const message = `File already exists at: ${path}. Cannot overwrite files using command \`create\`. A file that exists is changed with \`str_replace\` or \`insert\`.`
  throw refused('TOOL_FILE_EXISTS', message, { path })
}

async function textOf(path: string, files: TextFiles): Promise<ChangedText> {
  return files
    .readToChange(path)
    .catch(reworded(['TOOL_FILE_NOT_FOUND', 'TOOL_NOT_A_DIRECTORY'], () => missing(path)))
    .catch((error: unknown) => onlyView(path, error))
}

function onlyView(path: string, error: unknown): never {
  return reworded(['TOOL_NOT_A_FILE'], (original) =>
    original.details['kind'] === 'a directory'
      ? refused('TOOL_NOT_A_FILE', `The path ${path} is a directory and only the \`view\` command can be used on directories`, { path })
      : original,
  )(error)
}

/** How many lines a snippet shows before and after the change. */
const AROUND = 4
const REVIEW = 'Review the changes and make sure they are as expected'

async function replace(path: string, given: string, replacement: string, files: TextFiles): Promise<string> {
  const before = await textOf(path, files)
  const [content, old, by] = [before.text, before.given(given), before.given(replacement)]
  const places = old === '' ? [] : placesOf(content, old)
  const [at] = places
  if (at === undefined) throw notThere(path, old, await files.nearTo(content, old))
  if (places.length > 1) throw notUnique(path, old, ` [${listedLines(linesOf(content, places))}]`)
  const changed = replacedAt(content, at, old, by)
  const note = await files.rewrite(path, before, changed)
  const line = lineOf(content, at)
  const first = Math.max(0, line - AROUND)
  const shown = changed.split('\n').slice(first, line + AROUND + by.split('\n').length)
  const snippet = catOf(shown, first + 1, `a snippet of ${path}`, files.limitBytes)
  return withNote(`The file ${path} has been edited. ${snippet}${REVIEW}. Edit the file again if necessary.`, note)
}

async function insert(path: string, line: number | undefined, text: string, files: TextFiles): Promise<string> {
  if (line === undefined || line === null) throw refused('INVALID_INPUT', 'Parameter `insert_line` is required for command: insert')
  if (typeof line !== 'number')
    throw refused('INVALID_INPUT', `Invalid \`insert_line\` parameter: ${JSON.stringify(line)}. It should be a number, without quotes.`)
  const before = await textOf(path, files)
  const lines = before.text.split('\n')
  if (!Number.isInteger(line) || line < 0 || line > lines.length) throw noSuchLine(path, line, lines.length)
  // A text that ends with a line break has no further line.
  const added = before.given(text).replace(/\n$/u, '').split('\n')
  const changed = lines.slice(0, line).concat(added, lines.slice(line))
  const note = await files.rewrite(path, before, changed.join('\n'), true)
  const first = Math.max(0, line - AROUND)
  const shown = changed.slice(first, line + added.length + AROUND)
  const snippet = catOf(shown, first + 1, 'a snippet of the edited file', files.limitBytes)
  const edited = `The file ${path} has been edited. ${snippet}${REVIEW} (correct indentation, no duplicate lines, etc). Edit the file again if necessary.`
  return withNote(edited, note)
}
