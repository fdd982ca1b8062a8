import { checked, invalid } from '../../core/options.js'
import type { ObservedCall } from '../call/call-observers.js'
import type { Session } from '../session/session.js'
import { CallUpdates } from './call-updates.js'
import { type MakeMessages, outboxOf } from './client.js'
import { type AcpSessionOptions, parseAcpOptions } from './options.js'

/** The updates of a session for a client. */
export interface AcpUpdates extends Disposable {
  /**
   * Waits until all updates so far have been sent, for example before the answer to `session/prompt`.
   *
   * @throws the connection's error. Then no further update is sent, and the session continues.
   */
  flush(): Promise<void>
  /** Ends the updates. Queued updates are still sent. */
  close(): void
}

/**
 * Sends every call of a session to a client: its beginning, the output of its command while it runs, its end with diffs, and
 * the todo list as a plan.
 *
 * Messages come one after the other, in the order of the events: for each call, the call, its output, the exit of its
 * command, and its end, which is last. A slow client gets output in larger parts, of at most 64 KB each, and misses the
 * oldest output. It never blocks a call.
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
  const terminals = new Map<string, string>()
  const queue = (make: MakeMessages | undefined): void => {
    if (make !== undefined) outbox.push(make)
  }
  const close = session.observe({
    onCall(call) {
      outbox.workspace = style.workspace ?? call.workspace
      const updates = new CallUpdates(call, outbox.newId(call.call_id), style, terminals)
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
