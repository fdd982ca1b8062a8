import { toolTypeError } from '../../core/errors.js'
import { unlessAborted } from '../../core/abort.js'
import type { ThreadState } from './thread-state.js'
import { homeOf } from './running-call.js'

/** An event of a thread, as it goes to a frontend. */
export interface ThreadEvent {
  type: 'event'
  eventType: string
  data: unknown
  /** In milliseconds since 1970. */
  timestamp: number
}

/** How long a listener may take, in milliseconds. */
const LIMIT_MS = 30_000

/**
 * Tells the thread's listener (`createThread({ onEvent })`) of an event, and waits for it. A listener that
 * fails, or takes longer than 30 seconds, and a thread without one are told by a warning: an event changes
 * nothing about the tool that emits it.
 *
 * @throws {TypeError} for what is no state or no type.
 */
export async function emitThreadEvent(state: ThreadState, type: string, data?: unknown): Promise<void> {
  const { queue } = homeOf(state, 'emitThreadEvent')
  if (typeof type !== 'string' || type === '') throw toolTypeError('emitThreadEvent: the type must be a non-empty string')
  const { onEvent } = queue.parts
  if (onEvent === undefined) {
    console.warn(`[toolwright] emitThreadEvent: nobody listens to "${type}"; pass onEvent to createThread.`)
    return
  }
  const event: ThreadEvent = { type: 'event', eventType: type, data, timestamp: Date.now() }
  try {
    const told = (async () => onEvent(event))()
    await unlessAborted(told, AbortSignal.timeout(LIMIT_MS))
  } catch (error) {
    console.warn(`[toolwright] onEvent failed for "${type}":`, error)
  }
}
