import { toolTypeError } from '../../core/errors.js'
import { unlessAborted } from '../../core/abort.js'
import type { ThreadEvent, ThreadState } from './thread-state.js'
import { ownerOf } from './running-call.js'

/** How long a listener may take, in milliseconds. */
const LIMIT_MS = 30_000

/**
 * Emits an event to the thread's listener (`createThread({ onEvent })`), and waits for it. A thread without a
 * listener, a listener that fails, and one that takes longer than 30 seconds are warnings: an event never
 * changes the result of the tool that emits it.
 *
 * @throws {TypeError} when `state` is not the state of a thread, or `type` is not a non-empty string.
 */
export async function emitThreadEvent(state: ThreadState, type: string, data?: unknown): Promise<void> {
  const { scheduler } = ownerOf(state, 'emitThreadEvent')
  if (typeof type !== 'string' || type === '') throw toolTypeError('emitThreadEvent: the type must be a non-empty string')
  const { onEvent } = scheduler.parts
  if (onEvent === undefined) {
    console.warn(`[toolwright] emitThreadEvent: nobody listens to "${type}"; pass onEvent to createThread.`)
    return
  }
  const event: ThreadEvent = { type: 'event', eventType: type, data, timestamp: Date.now() }
  try {
    await unlessAborted((async () => onEvent(event))(), AbortSignal.timeout(LIMIT_MS))
  } catch (error) {
    console.warn(`[toolwright] onEvent failed for "${type}":`, error)
  }
}
