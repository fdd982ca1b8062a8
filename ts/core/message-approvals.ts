/** Reads approvals in the messages of AI SDK 6 and 7. A client sends the messages, so they can have any shape. */

/** A call that the user did not approve. */
export interface DeniedCall {
  callId: string
  tool: string
  args: unknown
  reason: string | undefined
}

type Part = Record<string, unknown>

/**
 * Whether these messages have a question about a call without a result, or with an answer in the last message. Ids may
 * repeat: some models start with the same id in each step.
 */
export function isAsked(messages: unknown, callId: string): boolean {
  const parts = partsOf(messages)
  const isOpen = lastIndex(parts, 'tool-approval-request', callId) > lastIndex(parts, 'tool-result', callId)
  if (isOpen) return true
  const ids = new Set(parts.filter((part) => isAbout(part, 'tool-approval-request', callId)).map(({ approvalId }) => approvalId))
  return partsOf(Array.isArray(messages) ? messages.slice(-1) : []).some(
    ({ type, approvalId }) => type === 'tool-approval-response' && ids.has(approvalId),
  )
}

/** Whether the user approved the last question about a call in these messages. */
export function isApproved(messages: unknown, callId: string): boolean {
  const parts = partsOf(messages)
  const question = parts[lastIndex(parts, 'tool-approval-request', callId)]
  if (question === undefined) return false
  const answers = parts.filter((part) => part['type'] === 'tool-approval-response' && part['approvalId'] === question['approvalId'])
  return answers.length > 0 && answers.every(({ approved }) => approved === true)
}

/** The calls that were not made because the user denied the last question about them. */
export function deniedCalls(messages: unknown): DeniedCall[] {
  const parts = partsOf(messages)
  const inputs = new Map<unknown, unknown>()
  const denied = new Map<string, DeniedCall>()
  for (const { type, toolCallId: callId, toolName: tool, input, output } of parts) {
    if (typeof callId !== 'string') continue
    if (type === 'tool-call') inputs.set(callId, input)
    // A later question is about another call with this id.
    if (type === 'tool-approval-request') denied.delete(callId)
    const { type: outcome, reason } = recordOf(output)
    if (type !== 'tool-result' || outcome !== 'execution-denied' || typeof tool !== 'string') continue
    denied.set(callId, { callId, tool, args: inputs.get(callId), reason: typeof reason === 'string' ? reason : undefined })
  }
  return [...denied.values()]
}

const isAbout = (part: Part, type: string, callId: string): boolean => part['type'] === type && part['toolCallId'] === callId

const lastIndex = (parts: Part[], type: string, callId: string): number => parts.findLastIndex((part) => isAbout(part, type, callId))

function partsOf(messages: unknown): Part[] {
  if (!Array.isArray(messages)) return []
  return messages.flatMap((message) => {
    const { content } = recordOf(message)
    return Array.isArray(content) ? content.map(recordOf) : []
  })
}

const recordOf = (value: unknown): Part => (typeof value === 'object' && value !== null ? (value as Part) : {})
