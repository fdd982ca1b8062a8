import { structureCopy } from '../core/argument-copy.js'
import type { DefinedToolContext } from './call-context.js'
import { nextToolSeq, type ToolCallRecord, type ToolContext } from './context.js'
import { recordedInput } from '../core/recorded-json.js'
import { journalRecorder } from './task/find-recorder.js'
import { withoutQuotes } from '../core/without-quotes.js'
import type { Awaitable } from '../journal/journal-store.js'
import { nativeCallKeys } from '../core/native.js'
import type { Call } from './run-call.js'
import type { DefinedToolMetadata } from './tool-metadata.js'
import { unlessAborted } from '../core/abort.js'

/** A call that is being recorded. */
export interface OpenRecord {
  /** Its number within its task. */
  seq: number
  /** Its key; `null` outside of a task. */
  key: string | null
  /** What an identical call gave before, to be given instead of making this one. */
  recorded?: { output: unknown } | undefined
  succeeded(output: unknown): Awaitable<void>
  /** `acted` is false for a call that did nothing; `output` is what an aborted one had given. */
  failed(error: unknown, ending: { acted: boolean; output?: unknown }): Awaitable<void>
}

/** A call that starts. */
export interface StartingCall {
  metadata: Omit<DefinedToolMetadata, 'revert'>
  /** What the record shows of the arguments. */
  input: unknown
  /** Whether it is one of our own tools, whose errors say whether anything was done. */
  builtIn: boolean
  ctx: Pick<DefinedToolContext, 'idempotencyKey' | 'toolCallId' | 'signal' | 'seq'>
  ambient: ToolContext | undefined
}

/** What is told of every call in a context. It throws for a call that must not be made. */
export interface CallRecorder {
  start(call: StartingCall): Awaitable<OpenRecord>
}

/**
 * Records that a call starts, where somebody keeps records: a host that has a recorder of its own, or
 * else a journal.
 */
export function startRecord<ARGS>(call: Call<ARGS>, ctx: DefinedToolContext, ambient: ToolContext | undefined): Awaitable<OpenRecord> {
  const recorder = journalRecorder(ambient, call.bound)
  if (recorder === undefined) return recordWithHost(call, ctx, ambient)
  const start = (input: unknown): Awaitable<OpenRecord> =>
    recorder.start({ metadata: call.metadata, input, builtIn: call.builtIn, ctx, ambient })
  const input = call.recordedInput?.(call.args) ?? call.args
  return input instanceof Promise ? input.then(start) : start(input)
}

type Ending = Pick<ToolCallRecord, 'phase' | 'effectStatus' | 'output' | 'error'>

async function recordWithHost<ARGS>(call: Call<ARGS>, ctx: DefinedToolContext, ambient: ToolContext | undefined): Promise<OpenRecord> {
  const seq = nextToolSeq(ambient)
  const key = await keyWithoutJournal(call, ambient)
  if (ambient?.recordToolCall === undefined) {
    return { seq, key, succeeded: () => undefined, failed: () => undefined }
  }
  const { name, sideEffect, idempotent, acceptsIdempotencyKey, hasRevert } = call.metadata
  const entry = {
    seq,
    // The recorder's own: the tool may change its arguments. The same one to the end, by which recorders know the call.
    input: ownStructure((await call.recordedInput?.(call.args)) ?? call.args),
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
  return {
    seq,
    key,
    succeeded: (output) => end({ phase: 'finished', effectStatus: 'succeeded', output: ownStructure(output) }),
    failed: (error, { output }) =>
      end({ phase: 'failed', effectStatus: 'unknown', error: withoutQuotes(error), ...(output === undefined ? {} : { output }) }),
  }
}

/** A copy for a recorder, which may change it; of what cannot be copied it is told itself. */
function ownStructure(value: unknown): unknown {
  try {
    return structureCopy(value, noLimits).value
  } catch {
    return value
  }
}

const noLimits = { values: Infinity, characters: Infinity, depth: 1_000 }

type CallKeys = Awaited<ReturnType<typeof nativeCallKeys>>

/** Counts the calls of a task that a host runs, from the first one on: a retry has a new context. */
const keysOf = new WeakMap<ToolContext, Promise<CallKeys | undefined>>()

/** The key of a call in a host's task. Only what a tool could use is worked out. */
async function keyWithoutJournal<ARGS>({ metadata, args, builtIn }: Call<ARGS>, ambient: ToolContext | undefined): Promise<string | null> {
  if (builtIn || !metadata.sideEffect || !metadata.acceptsIdempotencyKey) return null
  if (!ambient?.runId || !ambient.nodeId) return null
  // Before anybody may change them.
  const input = recordedInput(args)
  let keys = keysOf.get(ambient)
  if (keys === undefined) {
    const { runId, nodeId, iteration = 0 } = ambient
    // On a platform without the addon, tools without keys are better than none.
    keys = nativeCallKeys({ runId, nodeId, iteration }).catch(() => undefined)
    keysOf.set(ambient, keys)
  }
  const { identity } = await input
  return (await keys)?.take(metadata.name, identity).key ?? null
}
