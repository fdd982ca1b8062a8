/** Calls about forks, as rows of a journal. */
import { randomUUID } from 'node:crypto'
import type { RecordedRun } from '../journal/calls/call-record.js'
import { getToolContext } from '../journal/calls/context.js'
import { runCall } from '../journal/calls/run-call.js'

/** Makes a call about a fork, with a row in the journal. With a side effect, it changes the base or the fork. */
export async function recordedForkCall<T>(
  name: string,
  run: RecordedRun,
  args: object,
  signal: AbortSignal | undefined,
  act: (signal: AbortSignal | undefined) => Promise<T>,
  sideEffect = true,
): Promise<T> {
  const metadata = { name, sideEffect, idempotent: !sideEffect, acceptsIdempotencyKey: false, hasRevert: false }
  const result = await runCall({
    door: 'toolkit',
    metadata,
    run,
    args,
    builtIn: true,
    execute: (_, ctx) => act(ctx.signal),
    completeContext: (base) => base,
    callOptions: { toolCallId: getToolContext()?.toolUseId ?? `${name}-${randomUUID()}`, abortSignal: signal },
  })
  return result as T
}
