/** The approvals of the AI SDK, for both doors. */

import { ToolError } from './errors.js'
import { callable, checked, invalid } from './options.js'
import { isAsked } from './message-approvals.js'

/** The function that AI SDK 7 asks about a call: `toolApproval` of an agent, `generateText` or `streamText`. */
export type ToolApproval = (options: {
  toolCall: { toolName: string; toolCallId: string; input: unknown }
  messages?: unknown
}) => Promise<ToolApprovalAnswer>

/** The status of a call; `undefined` if it needs no approval. */
export type ToolApprovalAnswer = { type: 'user-approval' | 'denied'; reason?: string } | undefined

/**
 * The same tools for AI SDK 6 and Mastra, which have no `toolApproval`: each tool asks `approval` whether a call needs one. They
 * cannot deny a call, so a call that `approval` denies fails with CAPABILITY_DENIED, without asking the user.
 *
 * @example
 * ```ts
 * generateText({ model, tools: needsApproval(session.tools, session.toolApproval), messages })
 * ```
 */
export function needsApproval<TOOLS extends Record<string, object>>(tools: TOOLS, approval: ToolApproval): TOOLS {
  checked('needsApproval', () => {
    checkToolSet(tools)
    callable()(approval, 'approval')
  })
  const withApproval = Object.entries(tools).map(([toolName, tool]) => {
    const denied = new Map<string, string>()
    // Some frameworks, such as Mastra, ask without the id of the call.
    let asksWithoutId = false
    const ask = async (input: unknown, { toolCallId, messages }: { toolCallId?: string; messages?: unknown } = {}): Promise<boolean> => {
      if (toolCallId === undefined) {
        asksWithoutId = true
        const answer = await approval({ toolCall: { toolName, toolCallId: NO_ID, input }, messages })
        return answer !== undefined && answer.type !== 'denied'
      }
      const answer = await approval({ toolCall: { toolName, toolCallId, input }, messages })
      denied.delete(toolCallId)
      // The AI SDK asks again after an answer, and would not make a call that no longer needs one.
      if (answer?.type !== 'denied') return answer !== undefined || isAsked(messages, toolCallId)
      denied.set(toolCallId, reasonOf(answer))
      return isAsked(messages, toolCallId)
    }
    const { execute } = tool as { execute?: (input: unknown, options?: { toolCallId?: string }) => unknown }
    const reasonOf = ({ reason = `The host does not allow ${toolName} here.` }: { reason?: string }): string => reason
    const refuse = (summary: string): never => {
      throw new ToolError({ code: 'CAPABILITY_DENIED', summary, details: { toolName } })
    }
    const executeUnlessDenied = (input: unknown, options?: { toolCallId?: string }): unknown => {
      const callId = options?.toolCallId ?? ''
      const reason = denied.get(callId)
      denied.delete(callId)
      if (reason !== undefined) refuse(reason)
      return asksWithoutId ? executeAsked(input, options) : execute?.call(tool, input, options)
    }
    // Which call was denied cannot be told by an id, so that it is decided again.
    const executeAsked = async (input: unknown, options?: { toolCallId?: string }): Promise<unknown> => {
      const answer = await approval({ toolCall: { toolName, toolCallId: options?.toolCallId ?? NO_ID, input } })
      if (answer?.type === 'denied') refuse(reasonOf(answer))
      return execute?.call(tool, input, options)
    }
    // Copies the tool's own properties, including metadata under symbols.
    const own = Object.defineProperties({}, Object.getOwnPropertyDescriptors(tool))
    if (typeof execute === 'function') Object.defineProperty(own, 'execute', { value: executeUnlessDenied, enumerable: true })
    return [toolName, Object.defineProperty(own, 'needsApproval', { value: ask, enumerable: true })]
  })
  return Object.fromEntries(withApproval) as TOOLS
}

/** The id of a call whose caller gives none. */
const NO_ID = 'call'

/** @throws {ToolError} INVALID_INPUT */
export function checkToolSet(tools: unknown): void {
  const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)
  if (!isObject(tools) || !Object.values(tools as object).every((tool) => isObject(tool) || typeof tool === 'function')) {
    throw invalid('tools must be an object of tools, by their names.')
  }
}

/**
 * The call that the AI SDK asks about.
 *
 * @throws {ToolError} INVALID_INPUT
 */
export function askedCall(caller: string, options: unknown): { toolName: string; callId: string; input: unknown; messages: unknown } {
  return checked(caller, () => {
    const { toolCall, messages } = (options ?? {}) as Partial<Parameters<ToolApproval>[0]>
    const { toolName, toolCallId: callId, input } = toolCall ?? {}
    if (typeof toolName === 'string' && typeof callId === 'string') return { toolName, callId, input, messages }
    throw invalid('A call must be an object with toolCall, as the AI SDK gives it.')
  })
}
