/** What a model is told about each tool: what it does, and what the settings of its host mean for it. */
import { checkNames, invalid, takenOptions } from '../../core/options.js'
import type { LimitedKind, Settings } from '../settings.js'

/** The names of the built-in tools. */
export type ToolName = 'read' | 'write' | 'edit' | 'grep' | 'bash'

/** A description of the host's own, or what makes one of ours. */
export type Description = string | ((ours: string) => string)

/** What hosts say of tools. Those left out are described by their settings. */
export type Descriptions = { readonly [name in ToolName]?: Description | undefined }

/** The descriptions that the documents give, which say nothing of where the tools work. */
export const documented: Record<ToolName, string> = {
  read: 'Read a file',
  write: 'Write a file',
  edit: 'Apply a unified diff patch to a file',
  grep: 'Search for a pattern in files',
  bash: 'Run an executable with arguments',
}

const names = Object.keys(documented) as ToolName[]

/** What the settings mean; `root` is how the root directory is called. */
function described(settings: Record<LimitedKind, Settings>, root: string, lineNumbers: boolean): Record<ToolName, string> {
  const { allowNetwork, timeoutMs, sandbox, imageBytes } = settings.bash
  const most = (kind: LimitedKind): string => bytes(settings[kind].maxOutputBytes)
  const after = duration(timeoutMs)
  const where = `Paths are relative to ${root}, or absolute within it.`
  const writable = ['the root directory', 'a temporary directory', ...(sandbox.writableRoots ?? []).map((path) => `\`${path}\``)]
  return {
    read:
      `Read a text file${imageBytes > 0 ? `, or look at an image of at most ${bytes(imageBytes)}` : ''}. ${where} ` +
      `Of a file over ${most('read')} read a part: offset is the first line, from 1, and limit is how many lines.` +
      `${lineNumbers ? ' Each line begins with its number and a tab, which are not part of the file.' : ''}`,
    write: `Create a file, or replace the whole of one; parent directories are created. ${where} At most ${most('write')}. To change part of a file, use edit.`,
    edit:
      'Change one existing file with a unified diff: hunks that begin with @@ -line,count +line,count @@, then lines that begin ' +
      'with a space (context), - (removed) or + (added). Context and removed lines must match the file exactly; line numbers may be approximate. ' +
      `To create a file, use write. ${where}`,
    grep:
      'Search files with a regular expression (Rust syntax: no look-around, no backreferences). Each match is a line path:line:text. ' +
      `${where} Stopped after ${after}; output over ${most('grep')} is cut.`,
    bash:
      'Run one program, without a shell: cmd is the program, and args are passed to it as they are (no pipes, globs, quotes or $VARIABLES). ' +
      `For shell syntax use cmd "sh" with args ["-c", "…"]. It runs in ${root}, with stdin closed; nothing carries over to the next call. ` +
      `${sandbox.files === 'full' ? '' : `It can write to ${listed(writable)}. `}${allowNetwork ? 'The network is open.' : 'The network is blocked.'} ` +
      `It is stopped after ${after}; programs left in the background are stopped when it ends. Of output over ${most('bash')} the middle is left out.`,
  }
}

/** The descriptions of one set of tools. A root that is not set is the directory that the host works in. */
export function describeTools(
  settings: Record<LimitedKind, Settings>,
  { isRootKnown, lineNumbers }: { isRootKnown: boolean; lineNumbers: boolean },
  own: Descriptions,
): Record<ToolName, string> {
  const root = isRootKnown ? `the root directory \`${settings.bash.rootDir}\`` : 'the root directory'
  const ours = described(settings, root, lineNumbers)
  const made = names.map((name): [ToolName, string] => {
    const given = own[name] ?? ours[name]
    const text: unknown = typeof given === 'function' ? given(ours[name]) : given
    if (typeof text !== 'string' || text.trim() === '') throw invalid(`descriptions.${name} must be a text, or a function that gives one.`)
    return [name, text]
  })
  return Object.fromEntries(made) as Record<ToolName, string>
}

/** @throws {ToolError} INVALID_INPUT */
export function takenDescriptions(given: unknown): Descriptions {
  if (given === undefined) return {}
  if (typeof given !== 'object' || given === null)
    throw invalid('descriptions must be an object of texts or functions, by the names of tools.')
  checkNames('descriptions.', given, names)
  const own = takenOptions(given as Descriptions, names)
  for (const name of names) {
    if (!['string', 'function', 'undefined'].includes(typeof own[name]))
      throw invalid(`descriptions.${name} must be a text, or a function that gives one.`)
  }
  return own
}

function bytes(count: number): string {
  if (count < 1_000) return `${count} bytes`
  const [value, unit] = count < 1_000_000 ? [count / 1_000, 'KB'] : [count / 1_000_000, 'MB']
  return `${Number(value.toFixed(1))} ${unit}`
}

function duration(ms: number): string {
  if (ms < 1_000) return `${ms} ms`
  const [value, unit] = ms < 120_000 ? [ms / 1_000, 'seconds'] : [ms / 60_000, 'minutes']
  return `${Number(value.toFixed(1))} ${unit}`
}

function listed(parts: readonly string[]): string {
  const last = parts.at(-1) ?? ''
  return parts.length < 2 ? last : `${parts.slice(0, -1).join(', ')} and ${last}`
}
