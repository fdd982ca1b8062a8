import { resolve } from 'node:path'
import { checked, checkText, givenOptions, invalid } from '../../core/options.js'
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
  return checkedToolCall(call, result, givenOptions('toAcpToolCall', options, optionNames))
}

/** A call that waits for agreement, with the text that it would overwrite. */
export function pendingToolCall(call: SessionToolCall, options: AcpToolCallOptions, oldText: string | undefined): AcpToolCall {
  const how = givenOptions('toAcpPermissionRequest', options, optionNames)
  return checkedToolCall({ ...call, pending: true }, undefined, oldText === undefined ? how : { oldText, ...how })
}

const optionNames = ['workspace', 'kind', 'terminalId', 'oldText']

function checkedToolCall(call: SessionToolCall, result: Envelope | undefined, how: AcpToolCallOptions): AcpToolCall {
  return checked('toAcpToolCall', () => {
    for (const name of ['workspace', 'terminalId'] as const) if (how[name] !== undefined) checkText(name, how[name])
    if (how.oldText !== undefined && typeof how.oldText !== 'string') throw invalid('oldText must be a string.')
    if (result !== undefined) checkEnvelope(result)
    return acpToolCall(ownCall(call), result, how)
  })
}

function acpToolCall(call: SessionToolCall, result: Envelope | undefined, options: AcpToolCallOptions): AcpToolCall {
  const args = recordOf(call.args)
  const toolCall: AcpToolCall = {
    toolCallId: call.id,
    title: titleOf(call.tool, args),
    name: call.tool,
    kind: acpToolKind(call.tool, options.kind),
    status: statusOf(call, result),
    content: contentOf(call.tool, args, result, options),
    locations: locationsOf(call.tool, args, result, options),
    rawInput: call.args,
  }
  return result === undefined ? toolCall : { ...toolCall, rawOutput: result }
}

function ownCall(call: SessionToolCall): SessionToolCall {
  if (typeof call !== 'object' || call === null) throw invalid('The call must be an object with id, tool and args.')
  const { id, tool, args, pending } = call
  checkText('id', id)
  checkText('tool', tool)
  return { id, tool, args, pending }
}

function checkEnvelope(result: Envelope): void {
  const { type } = (result ?? {}) as Partial<Envelope>
  if (type !== 'output' && type !== 'error') throw invalid('The result must be an envelope, as session.call gives it.')
}

function statusOf({ pending }: SessionToolCall, result: Envelope | undefined): AcpToolCall['status'] {
  if (result !== undefined) return result.type === 'output' ? 'completed' : 'failed'
  return pending === true ? 'pending' : 'in_progress'
}

/** A line that describes the call. */
function titleOf(tool: string, args: Record<string, unknown>): string {
  const what = ['description', 'command', 'path', 'pattern', 'query', 'url', 'name'].map((name) => args[name]).find(isText)
  if (what === undefined) return tool
  const [line = ''] = what.split('\n')
  const short = line.length > 120 ? `${line.slice(0, 119)}…` : line
  return tool === 'bash' && what === args['command'] ? `\`${short}\`` : `${tool} ${short}`
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
  if (result.type === 'error') return [...terminal, text(result.error_text)]
  // A change is shown as a diff, and a command by its terminal.
  if (diff.length > 0) return diff
  return terminal.length > 0 ? terminal : [text(outputText(result.data)), ...notesOf(result)]
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
  return Array.isArray(notes) && notes.length > 0 ? [text(notes.map((note) => `[${String(note)}]`).join('\n'))] : []
}

/** The part of an output that a user wants to read. */
function outputText(data: unknown): string {
  const { content, head, tail, stdout, stderr } = recordOf(data)
  if (typeof head === 'string') return typeof tail === 'string' ? `${head}\n[…]\n${tail}` : head
  if (typeof content === 'string') return content
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
    const places = (matches as { path: string; line: number }[]).slice(0, MAX_LOCATIONS)
    return places.map(({ path, line }) => ({ path: at(path), line }))
  }
  const { path } = args
  return isText(path) ? [{ path: at(path) }] : []
}

const text = (value: string): AcpToolCallContent => ({ type: 'content', content: { type: 'text', text: value } })

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

const recordOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
