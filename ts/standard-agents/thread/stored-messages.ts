import { oneOf, parseOptions, string } from '../../core/options.js'
import { listChecks } from '../store/store-checks.js'
import type { NewMessage, StoredMessage } from '../store/thread-store.js'
import { parseArguments } from '../tools/execute-tool.js'
import { messageContent, storedRefs, type ToolResult } from '../tools/tool-result.js'
import type { ThreadMessage } from './thread-state.js'
import type { ThreadMessages } from './thread.js'
import type { PendingCall } from './pending-call.js'
import type { ThreadParts } from './thread-parts.js'

/** The fields of a call that its message has. */
export type MessageCall = Pick<PendingCall, 'name' | 'toolCallId'> & { argumentsJson?: string | undefined }

/** The message that a result becomes in the thread. */
export function resultMessage({ name, toolCallId, argumentsJson }: MessageCall, result: ToolResult, callId?: string): NewMessage {
  const attachments = storedRefs(result)
  const body = JSON.stringify({
    content: messageContent(result),
    toolCallId,
    toolName: name,
    status: result.status,
    ...(attachments.length === 0 ? {} : { attachments }),
  })
  if (argumentsJson === undefined) return { role: 'tool', bodyJson: body, callId }
  // The original text: JSON.parse reads nesting that JSON.stringify cannot write.
  const args = isJson(argumentsJson) ? argumentsJson.trim() || '{}' : JSON.stringify(argumentsJson)
  return { role: 'tool', bodyJson: `${body.slice(0, -1)},"args":${args}}`, callId }
}

function isJson(text: string): boolean {
  try {
    parseArguments(text)
    return true
  } catch {
    return false
  }
}

/** Converts a stored message for the host. */
export function toThreadMessage({ id, seq, role, bodyJson, callId, createdAtMs }: StoredMessage): ThreadMessage {
  let body: Partial<ThreadMessage>
  try {
    body = JSON.parse(bodyJson) as Partial<ThreadMessage>
  } catch {
    // Another store may have a format of its own.
    body = { content: bodyJson }
  }
  return {
    ...body,
    id,
    seq,
    role: role as ThreadMessage['role'],
    content: body.content ?? '',
    createdAtMs,
    ...(callId === null ? {} : { callId }),
  }
}

const messageChecks = { role: oneOf('system', 'user', 'assistant', 'tool'), content: string }

/** The messages of a thread, for its host. */
export function threadMessages({ store, thread: { threadId } }: ThreadParts): ThreadMessages {
  return {
    async list(options = {}) {
      return (await store.listMessages(threadId, parseOptions('messages.list', options, listChecks))).map(toThreadMessage)
    },
    async append(message) {
      const { role, content } = parseOptions('messages.append', message, messageChecks)
      const { messages } = await store.commit(threadId, { messages: [{ role, bodyJson: JSON.stringify({ content }) }] })
      return toThreadMessage(messages[0] as StoredMessage)
    },
  }
}
