import { structureCopy } from '../../core/argument-copy.js'
import type { ReportedPatch } from '../../core/command-patches.js'
import { nextToolSeq, type ToolCallRecord, type ToolContext } from './context.js'
import { type CallWithPatches, patchError, patchFacts, patchInput } from './patches-in-call.js'
import { recordedInput, withoutQuotes } from './recorded-values.js'
import { journalRecorder } from './recorders.js'
import type { Call, CallContext, OpenRecord } from './call-record.js'
import { nativeCallKeys } from '../../core/native.js'
import { type Awaitable, unlessAborted } from '../../core/abort.js'

/** Records that a call starts: with the host's own recorder, or else in a journal. Without either it only counts the call. */
export function startRecord<ARGS, CTX extends CallContext>(
  call: Call<ARGS, CTX>,
  ctx: CTX,
  ambient: ToolContext | undefined,
): Awaitable<OpenRecord> {
  const recorder = journalRecorder(ambient, call.run)
  if (recorder === undefined) return recordWithHost(call, ctx, ambient)
  const start = (input: unknown): Awaitable<OpenRecord> =>
    recorder.start({ metadata: call.metadata, input, builtIn: call.builtIn, ctx, ambient })
  const input = call.recordedInput?.(call.args) ?? call.args
  return input instanceof Promise ? input.then(start) : start(input)
}

type Ending = Pick<ToolCallRecord, 'phase' | 'effectStatus' | 'output' | 'error'>

async function recordWithHost<ARGS, CTX extends CallContext>(
  call: Call<ARGS, CTX>,
  ctx: CTX,
  ambient: ToolContext | undefined,
): Promise<OpenRecord> {
  const seq = nextToolSeq(ambient)
  const key = await keyWithoutJournal(call, ambient)
  if (ambient?.recordToolCall === undefined) {
    return { seq, key, succeeded: () => undefined, failed: () => undefined }
  }
  const { name, sideEffect, idempotent, acceptsIdempotencyKey, hasRevert } = call.metadata
  const entry = {
    seq,
    // The recorder's own copy, since the tool may change its arguments. Recorders know the call by this object to its end.
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
    // A call that was recorded as started gets its end too, once the recorder has answered. A recorder that refused the
    // start has nothing to end.
    if (ctx.signal?.aborted === true) {
      started.then(() => end({ phase: 'failed', effectStatus: 'unknown', error })).catch(() => undefined)
    }
    throw error
  }
  return {
    seq,
    key,
    patched: async (patches, { tool }) => {
      for (const patch of patches) await recordPatchWithHost(patch, { tool, seq, rootDir: ctx.rootDir }, ambient)
    },
    succeeded: (output) => end({ phase: 'finished', effectStatus: 'succeeded', output: ownStructure(output) }),
    failed: (error, { output }) =>
      end({ phase: 'failed', effectStatus: 'unknown', error: withoutQuotes(error), ...(output === undefined ? {} : { output }) }),
  }
}

async function recordPatchWithHost(patch: ReportedPatch, call: CallWithPatches, ambient: ToolContext): Promise<void> {
  const entry = { seq: nextToolSeq(ambient), input: patchInput(patch, call), kind: 'tool', idempotencyKey: null, ...patchFacts } as const
  const ending: Ending =
    patch.status === 'success'
      ? { phase: 'finished', effectStatus: 'succeeded', output: patch.text }
      : { phase: 'failed', effectStatus: 'unknown', error: patchError(patch) }
  try {
    await ambient.recordToolCall?.({ phase: 'started', effectStatus: 'intended', ...entry })
    await ambient.recordToolCall?.({ ...entry, ...ending })
  } catch (error) {
    console.warn(`[toolwright] recording a patch of ${call.tool} (call ${call.seq}) failed:`, error)
  }
}

/** A copy for a recorder, which may change it; the value itself where it cannot be copied. */
function ownStructure(value: unknown): unknown {
  try {
    return structureCopy(value, noLimits).value
  } catch {
    return value
  }
}

const noLimits = { values: Infinity, characters: Infinity, depth: 1_000 }

type CallKeys = Awaited<ReturnType<typeof nativeCallKeys>>

/** Counts the calls of each task that a host runs. A retry has a new context. */
const keysOf = new WeakMap<ToolContext, Promise<CallKeys | undefined>>()

/** The key of a call in a host's task, for a tool that can use one. */
async function keyWithoutJournal<ARGS, CTX extends CallContext>(
  { metadata, args, builtIn }: Call<ARGS, CTX>,
  ambient: ToolContext | undefined,
): Promise<string | null> {
  if (builtIn || !metadata.sideEffect || !metadata.acceptsIdempotencyKey) return null
  if (!ambient?.runId || !ambient.nodeId) return null
  // Before the tool may change its arguments.
  const input = recordedInput(args)
  let keys = keysOf.get(ambient)
  if (keys === undefined) {
    const { runId, nodeId, iteration = 0 } = ambient
    // Without the addon, tools of your own still work, without keys.
    keys = nativeCallKeys({ runId, nodeId, iteration }).catch(() => undefined)
    keysOf.set(ambient, keys)
  }
  const { identity } = await input
  return (await keys)?.take(metadata.name, identity).key ?? null
}
