/** `anthropic.tools.memory_*`: a directory of notes. The texts are those of Anthropic's own implementation. */
import type { ChangedText } from './changed-text.js'
import { mkdirSync } from 'node:fs'
import { posix, resolve } from 'node:path'
import { ToolError } from '../../core/errors.js'
import { noteRoot } from '../../core/grants.js'
import { oneOf } from '../../core/options.js'
import type { ToolCallOptions } from '../../journal/calls/call-record.js'
import { recordedFunction } from '../../toolkit/built-in-call.js'
import type { BuiltInContext } from '../../toolkit/define-tool.js'
import { describedExecutor, isView } from '../../toolkit/described-executor.js'
import type { ProviderSettings } from '../settings.js'
import { listedLines, needed, noSuchLine, notThere, notUnique, recordedTexts, refused, reworded } from './refusals.js'
import { linesOf, lineOf, numberedLines, placesOf, replacedAt, TextFiles, withNote } from './text-files.js'

/** A command of the memory tool. Paths are under `/memories`. */
export type MemoryCommand =
  | { command: 'view'; path: string; view_range?: readonly number[] | undefined }
  | { command: 'create'; path: string; file_text: string }
  | { command: 'str_replace'; path: string; old_str: string; new_str: string }
  | { command: 'insert'; path: string; insert_line: number; insert_text: string }
  | { command: 'delete'; path: string }
  | { command: 'rename'; old_path: string; new_path: string }

/**
 * Carries out a memory command.
 *
 * @throws {ToolError} with the documented text, which the AI SDK sends as the error of the tool.
 */
export type MemoryFunction = (input: MemoryCommand, options?: ToolCallOptions) => Promise<string>

/** @param memoryDir the directory that the model knows as `/memories`, created if it is missing. */
export function createMemory({ bound }: ProviderSettings, memoryDir: string): MemoryFunction {
  const rootDir = resolve(memoryDir)
  makeDirectory(rootDir)
  const rootHolder = {}
  noteRoot(rootHolder, rootDir)
  // Holds also in a task whose context has another root directory.
  const filesOf = ({ settings, signal, seen }: BuiltInContext): TextFiles =>
    new TextFiles({ settings: { ...settings, rootDir, rootHolder }, signal, seen })
  const named = { name: 'memory', recordedInput: recordedCommand }
  const looking = recordedFunction(
    { ...named, sideEffect: false, kind: 'read', execute: (input: MemoryCommand, call) => run(input, filesOf(call)) },
    bound,
  )
  const changing = recordedFunction(
    { ...named, sideEffect: true, kind: 'write', execute: (input: MemoryCommand, call) => run(input, filesOf(call)) },
    bound,
  )
  const execute: MemoryFunction = (input, options) => (isView(input) ? looking : changing)(input, options)
  return describedExecutor('memory', execute, isView)
}

function makeDirectory(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
  } catch (cause) {
    const summary = 'memoryDir cannot be made'
    const hint = 'Name a directory that exists, or one that this process may make.'
    throw new ToolError({ code: 'TOOL_ROOT_INVALID', summary, place: `${summary}: \`${path}\``, hint, details: { path }, cause })
  }
}

/** The input without the texts of notes, which a record must not hold. */
function recordedCommand(input: MemoryCommand): unknown {
  switch (input.command) {
    case 'create':
      return recordedTexts(input.command, input.path, [input.file_text])
    case 'str_replace':
      return recordedTexts(input.command, input.path, [input.old_str, input.new_str])
    case 'insert':
      return recordedTexts(input.command, input.path, [input.insert_text], { insert_line: input.insert_line })
    default:
      return input
  }
}

async function run(input: MemoryCommand, files: TextFiles): Promise<string> {
  switch (input.command) {
    case 'view':
      return view(input.path, input.view_range, files)
    case 'create':
      return create(input.path, needed(input.file_text, 'file_text', input.command), files)
    case 'str_replace':
      return replace(input.path, needed(input.old_str, 'old_str', input.command), needed(input.new_str, 'new_str', input.command), files)
    case 'insert':
      return insert(input.path, input.insert_line, needed(input.insert_text, 'insert_text', input.command), files)
    case 'delete':
      return remove(input.path, files)
    case 'rename':
      return rename(needed(input.old_path, 'old_path', input.command), needed(input.new_path, 'new_path', input.command), files)
    default:
      return oneOf('view', 'create', 'str_replace', 'insert', 'delete', 'rename')((input as { command?: unknown }).command, 'command')
  }
}

const ROOT = '/memories'

/**
 * The path below the memory's directory. This check only shapes the path; the native operations are the boundary, and
 * confine any path.
 */
function placeOf(path: unknown): string {
  if (typeof path !== 'string' || !(path === ROOT || path.startsWith(`${ROOT}/`))) {
    throw refused('TOOL_PATH_ESCAPE', `Path must start with ${ROOT}, got: ${String(path)}`, { path })
  }
  const relative = posix.normalize(`.${path.slice(ROOT.length)}`)
  if (relative === '..' || relative.startsWith('../')) {
    throw refused('TOOL_PATH_ESCAPE', `Path ${path} would escape ${ROOT} directory`, { path })
  }
  const place = relative.replace(/\/+$/u, '')
  return place === '' ? '.' : place
}

const missing = (path: string) => refused('TOOL_FILE_NOT_FOUND', `The path ${path} does not exist. Please provide a valid path.`, { path })
const gone = (path: string) => refused('TOOL_FILE_NOT_FOUND', `The path ${path} does not exist`, { path })
/** The error of a link that leads out of the memory. */
const escaped = reworded(['TOOL_PATH_ESCAPE'], ({ details }) =>
  refused('TOOL_PATH_ESCAPE', `Path would escape ${ROOT} directory via symlink`, details),
)
const MAX_LINES = 999_999

async function view(path: string, range: readonly number[] | undefined, files: TextFiles): Promise<string> {
  const place = placeOf(path)
  const listed = await files
    .list(place)
    .catch(escaped)
    .catch(reworded(['TOOL_FILE_NOT_FOUND', 'TOOL_NOT_A_DIRECTORY'], () => missing(path)))
    .catch(reworded(['TOOL_NOT_A_FILE'], () => refused('TOOL_NOT_A_FILE', `Unsupported file type for ${path}`, { path })))
  if (listed.isDirectory) {
    const header = `Here're the files and directories up to 2 levels deep in ${path}, excluding hidden items and node_modules:`
    const entries = listed.entries.map((entry) => `${sizeOf(entry.bytes)}\t${path}/${entry.path}${entry.isDirectory ? '/' : ''}`)
    const more = listed.isCut ? ['There are more: view a directory inside it.'] : []
    return [header, `${sizeOf(listed.bytes)}\t${path}`, ...entries, ...more].join('\n')
  }
  const isRange = Array.isArray(range) && range.length === 2
  const lines = (await files.read(place, isRange).catch(reworded(['TOOL_FILE_NOT_FOUND'], () => missing(path)))).split('\n')
  if (lines.length > MAX_LINES) {
    const maxLines = MAX_LINES.toLocaleString('en-US')
    throw refused('TOOL_FILE_TOO_LARGE', `File ${path} has too many lines (${lines.length}). Maximum is ${maxLines} lines.`, { path })
  }
  const [from = 1, to = -1] = isRange ? range : []
  const first = Math.max(1, from) - 1
  const shown = isRange ? lines.slice(first, to === -1 ? lines.length : to) : lines
  const isEnd = !isRange || first + shown.length >= lines.length
  await files.noteShown(place, `${shown.join('\n')}${isEnd ? '' : '\n'}`, isRange ? first + 1 : 1, isEnd)
  return `Here's the content of ${path} with line numbers:\n${numberedLines(shown, isRange ? first + 1 : 1)}`
}

/** A size in the form of `du -h`. */
function sizeOf(bytes: number): string {
  if (bytes === 0) return '0B'
  const power = Math.min(3, Math.floor(Math.log(bytes) / Math.log(1024)))
  const size = bytes / 1024 ** power
  return `${size % 1 === 0 ? size : size.toFixed(1)}${'BKMG'[power]}`
}

async function create(path: string, text: string, files: TextFiles): Promise<string> {
  const created = await files.create(placeOf(path), text).catch(escaped)
  if (!created) throw refused('TOOL_FILE_EXISTS', `File ${path} already exists`, { path })
  return `File created successfully at: ${path}`
}

/** The text of a file before its change. */
async function textOf(path: string, place: string, files: TextFiles): Promise<ChangedText> {
  return files
    .readToChange(place)
    .catch(escaped)
    .catch(reworded(['TOOL_FILE_NOT_FOUND', 'TOOL_NOT_A_DIRECTORY'], () => missing(path)))
    .catch(reworded(['TOOL_NOT_A_FILE'], () => refused('TOOL_NOT_A_FILE', `The path ${path} is not a file.`, { path })))
}

async function replace(path: string, given: string, replacement: string, files: TextFiles): Promise<string> {
  const place = placeOf(path)
  const before = await textOf(path, place, files)
  const [content, old, by] = [before.text, before.given(given), before.given(replacement)]
  const places = placesOf(content, old)
  const [at] = places
  if (at === undefined) throw notThere(path, old, await files.nearTo(content, old))
  if (places.length > 1) throw notUnique(path, old, `: ${listedLines(linesOf(content, places))}`)
  const changed = replacedAt(content, at, old, by)
  const note = await files.rewrite(place, before, changed).catch(escaped)
  const line = lineOf(content, at)
  const first = Math.max(0, line - 2)
  const snippet = numberedLines(changed.split('\n').slice(first, line + 3), first + 1)
  return withNote(`The memory file has been edited. Here is the snippet showing the change (with line numbers):\n${snippet}`, note)
}

async function insert(path: string, line: number, text: string, files: TextFiles): Promise<string> {
  const place = placeOf(path)
  const before = await textOf(path, place, files)
  const lines = before.text.split('\n')
  if (!Number.isInteger(line) || line < 0 || line > lines.length) throw noSuchLine(path, line, lines.length)
  lines.splice(line, 0, before.given(text).replace(/\n$/u, ''))
  const note = await files.rewrite(place, before, lines.join('\n'), true).catch(escaped)
  return withNote(`The file ${path} has been edited.`, note)
}

async function remove(path: string, files: TextFiles): Promise<string> {
  const place = placeOf(path)
  if (place === '.') throw refused('TOOL_PATH_PROTECTED', `Cannot delete the ${ROOT} directory itself`, { path })
  await files
    .delete(place)
    .catch(escaped)
    .catch(reworded(['TOOL_FILE_NOT_FOUND', 'TOOL_NOT_A_DIRECTORY'], () => gone(path)))
  return `Successfully deleted ${path}`
}

async function rename(from: string, to: string, files: TextFiles): Promise<string> {
  const [old, target] = [placeOf(from), placeOf(to)]
  if (old === '.') throw refused('TOOL_PATH_PROTECTED', `Cannot rename the ${ROOT} directory itself`, { path: from })
  const occupied = () => refused('TOOL_FILE_EXISTS', `The destination ${to} already exists`, { path: to })
  if (target === '.') throw occupied()
  const renamed = await files
    .rename(old, target)
    .catch(escaped)
    .catch(reworded(['TOOL_FILE_NOT_FOUND'], () => gone(from)))
  if (!renamed) throw occupied()
  return `Successfully renamed ${from} to ${to}`
}
