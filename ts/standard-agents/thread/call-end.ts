import { ToolError } from '../../core/errors.js'
import type { CallEnd } from '../store/thread-store.js'
import type { ToolResult } from '../tools/tool-result.js'
import { type PendingCall, toStoredCall } from './pending-call.js'
import { type MessageCall, resultMessage } from './stored-messages.js'
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

/** The fields of a call that its end needs. */
type EndedCall = MessageCall & Pick<PendingCall, 'id'>

/** Stores the end of a call with everything that belongs to it, all or nothing. */
export async function storeEnding(
  { store, thread }: ThreadParts,
  call: EndedCall,
  { status, result, enqueue = [], attachments = [] }: Ending,
): Promise<void> {
  await store.commit(thread.threadId, {
    finish: { callId: call.id, status, resultJson: JSON.stringify(result) },
    attachments,
    messages: status === 'cancelled' ? [] : [resultMessage(call, result, call.id)],
    enqueue: enqueue.map(toStoredCall),
  })
}

/**
 * Stores that a call has failed. If the store refuses the arguments, the message has none: a call that
 * cannot be ended would block every other call of its thread.
 */
export async function storeFailure(parts: ThreadParts, call: EndedCall, result: ToolResult): Promise<void> {
  try {
    await storeEnding(parts, call, { status: 'error', result })
  } catch (error) {
    if (!isAboutContents(error)) throw error
    await storeEnding(parts, { ...call, argumentsJson: undefined }, { status: 'error', result })
  }
}

/** Whether the store refuses what it was given, as opposed to being unable to store. */
export function isAboutContents(error: unknown): boolean {
  return ToolError.isInstance(error) && /_TOO_LARGE$|_DUPLICATE_ID$|_NOT_FOUND$|_REFUSED$|^INVALID_INPUT$/u.test(error.code)
}
