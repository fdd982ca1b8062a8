import { recordOf } from '../registry/json-schema.js'
import { resolve } from 'node:path'
import { anything, checked, type Checks, must, optional, parseOptions, string, text } from '../../core/options.js'
import type { Envelope } from '../registry/envelope.js'
import { overwrittenText } from '../call/overwritten-text.js'
import { acpToolKind, type AcpToolKind } from '../registry/tool-ids.js'

/** The content of a tool call: text, a change of a file, or a terminal of the client. */
export type AcpToolCallContent =
  | { type: 'content'; content: { type: 'text'; text: string } }
  | { type: 'diff'; path: string; oldText?: string | null; newText: string }
  | { type: 'terminal'; terminalId: string }

/** A tool call as the Agent Client Protocol (version 1) has it. Valid as an update of itself, too. */
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
}

/** A call of a session's tool. */
export interface SessionToolCall {
  id: string
  tool: string
  args: unknown
  /** Whether it waits for an agreement still. @default false */
  pending?: boolean | undefined
}

/** Further facts that the protocol needs. */
export interface AcpToolCallOptions {
  /** Where relative paths begin: the protocol's are absolute. @default the working directory */
  workspace?: string | undefined
  /** The kind that a tool without a locked id declares. */
  kind?: AcpToolKind | undefined
  /** A terminal that the client made for the command. */
  terminalId?: string | undefined
  /**
   * The text that a `write` overwrites, for its diff. @default the old text, as far as the session of this process knows it: of
   * text files of up to 200 KB, from the envelope on; else null, as for a new file
   */
  oldText?: string | undefined
}

/** The maximum number of places that a search shows. */
const MAX_LOCATIONS = 100

/**
 * A call as the protocol has it; with its envelope, a call that is over.
 *
 * @throws {ToolError} INVALID_INPUT for an invalid call, envelope or option.
 */
export function toAcpToolCall(call: SessionToolCall, result?: Envelope, options: AcpToolCallOptions = {}): AcpToolCall {
  const { id, tool, args: input, pending } = parseOptions('toAcpToolCall', call, callChecks)
  const how = parseOptions('toAcpToolCall', options, optionChecks)
  if (result !== undefined) checked('toAcpToolCall', () => envelope(result, 'The result'))
  const args = recordOf(input)
  const toolCall: AcpToolCall = {
    toolCallId: id,
    title: titleOf(tool, args),
    name: tool,
    kind: acpToolKind(tool, how.kind),
    status: statusOf(pending, result),
    content: contentOf(tool, args, result, how),
    locations: locationsOf(tool, args, result, how),
    rawInput: input,
  }
  return result === undefined ? toolCall : { ...toolCall, rawOutput: result }
}

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
} satisfies Checks<AcpToolCallOptions>

const envelope = must<Envelope>(
  (value) => ['output', 'error'].includes((value as Partial<Envelope> | null)?.type ?? ''),
  'an envelope, as session.call gives it',
)

function statusOf(pending: boolean | undefined, result: Envelope | undefined): AcpToolCall['status'] {
  if (result !== undefined) return result.type === 'output' ? 'completed' : 'failed'
  return pending === true ? 'pending' : 'in_progress'
}

/** A line that describes the call. */
function titleOf(tool: string, args: Record<string, unknown>): string {
  const what = ['description', 'command', 'path', 'pattern', 'query', 'url', 'name', 'process_id'].map((name) => args[name]).find(isText)
  if (what === undefined) return tool
  const [line = ''] = what.split('\n')
  const short = line.length > 120 ? `${line.slice(0, 119)}…` : line
  const isLine = tool === 'bash' || tool === 'process_start'
  return isLine && what === args['command'] ? `\`${short}\`` : `${tool} ${short}`
}

function contentOf(
  tool: string,
  args: Record<string, unknown>,
  result: Envelope | undefined,
  { workspace, terminalId, oldText = overwrittenText(result) }: AcpToolCallOptions,
): AcpToolCallContent[] {
  const terminal: AcpToolCallContent[] = terminalId === undefined ? [] : [{ type: 'terminal', terminalId }]
  const diff = result?.type === 'error' ? [] : diffOf(tool, args, workspace, oldText)
  if (result === undefined) return [...terminal, ...diff]
  if (result.type === 'error') return [...terminal, textContent(result.error_text)]
  // A change is shown as a diff, and a command by its terminal.
  if (diff.length > 0) return diff
  return terminal.length > 0 ? terminal : [textContent(outputText(result.data)), ...notesOf(result)]
}

function diffOf(
  tool: string,
  args: Record<string, unknown>,
  workspace: string | undefined,
  before: string | undefined,
): AcpToolCallContent[] {
  const { path, content, old_string: oldText, new_string: newText } = args
  if (!isText(path)) return []
  const absolute = resolve(workspace ?? '.', path)
  if (tool === 'write' && typeof content === 'string') return [{ type: 'diff', path: absolute, oldText: before ?? null, newText: content }]
  if (tool !== 'edit' || typeof oldText !== 'string' || typeof newText !== 'string') return []
  return [{ type: 'diff', path: absolute, oldText, newText }]
}

/** The notes of the envelope. */
function notesOf({ metadata }: Envelope): AcpToolCallContent[] {
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
  const { path } = args
  return isText(path) ? [{ path: at(path) }] : []
}

const textContent = (value: string): AcpToolCallContent => ({ type: 'content', content: { type: 'text', text: value } })

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''
