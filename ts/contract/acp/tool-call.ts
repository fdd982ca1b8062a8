import { recordOf } from '../registry/json-schema.js'
import { resolve } from 'node:path'
import { anything, checked, type Checks, must, oneOf, optional, parseOptions, string, text } from '../../core/options.js'
import type { Envelope } from '../registry/envelope.js'
import { apartFromImage } from '../registry/result-image.js'
import { changesOf, type FileChange } from '../call/file-changes.js'
import { acpToolKind, type AcpToolKind } from '../registry/tool-ids.js'
import { type AcpDiff, type AcpDiffV2, diffsOf, diffV2Of } from './diffs.js'
import { exitOf, isRunning, type ZedTerminal } from './terminal.js'

/** A text as content of a tool call. */
export interface AcpText {
  type: 'content'
  content: { type: 'text'; text: string }
}

/** An image as content of a tool call, in base64. */
export interface AcpImage {
  type: 'content'
  content: { type: 'image'; data: string; mimeType: string }
}

/** A terminal as content of a tool call: the client's, the agent's in version 2, or one of `_meta`. */
export interface AcpTerminal {
  type: 'terminal'
  terminalId: string
}

/** The content of a tool call: text, an image, a change of a file, or a terminal. */
export type AcpToolCallContent = AcpText | AcpImage | AcpDiff | AcpTerminal

/** The same in version 2. */
export type AcpToolCallContentV2 = AcpText | AcpImage | AcpDiffV2 | AcpTerminal

/** A tool call of the Agent Client Protocol, version 1. It is also valid as an update. */
export interface AcpToolCall {
  toolCallId: string
  title: string
  name: string
  kind: AcpToolKind
  status: 'pending' | 'in_progress' | 'completed' | 'failed'
  content: AcpToolCallContent[]
  locations: { path: string; line?: number }[]
  rawInput: unknown
  rawOutput?: unknown
  _meta?: ZedTerminal
}

/** A tool call in the draft of version 2. */
export interface AcpToolCallV2 extends Omit<AcpToolCall, 'status' | 'content' | '_meta'> {
  status: AcpToolCall['status'] | 'cancelled'
  content: AcpToolCallContentV2[]
}

/** A call of a session's tool. */
export interface SessionToolCall {
  id: string
  tool: string
  args: unknown
  /** Whether the call still waits for a permission. @default false */
  pending?: boolean | undefined
}

/** Further facts that the protocol needs. */
export interface AcpToolCallOptions {
  /** The base of relative paths, because the protocol's are absolute. @default the working directory */
  workspace?: string | undefined
  /** The kind that a tool without a locked id declares. */
  kind?: AcpToolKind | undefined
  /** A terminal that shows the command: the client's, or in version 2 the agent's. */
  terminalId?: string | undefined
  /** The version of the protocol. @default 1 */
  version?: 1 | 2 | undefined
  /**
   * Whether `_meta` describes a terminal for a command, as Zed reads it in version 1 (`clientCapabilities._meta.terminal_output`):
   * `terminal_info`, and with the envelope `terminal_output` and `terminal_exit`. The terminal has the id of the call.
   */
  meta?: 'zed' | undefined
  /**
   * The text that a `write` overwrites, for its diff.
   * @default the old text if the session of this process knows it (text files of up to 200 KB, once there is an envelope);
   * otherwise null, as for a new file
   */
  oldText?: string | undefined
}

/** The maximum number of places that a search shows. */
const MAX_LOCATIONS = 100

/**
 * Converts a call to the protocol's form. With an envelope, the call is over.
 *
 * @throws {ToolError} INVALID_INPUT for an invalid call, envelope or option.
 */
export function toAcpToolCall(
  call: SessionToolCall,
  result: Envelope | undefined,
  options: AcpToolCallOptions & { version: 2 },
): AcpToolCallV2
export function toAcpToolCall(
  call: SessionToolCall,
  result?: Envelope,
  options?: AcpToolCallOptions & { version?: 1 | undefined },
): AcpToolCall
export function toAcpToolCall(call: SessionToolCall, result?: Envelope, options?: AcpToolCallOptions): AcpToolCall | AcpToolCallV2
export function toAcpToolCall(call: SessionToolCall, given?: Envelope, options: AcpToolCallOptions = {}): AcpToolCall | AcpToolCallV2 {
  const { id, tool, args: input, pending } = parseOptions('toAcpToolCall', call, callChecks)
  const { version, ...how } = parseOptions('toAcpToolCall', options, optionChecks)
  if (given !== undefined) checked('toAcpToolCall', () => envelope(given, 'The result'))
  const { rest: result, image } = given === undefined ? { rest: given, image: undefined } : apartFromImage(tool, given)
  const images: AcpImage[] = image === undefined ? [] : [imageContent(image)]
  const args = recordOf(input)
  const workspace = resolve(how.workspace ?? '.')
  const isZed = version === 1 && how.meta === 'zed' && hasTerminal(tool)
  const terminalId = how.terminalId ?? (isZed ? id : undefined)
  const changing = { tool, args, result, workspace, oldText: how.oldText }
  const common = {
    toolCallId: id,
    title: titleOf(tool, args),
    name: tool,
    kind: acpToolKind(tool, how.kind),
    locations: locationsOf(tool, args, result, { ...how, version }),
    rawInput: input,
    ...(result === undefined ? {} : { rawOutput: result }),
  }
  const failed = result?.type === 'error'
  if (version === 2) {
    const content = [...contentOf(result, terminalId, failed ? [] : diffV2Of(changing)), ...images]
    const isCancelled = failed && result.metadata.code === 'aborted'
    return { ...common, status: isCancelled ? 'cancelled' : statusOf(pending, result), content }
  }
  const content = [...contentOf(result, terminalId, failed ? [] : diffsOf(changing)), ...images]
  const update: AcpToolCall = { ...common, status: statusOf(pending, result), content }
  return isZed && terminalId !== undefined ? { ...update, _meta: zedTerminal(terminalId, args, result, workspace) } : update
}

/** The fields for Zed of a call that is sent as a whole. */
function zedTerminal(id: string, { workdir }: Record<string, unknown>, result: Envelope | undefined, workspace: string): ZedTerminal {
  const cwd = resolve(workspace, isText(workdir) ? workdir : '.')
  const info = { terminal_info: { terminal_id: id, cwd } }
  if (result === undefined) return info
  const { exitCode, signal } = exitOf(result)
  const output = { ...info, terminal_output: { terminal_id: id, data: commandOutput(result) } }
  return isRunning(result) ? output : { ...output, terminal_exit: { terminal_id: id, exit_code: exitCode, signal } }
}

/** Whether a client shows what a tool does in a terminal. */
export const hasTerminal = (tool: string): boolean => tool === 'bash' || tool === 'process_start'

/** The terminal of a command that is over. */
export const commandOutput = (result: Envelope): string => (result.type === 'output' ? outputText(result.data) : result.error_text)

const callChecks = {
  id: text,
  tool: text,
  args: anything<unknown>(),
  pending: anything<boolean | undefined>(),
} satisfies Checks<SessionToolCall>

const optionChecks = {
  workspace: optional(text),
  kind: anything<AcpToolKind | undefined>(),
  terminalId: optional(text),
  oldText: optional(string),
  version: optional<1 | 2>(
    must((value) => value === 1 || value === 2, '1 or 2'),
    1,
  ),
  meta: optional(oneOf('zed')),
} satisfies Checks<AcpToolCallOptions>

const envelope = must<Envelope>(
  (value) => ['output', 'error'].includes((value as Partial<Envelope> | null)?.type ?? ''),
  'an envelope, as session.call gives it',
)

function statusOf(pending: boolean | undefined, result: Envelope | undefined): AcpToolCall['status'] {
  if (result !== undefined) return result.type === 'output' ? 'completed' : 'failed'
  return pending === true ? 'pending' : 'in_progress'
}

/** A one-line description of the call. */
function titleOf(tool: string, args: Record<string, unknown>): string {
  const what = ['description', 'command', 'path', 'pattern', 'query', 'url', 'name', 'process_id'].map((name) => args[name]).find(isText)
  if (what === undefined) return tool
  const [line = ''] = what.split('\n')
  const short = line.length > 120 ? `${line.slice(0, 119)}…` : line
  const isLine = tool === 'bash' || tool === 'process_start'
  return isLine && what === args['command'] ? `\`${short}\`` : `${tool} ${short}`
}

function contentOf<DIFF extends AcpDiff | AcpDiffV2>(
  result: Envelope | undefined,
  terminalId: string | undefined,
  diffs: DIFF[],
): (AcpText | AcpTerminal | DIFF)[] {
  const terminal: AcpTerminal[] = terminalId === undefined ? [] : [{ type: 'terminal', terminalId }]
  if (result === undefined) return [...terminal, ...diffs]
  if (result.type === 'error') return [...terminal, textContent(result.error_text)]
  // A change is shown as a diff, and a command by its terminal.
  if (diffs.length > 0) return diffs
  return terminal.length > 0 ? terminal : [textContent(outputText(result.data)), ...notesOf(result)]
}

/** The notes of the envelope. */
function notesOf({ metadata }: Envelope): AcpText[] {
  const { notes }: { notes?: unknown } = metadata ?? {}
  return Array.isArray(notes) && notes.length > 0 ? [textContent(notes.map((note) => `[${String(note)}]`).join('\n'))] : []
}

/** The part of an output that a user wants to read. */
function outputText(data: unknown): string {
  const { content, head, tail, stdout, stderr, process_id, output } = recordOf(data)
  if (typeof head === 'string') return typeof tail === 'string' ? `${head}\n[…]\n${tail}` : head
  if (typeof content === 'string') return content
  if (typeof process_id === 'string' && typeof output === 'string') return output
  if (typeof stdout === 'string' && typeof stderr === 'string') return stdout + stderr
  return typeof data === 'string' ? data : JSON.stringify(data, undefined, 2)
}

function locationsOf(
  tool: string,
  args: Record<string, unknown>,
  result: Envelope | undefined,
  { workspace }: AcpToolCallOptions,
): AcpToolCall['locations'] {
  const at = (path: string): string => resolve(workspace ?? '.', path)
  const matches: unknown = result?.type === 'output' ? recordOf(result.data)['matches'] : undefined
  if (tool === 'grep' && Array.isArray(matches)) {
    const listed = (matches as { path: string; line: number }[]).slice(0, MAX_LOCATIONS)
    return listed.map(({ path, line }) => ({ path: at(path), line }))
  }
  const changed = changesOf(result)
  // A change is located at the first line that differs.
  if (changed !== undefined) return changed.slice(0, MAX_LOCATIONS).map((change) => ({ path: at(change.path), ...lineOf(change) }))
  const { path } = args
  return isText(path) ? [{ path: at(path) }] : []
}

/** The first line that a change modifies, from 1. */
function lineOf({ before, after }: FileChange): { line?: number } {
  if (before === undefined || after === undefined || before === after) return {}
  let at = 0
  while (before[at] === after[at]) at += 1
  return { line: before.slice(0, at).split('\n').length }
}

const imageContent = ({ media_type: mimeType, data }: { media_type: string; data: string }): AcpImage => ({
  type: 'content',
  content: { type: 'image', data, mimeType },
})

export const textContent = (value: string): AcpText => ({ type: 'content', content: { type: 'text', text: value } })

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''
