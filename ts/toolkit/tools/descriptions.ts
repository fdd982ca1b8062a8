/** The descriptions for the model: what each tool does, by the settings of its host. */
import { type Check, type Checks, group, invalid } from '../../core/options.js'
import type { SandboxOptions } from '../../core/sandbox.js'
import { type ProcessToolId, processTools } from '../../core/processes/process-tools.js'
import { lspDescription } from '../../language-servers/queries.js'
import type { LimitedKind, Settings } from '../settings.js'

/** The names of the built-in tools. */
export type ToolName = 'read' | 'write' | 'edit' | 'grep' | 'bash' | 'glob' | 'apply_patch' | 'lsp' | ProcessToolId

/** The host's description, or a function that makes one from ours. */
export type Description = string | ((ours: string) => string)

/** Descriptions of the host. Other tools are described by their settings. */
export type Descriptions = { readonly [name in ToolName]?: Description | undefined }

/** The format of a patch over several files, for the model. */
const patchFormat =
  'Create, change, move and delete files with one patch: all of it is applied, or nothing. The patch begins with the line *** Begin Patch ' +
  'and ends with *** End Patch. Each file has a section: *** Add File: path, then every line of the file with + in front; ' +
  '*** Delete File: path; *** Update File: path, then *** Move to: path if it is moved, and hunks: a line @@, alone or with the line of the ' +
  'function or class around, then lines that begin with a space (context, about three before and after a change), - (removed) or + (added). ' +
  'A unified diff of several files works too.'

/** Descriptions that do not say where the tools work: those of the documents, and that of `apply_patch`. */
export const documented: Record<ToolName, string> = {
  read: 'Read a file',
  write: 'Write a file',
  edit: 'Apply a unified diff patch to a file',
  grep: 'Search for a pattern in files',
  bash: 'Run an executable with arguments',
  glob: 'List files whose names match a glob pattern',
  apply_patch: patchFormat,
  lsp: lspDescription,
  process_start: processTools.process_start.description,
  process_read: processTools.process_read.description,
  process_write: processTools.process_write.description,
  process_stop: processTools.process_stop.description,
}

/**
 * Descriptions by the settings. The path of the root is in none of them: tools come first in a prompt, and what a provider keeps of one would
 * be of no use to another user, checkout or machine. Errors name it.
 */
function described(
  settings: Record<LimitedKind, Settings>,
  { lineNumbers, processes, grants, documents }: DescribedSet,
): Record<ToolName, string> {
  const { allowNetwork, timeoutMs, sandbox, imageBytes } = settings.bash
  const max = (kind: LimitedKind): string => bytes(settings[kind].maxOutputBytes)
  const after = duration(timeoutMs)
  const where = 'Paths are relative to the root directory, or absolute within it.'
  const writable = ['the root directory', 'a temporary directory', ...(sandbox.writableRoots ?? []).map((path) => `\`${path}\``)]
  const confined = `${sandbox.files === 'full' ? '' : `It can write to ${listed(writable)}. `}${reachOf(sandbox, allowNetwork)}`
  const granted = grants ? 'What the sandbox has refused can be asked for with grant, which opens one path or host for one command. ' : ''
  const going = processes ? ' To keep a program running, use process_start.' : ''
  return {
    ...documented,
    read:
      `Read a text file${imageBytes > 0 ? `, or look at an image of at most ${bytes(imageBytes)}` : ''}. ${where} ` +
      `Read a file over ${max('read')} in parts: offset is the first line, from 1, and limit is the number of lines.` +
      `${documents ? ' A notebook is shown as cells, which edit patches; a PDF document as the text of pages.' : ''}` +
      `${lineNumbers ? ' Each line begins with its number and a tab, which are not part of the file.' : ''}`,
    write: `Create a file, or replace the whole of one; parent directories are created. ${where} At most ${max('write')}. To change part of a file, use edit.`,
    edit:
      'Change one existing file with a unified diff: hunks that begin with @@ -line,count +line,count @@, then lines that begin ' +
      'with a space (context), - (removed) or + (added). Context and removed lines must match the file exactly; line numbers may be approximate. ' +
      `To create a file, use write. ${where}`,
    apply_patch: `${patchFormat} ${where} At most ${max('write')}.`,
    grep:
      'Search files with a regular expression (Rust syntax: no look-around, no backreferences). Each match is a line path:line:text; ' +
      `of a long line, the part around the match. ${unsearched} ${where} Stopped after ${after}; output over ${max('grep')} is cut.`,
    glob: `List the files whose path matches a glob pattern, one on each line, sorted. ${unsearched} ${where}`,
    bash:
      'Run one program, without a shell: cmd is the program, and args are passed to it unchanged (no pipes, globs, quotes or $VARIABLES). ' +
      'For shell syntax use cmd "sh" with args ["-c", "…"]. It runs in the root directory, with stdin closed; nothing carries over to the next call. ' +
      `${confined} ${granted}` +
      `It is stopped after ${after}; programs left in the background are stopped when it ends.${going} The middle of output over ${max('bash')} is left out.`,
    process_start: `${documented.process_start} It runs in the root directory, or in workdir below it. ${confined}`,
  }
}

/** What searches leave out. */
const unsearched = 'Ignored and hidden files are left out, unless path or the whole pattern names them; .git always is.'

/** Properties of a set of tools besides its settings. */
interface DescribedSet {
  lineNumbers: boolean
  /** Whether it has the process tools. */
  processes: boolean
  /** Whether a command may ask for a grant. */
  grants: boolean
  /** Whether `read` shows what is in documents. */
  documents: boolean
}

/** The descriptions of one set of tools. */
export function describeTools(
  settings: Record<LimitedKind, Settings>,
  set: DescribedSet,
  descriptions: Descriptions,
): Record<ToolName, string> {
  const ours = described(settings, set)
  for (const [name, ourText] of Object.entries(ours) as [ToolName, string][]) {
    const description = descriptions[name] ?? ourText
    const text: unknown = typeof description === 'function' ? description(ourText) : description
    if (typeof text !== 'string' || text.trim() === '') throw invalid(`descriptions.${name} must be a text, or a function that gives one.`)
    ours[name] = text
  }
  return ours
}

const own: Check<Description | undefined> = (value, name) => {
  if (!['string', 'function', 'undefined'].includes(typeof value)) throw invalid(`${name} must be a text, or a function that gives one.`)
  return value as Description | undefined
}

/** @throws {ToolError} INVALID_INPUT */
export const parseDescriptions = group({
  read: own,
  write: own,
  edit: own,
  grep: own,
  bash: own,
  glob: own,
  apply_patch: own,
  lsp: own,
  process_start: own,
  process_read: own,
  process_write: own,
  process_stop: own,
} satisfies Checks<Descriptions>)

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

/** How many hosts are named. */
const MAX_HOSTS = 20

/** What commands reach of the network. */
function reachOf({ network }: SandboxOptions, allowNetwork: boolean): string {
  if (network === undefined) return allowNetwork ? 'The network is open.' : 'The network is blocked.'
  const { allow, ask = [], onAsk } = network
  const hosts = onAsk === undefined ? allow : [...allow, ...ask.map((host) => `${host} (the user is asked)`)]
  if (hosts.length === 0) return 'The network is blocked.'
  const more = hosts.length > MAX_HOSTS ? ` and ${hosts.length - MAX_HOSTS} more` : ''
  return `Of the network, only these hosts are reached: ${hosts.slice(0, MAX_HOSTS).join(', ')}${more}.`
}
