import type { NewMessage, StoredMessage } from '../store/thread-store.js'
import type { ThreadMessage } from './thread-state.js'
import type { ListOptions, ThreadMessages } from './thread.js'
import { givenOptions, invalid } from '../../core/options.js'
import type { ThreadParts } from './thread-parts.js'

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

/** Appends one message. */
export async function appendMessage({ store, thread }: ThreadParts, message: NewMessage): Promise<ThreadMessage> {
  const { messages } = await store.commit(thread.threadId, { messages: [message] })
  return toThreadMessage(messages[0] as StoredMessage)
}

/** The messages of a thread, for its host. */
export function threadMessages(parts: ThreadParts): ThreadMessages {
  const { store, thread } = parts
  return {
    async list(options: ListOptions = {}) {
      const part = givenOptions('messages.list', options, ['after', 'limit', 'reverse'])
      return (await store.listMessages(thread.threadId, part)).map(toThreadMessage)
    },
    async append(message) {
      const { role, content } = givenOptions('messages.append', message, ['role', 'content'])
      if (!['system', 'user', 'assistant', 'tool'].includes(role)) {
        throw invalid('The role of a message is system, user, assistant or tool.')
      }
      if (typeof content !== 'string') throw invalid('The content of a message is a string.')
      return appendMessage(parts, { role, bodyJson: JSON.stringify({ content }) })
    },
  }
}
