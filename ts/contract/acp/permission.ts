import type { PromptAnswer, PromptDecision, PromptRequest } from '../permissions/prompt.js'
import { checked, text } from '../../core/options.js'
import { overwrittenText } from '../call/overwritten-text.js'
import { type AcpToolCall, type AcpToolCallOptions, toAcpToolCall } from './tool-call.js'

/** A choice that is offered to the user. */
export interface AcpPermissionOption {
  optionId: string
  name: string
  kind: PromptDecision
}

/** A request for the agreement of the user, as the Agent Client Protocol (version 1) has it. */
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

/** Converts a prompt to a request to a client. @throws {ToolError} INVALID_INPUT for an invalid prompt. */
export function toAcpPermissionRequest(request: PromptRequest, sessionId: string, options: AcpToolCallOptions = {}): AcpPermissionRequest {
  checked('toAcpPermissionRequest', () => text(sessionId, 'sessionId'))
  const { call_id: id, tool, args } = (request ?? {}) as PromptRequest
  return {
    sessionId,
    toolCall: toAcpToolCall({ id, tool, args, pending: true }, undefined, { oldText: overwrittenText(request), ...options }),
    options: choices.map(({ optionId, name, answer }) => ({ optionId, name, kind: answer.decision })),
  }
}

/** Converts the client's answer to an answer to the prompt. An invalid answer, or a cancelled turn, agrees to nothing. */
export function fromAcpPermission(response: AcpPermissionResponse): PromptAnswer {
  return { ...(chosenBy(response)?.answer ?? { decision: 'reject_once' }) }
}

/** The client is an external program, whose answer may be anything. */
function chosenBy(response: unknown): (typeof choices)[number] | undefined {
  try {
    const { outcome, optionId: chosen } = (response as { outcome: Record<string, unknown> }).outcome
    return outcome === 'selected' ? choices.find(({ optionId }) => optionId === chosen) : undefined
  } catch {
    return undefined
  }
}
