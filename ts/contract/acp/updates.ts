import { checked, invalid } from '../../core/options.js'
import type { ObservedCall } from '../call/call-observers.js'
import type { Session } from '../session/session.js'
import { CallUpdates } from './call-updates.js'
import { type MakeMessages, outboxOf } from './client.js'
import { type AcpSessionOptions, parseAcpOptions } from './options.js'

/** The updates of a session that go to a client. */
export interface AcpUpdates extends Disposable {
  /**
   * Waits until the client has been sent all that has happened so far: before the answer to `session/prompt`, for one.
   *
   * @throws what the connection threw. Nothing more is sent then, and the session goes on.
   */
  flush(): Promise<void>
  /** Ends the updates. What was queued is still sent. */
  close(): void
}

/**
 * Tells a client of every call of a session: that it begins, what its command prints while it runs, its end with diffs, and the
 * todo list as a plan.
 *
 * The client gets one message after the other, in the order in which things happened. For each call that is: the call, then
 * its output, then the exit of its command, then its end; nothing comes after that. A client that reads slowly gets output in
 * larger parts, of at most 64 KB each, and misses the oldest of it; it holds up no call.
 *
 * @throws {ToolError} INVALID_INPUT
 * @example
 * ```ts
 * const updates = acpUpdates(session, { client, sessionId, clientCapabilities })
 * await agent.generate({ prompt, abortSignal: cancelled.signal })
 * await updates.flush()
 * ```
 */
export function acpUpdates(session: Pick<Session, 'observe'>, options: AcpSessionOptions): AcpUpdates {
  checked('acpUpdates', () => {
    if (typeof (session as Partial<Session> | null)?.observe !== 'function')
      throw invalid('session must be a session, as createSession gives it.')
  })
  const { client, sessionId, ...style } = parseAcpOptions('acpUpdates', options)
  const outbox = outboxOf(client, sessionId)
  const calls = new Map<ObservedCall, CallUpdates>()
  const queue = (make: MakeMessages | undefined): void => {
    if (make !== undefined) outbox.push(make)
  }
  const close = session.observe({
    onCall(call) {
      outbox.workspace = style.workspace ?? call.workspace
      const updates = new CallUpdates(call, outbox.newId(call.call_id), style)
      calls.set(call, updates)
      queue(updates.begin())
    },
    onOutput: (call, text) => queue(calls.get(call)?.output(text)),
    onResult(call, envelope) {
      queue(calls.get(call)?.end(envelope))
      calls.delete(call)
    },
  })
  return { flush: () => outbox.flush(), close, [Symbol.dispose]: close }
}
