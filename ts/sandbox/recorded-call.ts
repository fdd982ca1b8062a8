import type { ToolCallOptions } from '../journal/calls/call-record.js'
import { runCall } from '../journal/calls/run-call.js'
import type { BuiltInContext } from '../toolkit/define-tool.js'
import type { Space } from './space.js'

/** One call of a session. */
export interface SessionCall<T> {
  /** The method. */
  name: string
  sideEffect: boolean
  /** The arguments for the record, without variables and contents. */
  input: Readonly<Record<string, unknown>>
  signal: AbortSignal | undefined
  /** Does the work. The record has `output`, and the caller gets `value`. */
  work: (signal: AbortSignal) => Promise<{ value: T; output: unknown }>
  /** Makes the value of a call from its recorded output. Without it, a replay does the work again. */
  replayed?: ((output: unknown) => T) | undefined
}

/**
 * Makes a call. It is recorded if the session has a journal, or if the call is made in a task.
 *
 * @throws the signal's reason after an abort.
 */
export async function makeCall<T>(space: Space, { name, sideEffect, input, signal, work, replayed }: SessionCall<T>): Promise<T> {
  space.checkOpen()
  signal?.throwIfAborted()
  const { settings, options } = space
  let done: { value: T } | undefined
  const callOptions: ToolCallOptions = { abortSignal: space.signal(signal) }
  const leave = space.enter()
  try {
    const recorded = await runCall<Readonly<Record<string, unknown>>, BuiltInContext>({
      door: 'toolkit',
      execute: async (_, ctx) => {
        const { value, output } = await work(ctx.signal ?? space.signal(signal))
        done = { value }
        return output
      },
      metadata: { name, sideEffect, idempotent: !sideEffect, acceptsIdempotencyKey: sideEffect, hasRevert: false },
      run: options.bound,
      args: input,
      builtIn: true,
      completeContext: (base) => ({ ...base, settings, rootDir: settings.rootDir }),
      callOptions,
    })
    if (done !== undefined) return done.value
    if (replayed !== undefined) return replayed(recorded)
    return (await work(space.signal(signal))).value
  } finally {
    leave()
  }
}
