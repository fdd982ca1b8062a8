import { ToolError } from '../../core/errors.js'
import type { CallEnd, NewMessage } from '../store/thread-store.js'
import { messageContent, storedRefs, type ToolResult } from '../tools/tool-result.js'
import { type PendingCall, toStoredCall } from './pending-call.js'
import type { ThreadParts } from './thread-parts.js'

/** How a call ended, and what is stored in the same commit. */
export interface Ending {
  status: CallEnd['status']
  result: ToolResult
  /** Calls that are queued with it. */
  enqueue?: PendingCall[]
  /** Paths of its staged attachments. */
  attachments?: string[]
}

/** Stores the end of a call with everything that belongs to it, all or nothing. */
export async function storeEnding(
  { store, thread }: ThreadParts,
  call: PendingCall,
  { status, result, enqueue = [], attachments = [] }: Ending,
): Promise<void> {
  await store.commit(thread.threadId, {
    finish: { callId: call.id, status, resultJson: JSON.stringify(result) },
    attachments,
    messages: status === 'cancelled' ? [] : [resultMessage(call, result, call.id)],
    enqueue: enqueue.map(toStoredCall),
  })
}

/** The fields of a call that its message has. */
type MessageCall = Pick<PendingCall, 'name' | 'toolCallId'> & Partial<Pick<PendingCall, 'argumentsJson'>>

/**
 * Stores that a call has failed. If the store refuses the arguments, the message has none: a call that
 * cannot be ended would block every other call of its thread.
 */
export async function storeFailure(
  { store, thread }: ThreadParts,
  { id, name, toolCallId, argumentsJson }: Pick<PendingCall, 'id' | 'name' | 'toolCallId' | 'argumentsJson'>,
  result: ToolResult,
): Promise<void> {
  const end = async (call: MessageCall): Promise<void> => {
    await store.commit(thread.threadId, {
      finish: { callId: id, status: 'error', resultJson: JSON.stringify(result) },
      messages: [resultMessage(call, result, id)],
    })
  }
  try {
    await end({ name, toolCallId, argumentsJson })
  } catch (error) {
    if (!isAboutContents(error)) throw error
    await end({ name, toolCallId })
  }
}

/** The message that a result becomes in the thread. */
export function resultMessage(call: MessageCall, result: ToolResult, callId?: string): NewMessage {
  const attachments = storedRefs(result)
  const body = JSON.stringify({
    content: messageContent(result),
    toolCallId: call.toolCallId,
    toolName: call.name,
    status: result.status,
    ...(attachments.length === 0 ? {} : { attachments }),
  })
  if (call.argumentsJson === undefined) return { role: 'tool', bodyJson: body, callId }
  // The original text: JSON.parse reads nesting that JSON.stringify cannot write.
  const args = parseArguments(call.argumentsJson)
  const argsJson = typeof args === 'string' ? JSON.stringify(args) : call.argumentsJson.trim() || '{}'
  return { role: 'tool', bodyJson: `${body.slice(0, -1)},"args":${argsJson}}`, callId }
}

/** Whether the store refuses what it was given, as opposed to being unable to store. */
export function isAboutContents(error: unknown): boolean {
  return ToolError.isInstance(error) && /_TOO_LARGE$|_DUPLICATE_ID$|_NOT_FOUND$|_REFUSED$|^INVALID_INPUT$/u.test(error.code)
}

/** Arguments as a value, or as their text when it is not JSON. */
export function parseArguments(json: string): unknown {
  try {
    return JSON.parse(json.trim() === '' ? '{}' : json)
  } catch {
    return json
  }
}
