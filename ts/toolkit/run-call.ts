import { ArgumentProblem, structureCopy } from '../core/argument-copy.js'
import { completeContext, type DefinedToolContext } from './call-context.js'
import { getToolContext, runWithToolContext, type ToolContext } from './context.js'
import { ToolError } from '../core/errors.js'
import { startRecord } from './record-call.js'
import { checked, checkSignal, invalid } from '../core/options.js'
import type { BoundToolOptions } from './settings.js'
import type { DefinedToolMetadata } from './tool-metadata.js'

/** What the AI SDK hands to `execute` besides the input; all of it is optional in a direct call. */
export interface ToolCallOptions {
  toolCallId?: string | undefined
  abortSignal?: AbortSignal | undefined
}

/** One call of a defined tool. */
export interface Call<ARGS> {
  execute: (args: ARGS, ctx: DefinedToolContext) => unknown
  metadata: DefinedToolMetadata
  bound: BoundToolOptions
  args: ARGS
  /** Whether it is one of our own tools, whose errors say whether anything was done. */
  builtIn: boolean
  /** What the record shows of the arguments. @default all of them */
  recordedInput?: ((args: ARGS) => unknown) | undefined
  callOptions: ToolCallOptions
}

/** What calls that were aborted had given until then, by their context: for their records. */
export const partialOutputs = new WeakMap<ToolContext, unknown>()

/**
 * One call: record that it starts, run it, record how it ended, offer a snapshot.
 *
 * 1. A recorder that fails at the start stops the call: nothing has happened yet, and nothing that
 *    could not be recorded shall happen.
 * 2. A recorder that fails afterwards is reported and changes neither result nor error.
 */
export async function runCall<ARGS>(given: Call<ARGS>): Promise<unknown> {
  const ambient = getToolContext()
  const call = checkedCall(given, ambient)
  const started = await start(call, ambient)
  if (started.recorded !== undefined) return started.recorded.output
  let output: unknown
  let acted = false
  try {
    started.ctx.signal?.throwIfAborted()
    acted = true
    output = await lastOf(await call.execute(call.args, started.ctx))
  } catch (error) {
    await started.failed(error, acted)
    throw error
  }
  await started.succeeded(output)
  return output
}

/**
 * A function that is no generator itself may return one. Nobody can tell before it is called, so
 * nothing is streamed, but it runs, and its last value is the result, as it is in the AI SDK.
 */
async function lastOf(output: unknown): Promise<unknown> {
  if (typeof output !== 'object' || output === null || !(Symbol.asyncIterator in output)) return output
  let last: unknown
  for await (last of output as AsyncIterable<unknown>);
  return last
}

/**
 * The same for a tool that yields preliminary results. The last one is recorded as its output; a
 * caller that breaks off is recorded as a failure, since nobody knows how far the tool had come.
 */
export function streamCall<ARGS>(call: Call<ARGS>): AsyncGenerator<unknown, void, undefined> {
  const ambient = getToolContext()
  const results = stream(call, ambient)
  if (ambient === undefined) return results
  // A generator runs in the context of whoever asks for its next value; this one keeps that of its
  // call.
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

async function* stream<ARGS>(given: Call<ARGS>, ambient: ToolContext | undefined): AsyncGenerator<unknown, void, undefined> {
  const call = checkedCall(given, ambient)
  const started = await start(call, ambient)
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
 * The call with what it was given looked at once. The AI SDK validates the arguments before; a direct call may be
 * given anything.
 *
 * @throws {ToolError} INVALID_INPUT
 */
function checkedCall<ARGS>(call: Call<ARGS>, ambient: ToolContext | undefined): Call<ARGS> {
  const { metadata, builtIn, callOptions } = call
  return checked(`${metadata.name}.execute`, () => {
    if (builtIn && (typeof call.args !== 'object' || call.args === null)) {
      throw invalid(`${metadata.name}: the input must be an object.`)
    }
    if (typeof callOptions !== 'object') throw invalid('The options of a call must be an object.')
    const { toolCallId, abortSignal } = callOptions
    if (toolCallId !== undefined && typeof toolCallId !== 'string') throw invalid('toolCallId must be a string.')
    checkSignal(abortSignal ?? undefined, 'abortSignal')
    checkSignal(ambient?.signal ?? undefined, 'The signal of the context')
    return { ...call, args: takenArguments(metadata.name, call.args), callOptions: { toolCallId, abortSignal } }
  })
}

/**
 * As large as arguments may be. A schema can make anything of what a model has written, and a host can call a tool with
 * more than a model would write.
 */
const limits = { values: 100_000, characters: 200_000_000, depth: 100 }

/** The tool's own copy: what is recorded is what it is called with, whatever the caller does with its object. */
function takenArguments<ARGS>(name: string, args: ARGS): ARGS {
  try {
    return structureCopy(args, limits).value as ARGS
  } catch (error) {
    if (!(error instanceof ArgumentProblem)) throw error
    const move = error.limit === undefined ? 'Correct it and call again.' : 'Call again with less at once.'
    const summary = `${name}: the input cannot be taken: ${error.message}`
    throw new ToolError({ code: 'INVALID_INPUT', summary, hint: move, cause: error })
  }
}

interface StartedCall {
  ctx: DefinedToolContext
  /** What an identical call gave before: this one is not made. */
  recorded?: { output: unknown } | undefined
  succeeded(output: unknown): Promise<void>
  /** `acted` is false for a call that was not made. */
  failed(error: unknown, acted: boolean): Promise<void>
}

async function start<ARGS>(call: Call<ARGS>, ambient: ToolContext | undefined): Promise<StartedCall> {
  const { metadata } = call
  const ctx = completeContext(call, ambient)
  ctx.signal?.throwIfAborted()
  const record = await startRecord(call, ctx, ambient)
  ctx.callIdempotencyKey = record.key
  return {
    ctx,
    recorded: record.recorded,
    failed: async (error, acted) => {
      const partial = partialOutputs.has(ctx) ? { output: partialOutputs.get(ctx) } : {}
      await record.failed(error, { acted, ...partial })
    },
    succeeded: async (output) => {
      await record.succeeded(output)
      if (metadata.sideEffect) await offerSnapshot(ctx, metadata.name)
    },
  }
}

async function offerSnapshot(ctx: DefinedToolContext, name: string): Promise<void> {
  try {
    await ctx.durabilitySnapshot(name, ctx.toolCallId)
  } catch {
    // A snapshot is an offer to the host; the tool has succeeded with or without it.
  }
}
