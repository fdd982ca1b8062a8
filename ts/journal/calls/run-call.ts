import { eitherSignal } from '../../core/abort.js'
import { ArgumentProblem, structureCopy } from '../../core/argument-copy.js'
import { areCallsHeard, traceCall, traceStream } from '../../core/call-channel.js'
import { CallMessage } from '../../core/call-message.js'
import { ToolError, wasRefused } from '../../core/errors.js'
import { abortSignal, checked, invalid } from '../../core/options.js'
import type { Call, CallContext, ToolCallOptions } from './call-record.js'
import { getToolContext, getToolIdempotencyKey, runWithToolContext, type ToolContext } from './context.js'
import { changedFiles } from './patches-in-call.js'
import { watchKeys } from './read-keys.js'
import { startRecord } from './record-call.js'

/**
 * One call: record that it starts, run it, record how it ended, offer a snapshot.
 *
 * 1. A recorder that fails at the start stops the call: nothing has happened yet, and nothing may happen that could not
 *    be recorded.
 * 2. A recorder that fails afterwards is reported and changes neither result nor error.
 */
export function runCall<ARGS, CTX extends CallContext>(call: Call<ARGS, CTX>): Promise<unknown> {
  if (!areCallsHeard()) return make(call)
  const message = messageOf(call)
  return traceCall(message, () => make(call, message))
}

async function make<ARGS, CTX extends CallContext>(unchecked: Call<ARGS, CTX>, message?: CallMessage): Promise<unknown> {
  const ambient = getToolContext()
  const call = checkCall(unchecked, ambient)
  const started = await start(call, ambient, message)
  if (started.recorded !== undefined) return started.recorded.output
  let output: unknown
  let acted = false
  try {
    const restoring = started.ctx.seen?.ready()
    if (restoring !== undefined) await restoring
    started.ctx.signal?.throwIfAborted()
    acted = true
    const made: unknown = await call.execute(call.args, started.ctx)
    output = isIterable(made) ? await lastOf(made) : made
  } catch (error) {
    await started.failed(error, acted)
    throw error
  }
  await started.succeeded(output)
  return output
}

/**
 * A function that is no generator itself may return one, which is not known before the call. So nothing is streamed,
 * but the generator runs, and its last value is the result, as in the AI SDK.
 */
async function lastOf(output: AsyncIterable<unknown>): Promise<unknown> {
  let last: unknown
  for await (last of output);
  return last
}

/** Whether a call gave a generator. What cannot be looked into is none, and no failure of its call. */
export function isIterable(output: unknown): output is AsyncIterable<unknown> {
  try {
    return typeof output === 'object' && output !== null && Symbol.asyncIterator in output
  } catch {
    return false
  }
}

/**
 * The same for a tool that yields preliminary results. The last one is recorded as its output. A caller that breaks off
 * is recorded as a failure, since it is not known how far the tool had come.
 */
export function streamCall<ARGS, CTX extends CallContext>(call: Call<ARGS, CTX>): AsyncGenerator<unknown, void, undefined> {
  const ambient = getToolContext()
  const results = areCallsHeard() ? tracedStream(call, ambient) : stream(call, ambient)
  if (ambient === undefined) return results
  // A generator runs in the context of the caller that asks for its next value; this one keeps that of its call.
  const within = <T>(step: () => T): T => runWithToolContext(ambient, step)
  return {
    next: () => within(() => results.next()),
    return: (value) => within(() => results.return(value)),
    throw: (error) => within(() => results.throw(error)),
    [Symbol.asyncIterator]() {
      return this
    },
    [Symbol.asyncDispose]: () => within(async () => void (await results.return())),
  }
}

function tracedStream<ARGS, CTX extends CallContext>(call: Call<ARGS, CTX>, ambient: ToolContext | undefined) {
  const message = messageOf(call)
  return traceStream(message, () => stream(call, ambient, message))
}

/** What is published of a call that begins. The arguments may still be anything. */
function messageOf<ARGS, CTX extends CallContext>({ door, metadata, args, callOptions }: Call<ARGS, CTX>): CallMessage {
  const { name: tool, sideEffect, idempotent } = metadata
  const { toolCallId: id = getToolContext()?.toolUseId } = (callOptions ?? {}) as ToolCallOptions
  const toolCallId = typeof id === 'string' ? id : undefined
  return new CallMessage({ door, tool, toolCallId, sideEffect, idempotent, input: args })
}

async function* stream<ARGS, CTX extends CallContext>(
  unchecked: Call<ARGS, CTX>,
  ambient: ToolContext | undefined,
  message?: CallMessage,
): AsyncGenerator<unknown, void, undefined> {
  const call = checkCall(unchecked, ambient)
  const started = await start(call, ambient, message)
  if (started.recorded !== undefined) {
    yield started.recorded.output
    return
  }
  let output: unknown
  let acted = false
  let ended = false
  try {
    started.ctx.signal?.throwIfAborted()
    acted = true
    for await (output of call.execute(call.args, started.ctx) as AsyncIterable<unknown>) yield output
    ended = true
  } catch (error) {
    ended = true
    await started.failed(error, acted)
    throw error
  } finally {
    if (!ended) await started.failed(new DOMException('The results were no longer wanted', 'AbortError'), acted)
  }
  await started.succeeded(output)
}

/**
 * The call with a copy of its arguments. The AI SDK validates them before; a direct call may pass anything.
 *
 * @throws {ToolError} INVALID_INPUT
 */
function checkCall<ARGS, CTX extends CallContext>(call: Call<ARGS, CTX>, ambient: ToolContext | undefined): Call<ARGS, CTX> {
  const { metadata, builtIn, callOptions } = call
  return checked(`${metadata.name}.execute`, () => {
    if (builtIn && (typeof call.args !== 'object' || call.args === null)) {
      throw invalid(`${metadata.name}: the input must be an object.`)
    }
    if (typeof callOptions !== 'object') throw invalid('The options of a call must be an object.')
    const { toolCallId, abortSignal: signal } = callOptions
    if (toolCallId !== undefined && typeof toolCallId !== 'string') throw invalid('toolCallId must be a string.')
    abortSignal(signal ?? undefined, 'abortSignal')
    abortSignal(ambient?.signal ?? undefined, 'The signal of the context')
    return { ...call, args: copyArguments(metadata.name, call.args), callOptions: { toolCallId, abortSignal: signal } }
  })
}

/**
 * How large arguments may be. A schema can make anything of what a model has written, and a host can call a tool with
 * more than a model would write.
 */
const MAX_ARGUMENTS = { values: 100_000, characters: 200_000_000, depth: 100 }

/** The tool's own copy: the record shows what the tool gets, even if the caller changes its object meanwhile. */
function copyArguments<ARGS>(name: string, args: ARGS): ARGS {
  try {
    return structureCopy(args, MAX_ARGUMENTS).value as ARGS
  } catch (error) {
    if (!(error instanceof ArgumentProblem)) throw error
    const move = error.limit === undefined ? 'Correct it and call again.' : 'Call again with less at once.'
    const summary = `${name}: the input cannot be taken: ${error.message}`
    throw new ToolError({ code: 'INVALID_INPUT', summary, hint: move, cause: error })
  }
}

interface StartedCall<CTX> {
  ctx: CTX
  /** The output of an identical earlier call; this one is not made. */
  recorded?: { output: unknown } | undefined
  succeeded(output: unknown): Promise<void>
  /** `acted` is false for a call that was not made. */
  failed(error: unknown, acted: boolean): Promise<void>
}

async function start<ARGS, CTX extends CallContext>(
  call: Call<ARGS, CTX>,
  ambient: ToolContext | undefined,
  message?: CallMessage,
): Promise<StartedCall<CTX>> {
  const { metadata, callOptions } = call
  const toolCallId = callOptions.toolCallId ?? ambient?.toolUseId
  const signal = eitherSignal(callOptions.abortSignal, ambient?.signal)
  const base: CallContext = { seq: ambient?.seq ?? 0, idempotencyKey: getToolIdempotencyKey(ambient), callIdempotencyKey: null }
  if (signal !== undefined) base.signal = signal
  if (toolCallId !== undefined) base.toolCallId = toolCallId
  const ctx = call.completeContext(base, ambient)
  signal?.throwIfAborted()
  const record = await startRecord(call, ctx, ambient)
  ctx.callIdempotencyKey = record.key
  if (!call.builtIn && record.keyRead !== undefined) watchKeys(metadata, ctx, record.keyRead)
  if (message !== undefined) {
    message.runId = record.task?.runId ?? ambient?.runId
    message.nodeId = record.task?.nodeId ?? ambient?.nodeId
    message.seq = record.seq
    message.rootDir = ctx.rootDir
    message.callIdempotencyKey = record.key ?? undefined
    if (record.recorded !== undefined) message.acted = false
  }
  const recordPatches = async (): Promise<void> => {
    const { patches = [], rootDir } = ctx
    if (patches.length === 0) return
    if (message !== undefined) message.changedFiles = changedFiles(patches, rootDir)
    await record.patched?.(patches, { tool: metadata.name, seq: record.seq, rootDir })
  }
  // For a row: what a host records has no place for it.
  const seenNow = (): string | undefined => (record.task === undefined ? undefined : ctx.seen?.takeRecord())
  return {
    ctx,
    recorded: record.recorded,
    failed: async (error, acted) => {
      await recordPatches()
      if (message !== undefined) message.acted = acted && !(call.builtIn && wasRefused(error))
      await record.failed(error, { acted, ...ctx.partialOutput, seen: seenNow() })
    },
    succeeded: async (output) => {
      await recordPatches()
      await record.succeeded(output, seenNow())
      if (metadata.sideEffect) await offerSnapshot(ambient, metadata.name, toolCallId)
    },
  }
}

async function offerSnapshot(ambient: ToolContext | undefined, name: string, toolCallId: string | undefined): Promise<void> {
  try {
    await ambient?.durabilitySnapshot?.(name, toolCallId)
  } catch {
    // A snapshot is an offer to the host; the tool has succeeded with or without it.
  }
}
