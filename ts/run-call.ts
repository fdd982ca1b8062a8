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
    output = await call.execute(call.args, started.ctx)
  } catch (error) {
    await started.failed(error)
    throw error
  }
  await started.succeeded(output)
  return output
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
  const entry = {
    seq: nextToolSeq(ambient),
    input: call.args,
    kind: 'tool',
    sideEffect,
    idempotent,
    acceptsIdempotencyKey,
    hasRevert,
    toolName: name,
    idempotencyKey: acceptsIdempotencyKey ? ctx.idempotencyKey : null,
    ...(ctx.toolCallId === undefined ? {} : { toolCallId: ctx.toolCallId }),
  } as const
  await ambient?.recordToolCall?.({ phase: 'started', effectStatus: 'intended', ...entry })
  return {
    ctx,
    failed: (error) => recordEnd(ambient, { phase: 'failed', effectStatus: 'unknown', ...entry, error }),
    succeeded: async (output) => {
      await recordEnd(ambient, { phase: 'finished', effectStatus: 'succeeded', ...entry, output })
      if (sideEffect) await offerSnapshot(ctx, name)
    },
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

function eitherSignal(a: AbortSignal | undefined, b: AbortSignal | undefined): AbortSignal | undefined {
  if (a === undefined || b === undefined || a === b) return a ?? b
  return AbortSignal.any([a, b])
}
