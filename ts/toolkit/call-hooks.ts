/** Hooks of a set of tools around one call. */
import type { Awaitable } from '../core/abort.js'
import { askAfter, askBefore, type AfterDecision, type BeforeDecision } from '../core/call-hooks.js'
import { ToolError } from '../core/errors.js'
import type { Call, CallContext } from '../journal/calls/call-record.js'
import { runCall, streamCall } from '../journal/calls/run-call.js'

/** The hooks of a set. `createTools` has their types by the tool. */
export interface CallHooks {
  before: ((call: never) => Awaitable<BeforeDecision>) | undefined
  after: ((call: never) => Awaitable<AfterDecision>) | undefined
}

/** Makes a call between its hooks: streamed, if its tool is a generator. */
export function startHooked<ARGS, CTX extends CallContext>(hooks: CallHooks, call: Call<ARGS, CTX>, isStream: boolean): unknown {
  return isStream ? streamHooked(hooks, call) : withHooks(hooks, call).then(runCall)
}

async function* streamHooked<ARGS, CTX extends CallContext>(hooks: CallHooks, call: Call<ARGS, CTX>): AsyncGenerator<unknown, void> {
  yield* streamCall(await withHooks(hooks, call))
}

/** The call as hooks leave it. It is recorded with the arguments that it is made with, and says that they were changed. */
async function withHooks<ARGS, CTX extends CallContext>({ before, after }: CallHooks, call: Call<ARGS, CTX>): Promise<Call<ARGS, CTX>> {
  const { metadata, callOptions, recordedInput = (args: ARGS) => args } = call
  const about = { tool: metadata.name, toolCallId: callOptions.toolCallId, signal: callOptions.abortSignal }
  const { args, isChanged, refusal } = await askBefore(before as never, { ...about, args: call.args as unknown })
  const execute =
    refusal === undefined
      ? withAfter(call.execute, after, { ...about, args })
      : withRefusal(call.execute, () => refused(metadata.name, refusal))
  return {
    ...call,
    args: args as ARGS,
    execute,
    ...(isChanged && { recordedInput: async (made: ARGS) => ({ ...((await recordedInput(made)) as object), changedByHost: true }) }),
  }
}

function refused(tool: string, reason: string): ToolError {
  const summary = 'The host refuses this call'
  const hint = 'Do without it, or do it in another way.'
  return new ToolError({ code: 'TOOL_REFUSED_BY_HOOK', summary, place: `${summary}: ${reason}`, hint, details: { tool, reason } })
}

type Execute<ARGS, CTX> = (args: ARGS, ctx: CTX) => unknown

function withRefusal<ARGS, CTX>(execute: Execute<ARGS, CTX>, error: () => ToolError): Execute<ARGS, CTX> {
  if (!isGenerator(execute)) return () => Promise.reject(error())
  // oxlint-disable-next-line require-yield -- a generator stays one
  return async function* () {
    throw error()
  }
}

function withAfter<ARGS, CTX>(execute: Execute<ARGS, CTX>, after: CallHooks['after'], call: object): Execute<ARGS, CTX> {
  if (after === undefined) return execute
  const ask = (end: object) => askAfter(after as (call: object) => Awaitable<AfterDecision>, { ...call, ...end })
  const failed = async (error: unknown): Promise<never> => {
    await ask({ error })
    throw error
  }
  if (!isGenerator(execute)) {
    return async (args, ctx) => {
      const result: unknown = await Promise.resolve(execute(args, ctx)).catch(failed)
      const replaced = await ask({ result })
      return replaced === undefined ? result : replaced.result
    }
  }
  return async function* (args, ctx) {
    let result: unknown
    try {
      for await (result of execute(args, ctx) as AsyncGenerator<unknown>) yield result
    } catch (error) {
      await failed(error)
    }
    const replaced = await ask({ result })
    if (replaced !== undefined) yield replaced.result
  }
}

const isGenerator = (execute: unknown): boolean => Object.prototype.toString.call(execute) === '[object AsyncGeneratorFunction]'
