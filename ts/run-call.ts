import {
  getToolContext,
  getToolIdempotencyKey,
  nextToolSeq,
  runWithToolContext,
  type ToolCallRecord,
  type ToolContext,
} from './context.js'
import type { DefinedToolContext, ToolCallOptions } from './define-tool.js'
import { resolveSettings, type ToolOptions } from './settings.js'
import type { DefinedToolMetadata } from './tool-metadata.js'

/** One call of a defined tool. */
export interface Call<ARGS> {
  execute: (args: ARGS, ctx: DefinedToolContext) => unknown
  metadata: DefinedToolMetadata
  bound: ToolOptions
  args: ARGS
  /** What the record shows of the arguments. @default all of them */
  recordedInput?: ((args: ARGS) => unknown) | undefined
  callOptions: ToolCallOptions
}

/**
 * One call: record that it starts, run it, record how it ended, offer a snapshot.
 *
 * 1. A recorder that fails at the start stops the call: nothing has happened yet, and nothing that
 *    could not be recorded shall happen.
 * 2. A recorder that fails afterwards is reported and changes neither result nor error.
 */
export async function runCall<ARGS>(call: Call<ARGS>): Promise<unknown> {
  const started = await start(call, getToolContext())
  let output: unknown
  try {
    started.ctx.signal?.throwIfAborted()
    output = await lastOf(await call.execute(call.args, started.ctx))
  } catch (error) {
    await started.failed(error)
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

async function* stream<ARGS>(
  call: Call<ARGS>,
  ambient: ToolContext | undefined,
): AsyncGenerator<unknown, void, undefined> {
  const started = await start(call, ambient)
  let output: unknown
  let ended = false
  try {
    started.ctx.signal?.throwIfAborted()
    for await (output of call.execute(call.args, started.ctx) as AsyncIterable<unknown>) yield output
    ended = true
  } catch (error) {
    ended = true
    await started.failed(error)
    throw error
  } finally {
    if (!ended) await started.failed(new DOMException('The results were no longer wanted', 'AbortError'))
  }
  await started.succeeded(output)
}

interface StartedCall {
  ctx: DefinedToolContext
  succeeded(output: unknown): Promise<void>
  failed(error: unknown): Promise<void>
}

async function start<ARGS>(
  call: Call<ARGS>,
  ambient: ToolContext | undefined,
): Promise<StartedCall> {
  const { metadata } = call
  const ctx = completeContext(call, ambient)
  ctx.signal?.throwIfAborted()
  const { name, sideEffect, idempotent, acceptsIdempotencyKey, hasRevert } = metadata
  const record = ambient?.recordToolCall
  const entry = {
    seq: nextToolSeq(ambient),
    input: record === undefined ? undefined : (call.recordedInput?.(call.args) ?? call.args),
    kind: 'tool',
    sideEffect,
    idempotent,
    acceptsIdempotencyKey,
    hasRevert,
    toolName: name,
    idempotencyKey: acceptsIdempotencyKey ? ctx.idempotencyKey : null,
    ...(ctx.toolCallId === undefined ? {} : { toolCallId: ctx.toolCallId }),
  } as const
  await unlessAborted(ambient?.recordToolCall?.({ phase: 'started', effectStatus: 'intended', ...entry }), ctx.signal)
  return {
    ctx,
    failed: (error) => recordEnd(ambient, { phase: 'failed', effectStatus: 'unknown', ...entry, error }),
    succeeded: async (output) => {
      await recordEnd(ambient, { phase: 'finished', effectStatus: 'succeeded', ...entry, output })
      if (sideEffect) await offerSnapshot(ctx, name)
    },
  }
}

/** A recorder that does not answer must not hold a call that nobody waits for any more. */
async function unlessAborted(recorded: unknown, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return void (await recorded)
  let stop: (() => void) | undefined
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
  })
  try {
    await Promise.race([recorded, aborted])
  } finally {
    if (stop !== undefined) signal.removeEventListener('abort', stop)
  }
}

async function recordEnd(ambient: ToolContext | undefined, record: ToolCallRecord): Promise<void> {
  try {
    await ambient?.recordToolCall?.(record)
  } catch (error) {
    console.warn(`[toolwright] recording the end of ${record.toolName} (call ${record.seq}) failed:`, error)
  }
}

async function offerSnapshot(ctx: DefinedToolContext, name: string): Promise<void> {
  try {
    await ctx.durabilitySnapshot(name, ctx.toolCallId)
  } catch {
    // A snapshot is an offer to the host; the tool has succeeded with or without it.
  }
}

function completeContext<ARGS>(
  { metadata, bound, callOptions }: Call<ARGS>,
  ambient: ToolContext | undefined,
): DefinedToolContext {
  const settings = resolveSettings(ambient, bound)
  const given = Object.fromEntries(Object.entries(ambient ?? {}).filter(([, value]) => value !== undefined))
  const toolCallId = callOptions.toolCallId ?? ambient?.toolUseId
  const signal = eitherSignal(callOptions.abortSignal, ambient?.signal)
  return {
    db: {},
    runId: '',
    nodeId: '',
    iteration: 0,
    attempt: 0,
    seq: 0,
    durabilitySnapshot: async () => ({ skipped: true }),
    ...given,
    rootDir: settings.rootDir,
    allowNetwork: settings.allowNetwork,
    maxOutputBytes: settings.maxOutputBytes,
    timeoutMs: settings.timeoutMs,
    ...(signal === undefined ? {} : { signal }),
    ...(toolCallId === undefined ? {} : { toolCallId, toolUseId: toolCallId }),
    idempotencyKey: getToolIdempotencyKey(ambient),
    toolName: metadata.name,
    sideEffect: metadata.sideEffect,
    idempotent: metadata.idempotent,
  }
}

function eitherSignal(
  a: AbortSignal | null | undefined,
  b: AbortSignal | null | undefined,
): AbortSignal | undefined {
  if (!a || !b || a === b) return a ?? b ?? undefined
  return AbortSignal.any([a, b])
}
