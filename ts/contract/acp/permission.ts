import type { PromptAnswer, PromptDecision, PromptRequest } from '../permissions/prompt.js'
import { checked, text } from '../../core/options.js'
import { overwrittenText } from '../call/overwritten-text.js'
import { recordOf } from '../registry/json-schema.js'
import { resolve } from 'node:path'
import { type AcpToolCall, type AcpToolCallOptions, type AcpToolCallV2, toAcpToolCall } from './tool-call.js'

/** A choice that is offered to the user. */
export interface AcpPermissionOption {
  optionId: string
  name: string
  kind: PromptDecision
}

/** A permission request of the Agent Client Protocol, version 1. */
export interface AcpPermissionRequest {
  sessionId: string
  toolCall: AcpToolCall
  options: AcpPermissionOption[]
}

/** The client's answer. */
export interface AcpPermissionResponse {
  outcome: { outcome: 'cancelled' } | { outcome: 'selected'; optionId: string }
}

/** The choices with their answers. The protocol's `always` is the scope of the session. */
const choices: readonly { optionId: string; name: string; answer: PromptAnswer }[] = [
  { optionId: 'allow_once', name: 'Allow once', answer: { decision: 'allow_once' } },
  { optionId: 'allow_always', name: 'Always allow in this session', answer: { decision: 'allow_always', scope: 'session' } },
  { optionId: 'allow_always_project', name: 'Always allow in this project', answer: { decision: 'allow_always', scope: 'project' } },
  { optionId: 'reject_once', name: 'Reject', answer: { decision: 'reject_once' } },
  { optionId: 'reject_always', name: 'Always reject in this session', answer: { decision: 'reject_always', scope: 'session' } },
]

/** The same request in the draft of version 2, which has a form for commands. */
export interface AcpPermissionRequestV2 {
  sessionId: string
  title: string
  description?: string
  subject:
    | { type: 'tool_call'; toolCall: AcpToolCallV2 }
    | { type: 'command'; command: string; cwd: string; toolCallId: string; terminalId?: string }
  options: AcpPermissionOption[]
}

/** Converts a prompt to a request to a client. @throws {ToolError} INVALID_INPUT for an invalid prompt. */
export function toAcpPermissionRequest(
  request: PromptRequest,
  sessionId: string,
  options: AcpToolCallOptions & { version: 2 },
): AcpPermissionRequestV2
export function toAcpPermissionRequest(
  request: PromptRequest,
  sessionId: string,
  options?: AcpToolCallOptions & { version?: 1 | undefined },
): AcpPermissionRequest
export function toAcpPermissionRequest(
  request: PromptRequest,
  sessionId: string,
  options?: AcpToolCallOptions,
): AcpPermissionRequest | AcpPermissionRequestV2
export function toAcpPermissionRequest(
  request: PromptRequest,
  sessionId: string,
  options: AcpToolCallOptions = {},
): AcpPermissionRequest | AcpPermissionRequestV2 {
  checked('toAcpPermissionRequest', () => text(sessionId, 'sessionId'))
  const { call_id: id, tool, args } = (request ?? {}) as PromptRequest
  const { version = 1, ...how } = { oldText: overwrittenText(request), ...options }
  const call = { id, tool, args, pending: true }
  const offered = choices.map(({ optionId, name, answer }) => ({ optionId, name, kind: answer.decision }))
  if (version === 1) return { sessionId, toolCall: toAcpToolCall(call, undefined, { ...how, version }), options: offered }
  const toolCall = toAcpToolCall(call, undefined, { ...how, version: 2 })
  const description = descriptionOf(request)
  return {
    sessionId,
    title: toolCall.title,
    ...(description === '' ? {} : { description }),
    subject: commandSubject(toolCall, how) ?? { type: 'tool_call', toolCall },
    options: offered,
  }
}

/** The targets of the call, and the reason for the question. */
function descriptionOf({ subjects = [], reason }: PromptRequest): string {
  const touched = subjects.map(({ capability, resource, why }) => `${capability} ${resource}${why === undefined ? '' : ` (${why})`}`)
  return [...(reason === undefined ? [] : [reason]), ...touched].join('\n')
}

function commandSubject({ toolCallId, name, rawInput }: AcpToolCallV2, { workspace = '.', terminalId }: AcpToolCallOptions) {
  const { command, workdir } = recordOf(rawInput)
  if (name !== 'bash' || typeof command !== 'string') return undefined
  const cwd = resolve(workspace, typeof workdir === 'string' ? workdir : '.')
  return { type: 'command' as const, command, cwd, toolCallId, ...(terminalId === undefined ? {} : { terminalId }) }
}

/** Converts the client's answer to an answer to the prompt. An invalid answer, or a cancelled turn, agrees to nothing. */
export function fromAcpPermission(response: AcpPermissionResponse): PromptAnswer {
  return { ...(chosenBy(response)?.answer ?? { decision: 'reject_once' }) }
}

/** The client is an external program, so its answer may have any shape. */
function chosenBy(response: unknown): (typeof choices)[number] | undefined {
  try {
    const { outcome, optionId: chosen } = (response as { outcome: Record<string, unknown> }).outcome
    return outcome === 'selected' ? choices.find(({ optionId }) => optionId === chosen) : undefined
  } catch {
    return undefined
  }
}
