import {
  getToolContext,
  getToolIdempotencyKey,
  nextToolSeq,
  runWithToolContext,
  type ToolCallRecord,
  type ToolContext,
} from './context.js'
import { resolveSettings, type ToolOptions } from './settings.js'
import type { DefinedToolMetadata } from './tool-metadata.js'

/** The second argument of `execute`: the task's context, completed with defaults. */
export interface DefinedToolContext extends ToolContext {
  runId: string
  nodeId: string
  iteration: number
  attempt: number
  rootDir: string
  allowNetwork: boolean
  maxOutputBytes: number
  timeoutMs: number
  /** Number of calls made before this one. */
  seq: number
  /** Stable across retries and resumes of the same task iteration; `null` outside of a task. */
  idempotencyKey: string | null
  /** The name the tool was defined with. */
  toolName: string
  sideEffect: boolean
  idempotent: boolean
  /** The AI SDK's id of this call, where an agent made it. */
  toolCallId?: string | undefined
  durabilitySnapshot: NonNullable<ToolContext['durabilitySnapshot']>
}

/** What the AI SDK hands to `execute` besides the input; all of it is optional in a direct call. */
export interface ToolCallOptions {
  toolCallId?: string | undefined
  abortSignal?: AbortSignal | undefined
}

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

/** What calls that were aborted had given until then, by their context: for their records. */
export const partialOutputs = new WeakMap<ToolContext, unknown>()

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

async function start<ARGS>(call: Call<ARGS>, ambient: ToolContext | undefined): Promise<StartedCall> {
  const { metadata } = call
  const ctx = completeContext(call, ambient)
  ctx.signal?.throwIfAborted()
  const seq = nextToolSeq(ambient)
  const record = await recordStart(call, ctx, seq, ambient)
  return {
    ctx,
    failed: async (error) => {
      const partial = partialOutputs.has(ctx) ? { output: partialOutputs.get(ctx) } : {}
      await record?.({ phase: 'failed', effectStatus: 'unknown', error, ...partial })
    },
    succeeded: async (output) => {
      await record?.({ phase: 'finished', effectStatus: 'succeeded', output })
      if (metadata.sideEffect) await offerSnapshot(ctx, metadata.name)
    },
  }
}

type Ending = Pick<ToolCallRecord, 'phase' | 'effectStatus' | 'output' | 'error'>

/** Records the start where somebody keeps records, and gives what records the end. */
async function recordStart<ARGS>(
  call: Call<ARGS>,
  ctx: DefinedToolContext,
  seq: number,
  ambient: ToolContext | undefined,
): Promise<((ending: Ending) => Promise<void>) | undefined> {
  if (ambient?.recordToolCall === undefined) return undefined
  const { name, sideEffect, idempotent, acceptsIdempotencyKey, hasRevert } = call.metadata
  const entry = {
    seq,
    input: call.recordedInput?.(call.args) ?? call.args,
    kind: 'tool',
    sideEffect,
    idempotent,
    acceptsIdempotencyKey,
    hasRevert,
    toolName: name,
    idempotencyKey: acceptsIdempotencyKey ? ctx.idempotencyKey : null,
    ...(ctx.toolCallId === undefined ? {} : { toolCallId: ctx.toolCallId }),
  } as const
  const end = async (ending: Ending): Promise<void> => {
    try {
      await ambient.recordToolCall?.({ ...entry, ...ending })
    } catch (error) {
      console.warn(`[toolwright] recording the end of ${name} (call ${seq}) failed:`, error)
    }
  }
  const started = Promise.resolve(ambient.recordToolCall({ phase: 'started', effectStatus: 'intended', ...entry }))
  try {
    await unlessAborted(started, ctx.signal)
  } catch (error) {
    // What was recorded as started gets its end too, once the recorder has answered; a recorder
    // that refused the start has nothing to end.
    if (ctx.signal?.aborted === true) {
      started.then(() => end({ phase: 'failed', effectStatus: 'unknown', error })).catch(() => undefined)
    }
    throw error
  }
  return end
}

/** A recorder that does not answer must not hold a call that nobody waits for any more. */
async function unlessAborted(recorded: Promise<unknown>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return void (await recorded)
  let stop: () => void = () => undefined
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason)
  })
  // The recorder itself may have aborted, before anybody could listen.
  if (signal.aborted) stop()
  else signal.addEventListener('abort', stop, { once: true })
  try {
    await Promise.race([recorded, aborted])
    signal.throwIfAborted()
  } finally {
    signal.removeEventListener('abort', stop)
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
  const ctx: DefinedToolContext = {
    db: {},
    runId: ambient?.runId ?? '',
    nodeId: ambient?.nodeId ?? '',
    iteration: ambient?.iteration ?? 0,
    attempt: ambient?.attempt ?? 0,
    seq: ambient?.seq ?? 0,
    durabilitySnapshot: ambient?.durabilitySnapshot?.bind(ambient) ?? skipSnapshot,
    rootDir: settings.rootDir,
    allowNetwork: settings.allowNetwork,
    maxOutputBytes: settings.maxOutputBytes,
    timeoutMs: settings.timeoutMs,
    idempotencyKey: getToolIdempotencyKey(ambient),
    toolName: metadata.name,
    sideEffect: metadata.sideEffect,
    idempotent: metadata.idempotent,
  }
  if (ambient !== undefined) passOn(ambient, ctx)
  const signal = eitherSignal(callOptions.abortSignal, ambient?.signal)
  if (signal !== undefined) ctx.signal = signal
  const toolCallId = callOptions.toolCallId ?? ambient?.toolUseId
  if (toolCallId !== undefined) {
    ctx.toolCallId = toolCallId
    ctx.toolUseId = toolCallId
  }
  return ctx
}

/** What else a host has put into its context is for its own tools to see. */
function passOn(ambient: ToolContext, ctx: DefinedToolContext): void {
  const own: Record<string, unknown> = { ...ambient }
  const known = ctx as unknown as Record<string, unknown>
  for (const name of Object.keys(own)) {
    if (own[name] !== undefined && (known[name] === undefined || name === 'db')) known[name] = own[name]
  }
}

async function skipSnapshot(): Promise<{ skipped: true }> {
  return { skipped: true }
}

function eitherSignal(
  a: AbortSignal | null | undefined,
  b: AbortSignal | null | undefined,
): AbortSignal | undefined {
  if (!a || !b || a === b) return a ?? b ?? undefined
  return AbortSignal.any([a, b])
}
