import type { FlexibleSchema, InferSchema, Tool } from 'ai'
import { toolTypeError } from '../core/errors.js'
import { anything, boolean, callable, type Checks, invalid, optional, parseOptions, string, text } from '../core/options.js'
import { outputRequest } from '../core/model-output-request.js'
import { toolMetadata } from '../core/tool-metadata.js'
import type { Call, CallContext, ToolCallOptions } from '../journal/calls/call-record.js'
import type { ToolContext } from '../journal/calls/context.js'
import { runCall, streamCall } from '../journal/calls/run-call.js'
import type { CheckpointChange } from '../journal/checkpoints/checkpoints.js'
import { type CallHooks, startHooked } from './call-hooks.js'
import { seenBy } from './seen-files-of-set.js'
import { type LimitedKind, resolveSettings, type Settings, type TrackedToolOptions } from './settings.js'
import { checkedCall, isGenerator, noteStreaming } from './streaming-tools.js'
import type { ModelText } from '../documents/model-image.js'
import type { ModelOutputRequest } from './tools/model-output.js'
import type { TrackedCalls } from './tools/tracked-calls.js'

/** The call to undo, for a `revert` handler. */
export interface ToolRevertContext<OUTPUT = unknown> {
  /** The result of the call; `null` if it is unknown. */
  output: OUTPUT | null
  /** Whether the effect is known to have happened. */
  effectStatus: 'succeeded' | 'unknown'
  /** The idempotency key of the call. */
  idempotencyKey: string | null
  runId: string
  nodeId: string
  iteration: number
  attempt: number
  /** The number of the call within its task. */
  toolCallSeq: number
}

/** Facts about a tool for a host. */
export interface DefinedToolMetadata {
  name: string
  /** Whether the tool changes anything outside the task. */
  sideEffect: boolean
  /** Whether a repeated call with the same input is safe. */
  idempotent: boolean
  /** Whether its `execute` takes a context, and so can use `ctx.idempotencyKey`. */
  acceptsIdempotencyKey: boolean
  hasRevert: boolean
  revert?: (args: unknown, ctx: ToolRevertContext) => Promise<void>
  /** Whether the service does the same thing once for each `ctx.callIdempotencyKey`. */
  usesIdempotencyKey?: true
  probe?: (args: unknown, ctx: ToolProbeContext) => Promise<ToolProbe<unknown> | undefined>
}

/** The call to look for, for a `probe`. */
export interface ToolProbeContext {
  /** The key that the call had as `ctx.callIdempotencyKey`. */
  idempotencyKey: string
  signal: AbortSignal
}

/** What a `probe` has found: the call was made, with this result, or it was not. */
export type ToolProbe<OUTPUT> = { done: true; output: OUTPUT } | { done: false }

/** The result of a tool; for a generator, the yielded values. */
type OutputOf<RESULT> = [RESULT] extends [AsyncGenerator<infer YIELDED>] ? YIELDED : RESULT

/** Options of {@link defineTool}. */
export interface DefineToolOptions<SCHEMA extends FlexibleSchema, RESULT> {
  /** The name of the tool in the context, the metadata and the records. */
  name: string
  /** The description for the model. @default name */
  description?: string | undefined
  /** The input's schema: Zod, Standard Schema, or the AI SDK's `jsonSchema()`. */
  schema: SCHEMA
  /**
   * The schema of the values that `execute` returns or yields, for typed clients and generated code. It becomes the
   * `outputSchema` of the AI SDK's tool. The model does not get it, and no result is checked against it.
   * @default none
   */
  outputSchema?: FlexibleSchema<NoInfer<OutputOf<RESULT>>> | undefined
  /** Whether the tool changes anything outside the task. @default false */
  sideEffect?: boolean | undefined
  /** Whether a repeated call with the same input is safe. @default `!sideEffect` */
  idempotent?: boolean | undefined
  /**
   * Does the work. The AI SDK has validated `args` against the schema. An async generator function
   * yields preliminary results; the last one is the result.
   */
  execute: (args: InferSchema<SCHEMA>, ctx: DefinedToolContext) => RESULT | PromiseLike<RESULT>
  /**
   * Whether the service does the same thing once for each `ctx.callIdempotencyKey`, so that a call whose outcome is unknown may be
   * made again with the same key. Say so only where `execute` hands the key over. `false` says that it knows no keys, and is not warned of.
   * Only with `sideEffect: true`.
   * @default false
   */
  usesIdempotencyKey?: boolean | undefined
  /**
   * Asks the service whether a call was made whose outcome is unknown, for `toolwright/durable`. `undefined` if that cannot be told.
   * Only with `sideEffect: true`.
   */
  probe?: ((args: InferSchema<SCHEMA>, ctx: ToolProbeContext) => Promise<ToolProbe<NoInfer<OutputOf<RESULT>>> | undefined>) | undefined
  /** Undoes one call, for {@link revertRun}. Only with `sideEffect: true`. */
  revert?: ((args: InferSchema<SCHEMA>, ctx: ToolRevertContext<RESULT>) => Promise<void>) | undefined
}

/**
 * An AI SDK tool by its input and output, which can also be called directly.
 *
 * Built-in tools have this type, so that their types name no schema library.
 */
export type CallableTool<INPUT, OUTPUT> = Tool<INPUT, OUTPUT> & {
  description: string
  inputSchema: FlexibleSchema<INPUT>
  execute: (args: INPUT, options?: ToolCallOptions) => Promise<OUTPUT>
}

/** A {@link CallableTool} that yields preliminary results while it runs. */
export type StreamingTool<INPUT, OUTPUT> = Tool<INPUT, OUTPUT> & {
  description: string
  inputSchema: FlexibleSchema<INPUT>
  execute: (args: INPUT, options?: ToolCallOptions) => AsyncGenerator<OUTPUT, void, undefined>
}

/** An AI SDK tool, with metadata that {@link getDefinedToolMetadata} reads. */
export type DefinedTool<SCHEMA extends FlexibleSchema, RESULT> = [RESULT] extends [AsyncGenerator<infer YIELDED>]
  ? StreamingTool<InferSchema<SCHEMA>, YIELDED>
  : CallableTool<InferSchema<SCHEMA>, RESULT>

/** The second argument of `execute`: the task's context, completed with defaults. */
export interface DefinedToolContext extends ToolContext {
  /** The host's database handle; an empty object if there is none. */
  // oxlint-disable-next-line typescript/no-explicit-any -- as in a ToolContext
  db: any
  runId: string
  nodeId: string
  iteration: number
  attempt: number
  rootDir: string
  allowNetwork: boolean
  maxOutputBytes: number
  timeoutMs: number
  /** The number of calls before this one. */
  seq: number
  /**
   * `smithers:RUN:NODE:ITERATION`, or the host's own key: stable across retries and resumes of the same task iteration, and
   * the same for every call of it; `null` outside a task.
   */
  idempotencyKey: string | null
  /**
   * A key of this call: stable across retries, resumes, processes and machines, and different for
   * every call of the task (by tool, arguments, and their number among equal calls), as a payment
   * API needs it. `null` outside a task.
   */
  callIdempotencyKey: string | null
  /** The name of the tool. */
  toolName: string
  sideEffect: boolean
  idempotent: boolean
  /** The AI SDK's id of this call, if an agent made it. */
  toolCallId?: string | undefined
  durabilitySnapshot: NonNullable<ToolContext['durabilitySnapshot']>
}

/**
 * Makes a durable AI SDK tool: an `execute` with a runtime context, a deterministic idempotency key, side-effect metadata,
 * and a record of every call if the host keeps one.
 *
 * @example
 * ```ts
 * const placeOrder = defineTool({
 *   name: 'shop.place_order',
 *   description: 'Place an order',
 *   schema: z.object({ sku: z.string() }),
 *   sideEffect: true,
 *   execute: ({ sku }, ctx) => shop.order(sku, { key: ctx.callIdempotencyKey }),
 * })
 * ```
 * @throws {TypeError} for a `revert`, a `probe` or `usesIdempotencyKey` without `sideEffect: true`.
 * @throws {ToolError} INVALID_INPUT for a missing name, schema or `execute`, and for an unknown option.
 */
export function defineTool<SCHEMA extends FlexibleSchema, RESULT>(options: DefineToolOptions<SCHEMA, RESULT>): DefinedTool<SCHEMA, RESULT> {
  const caller = typeof options?.name === 'string' ? `defineTool(${options.name})` : 'defineTool'
  const {
    name,
    description = name,
    schema,
    outputSchema,
    sideEffect,
    idempotent,
    execute,
    revert,
    usesIdempotencyKey,
    probe,
  } = parseOptions(caller, options, defineChecks)
  if (revert && !sideEffect) throw toolTypeError(`${caller}: revert requires sideEffect:true.`)
  if ((usesIdempotencyKey || probe) && !sideEffect) throw toolTypeError(`${caller}: usesIdempotencyKey and probe require sideEffect:true.`)
  if (usesIdempotencyKey && execute.length < 2) throw toolTypeError(`${caller}: usesIdempotencyKey requires an execute that takes ctx.`)
  const metadata: DefinedToolMetadata = {
    name,
    sideEffect,
    idempotent: idempotent ?? !sideEffect,
    acceptsIdempotencyKey: execute.length >= 2,
    hasRevert: revert !== undefined,
    ...(revert && { revert }),
    ...(usesIdempotencyKey && { usesIdempotencyKey }),
    ...(probe && { probe }),
  }
  // Who says that the service knows no keys need not take one.
  if (options.usesIdempotencyKey !== false) warnWithoutContext(metadata)
  return assemble<InferSchema<SCHEMA>, DefinedToolContext, DefinedTool<SCHEMA, RESULT>>({
    schema,
    outputSchema,
    description,
    // It may be a method that uses `this`, whose object need not be plain.
    execute: execute.bind(options),
    metadata,
    door: 'toolkit',
    run: {},
    builtIn: false,
    completeContext: (base, ambient) => completeContext(base, ambient, metadata),
  })
}

const defineChecks = {
  name: text,
  description: optional(string),
  schema: (value, name) => {
    if (value === undefined || value === null) throw invalid(`${name} is missing.`)
    return value as FlexibleSchema
  },
  outputSchema: anything<FlexibleSchema>(),
  sideEffect: optional(boolean, false),
  idempotent: optional(boolean),
  execute: callable<DefineToolOptions<FlexibleSchema, unknown>['execute']>(),
  revert: optional(callable<NonNullable<DefinedToolMetadata['revert']>>()),
  usesIdempotencyKey: optional(boolean, false),
  probe: optional(callable<NonNullable<DefinedToolMetadata['probe']>>()),
} satisfies Checks<DefineToolOptions<FlexibleSchema, unknown>>

const warned = new Set<string>()

function warnWithoutContext({ name, sideEffect, idempotent, acceptsIdempotencyKey }: DefinedToolMetadata): void {
  if (!sideEffect || idempotent || acceptsIdempotencyKey || warned.has(name)) return
  warned.add(name)
  console.warn(
    `[smithers] defineTool(${name}): sideEffect:true idempotent:false tools should accept the second ctx parameter so they can use ctx.idempotencyKey. A tool that has no use for a key says usesIdempotencyKey:false.`,
  )
}

/** The context of a custom tool. It gets its number and its key when the call is recorded. */
function completeContext(
  base: CallContext,
  ambient: ToolContext | undefined,
  { name, sideEffect, idempotent }: DefinedToolMetadata,
): DefinedToolContext {
  const { rootDir, allowNetwork, maxOutputBytes, timeoutMs } = resolveSettings(ambient, {})
  const ctx: DefinedToolContext = {
    // Further fields of the host's context, for its own tools.
    ...ambient,
    db: ambient?.db === undefined ? {} : ambient.db,
    runId: ambient?.runId ?? '',
    nodeId: ambient?.nodeId ?? '',
    iteration: ambient?.iteration ?? 0,
    attempt: ambient?.attempt ?? 0,
    durabilitySnapshot: ambient?.durabilitySnapshot?.bind(ambient) ?? (async () => ({ skipped: true })),
    allowNetwork,
    maxOutputBytes,
    timeoutMs,
    toolName: name,
    sideEffect,
    idempotent,
    ...base,
    rootDir,
  }
  if (base.toolCallId !== undefined) ctx.toolUseId = base.toolCallId
  return ctx
}

/** The context of a built-in tool's `execute`, with the resolved settings of the call. */
export interface BuiltInContext extends CallContext {
  settings: Settings
  /** What the call has changed, in a set with checkpoints, once it has ended. */
  changed?: CheckpointChange[] | undefined
}

/** A built-in tool. */
export interface BuiltInTool<INPUT, RESULT, OUTPUT = string> {
  name: string
  description: string
  schema: FlexibleSchema<INPUT>
  /** The schema of the values that it returns or yields. */
  outputSchema: FlexibleSchema<OUTPUT>
  sideEffect: boolean
  /** The kind of call, whose limit applies. */
  kind: LimitedKind
  execute: (input: INPUT, call: BuiltInContext) => RESULT
  /** The arguments for the record. @default all of them */
  recordedInput?: ((input: INPUT) => unknown) | undefined
  /** The form of a result for the model. @default the result */
  toModelOutput?: ((request: ModelOutputRequest<INPUT>) => ModelText) | undefined
  /** Hears what a call has changed, in a set with checkpoints. */
  onChanged?: ((input: INPUT, call: BuiltInContext, changed: readonly CheckpointChange[]) => void) | undefined
}

/** The same as {@link defineTool} for a built-in tool, with the options of its set. */
export function defineBuiltIn<INPUT, RESULT, OUTPUT = string>(
  { name, sideEffect, kind, onChanged, execute: made, ...tool }: BuiltInTool<INPUT, RESULT, OUTPUT>,
  bound: TrackedToolOptions,
): DefinedTool<FlexibleSchema<INPUT>, Awaited<RESULT>> {
  const { tracked, known, hooks, failures } = bound
  const checked = known === undefined ? made : checkedCall(made, (input) => known.refuse(name, tool.schema, input))
  const execute = tracked !== undefined && sideEffect ? trackedCall(checked, tracked, onChanged) : checked
  return assemble({
    ...tool,
    schema: known === undefined ? tool.schema : known.schema(name, tool.schema),
    hooks,
    ...(known && { taken: (input: INPUT) => known.taken(tool.schema, input) }),
    execute: failures === undefined ? execute : failures.counting(name, execute),
    // As in the original's metadata: a tool with a side effect takes a context.
    metadata: { name, sideEffect, idempotent: !sideEffect, acceptsIdempotencyKey: sideEffect, hasRevert: false },
    door: 'toolkit',
    run: bound,
    builtIn: true,
    completeContext: (base, ambient) => {
      const settings = resolveSettings(ambient, bound, kind)
      return { ...base, settings, rootDir: settings.rootDir, seen: seenBy(kind, ambient, bound) }
    },
  })
}

/** The same call between two checkpoints. A generator stays one: that decides how its results are streamed. */
function trackedCall<INPUT, RESULT>(
  execute: (input: INPUT, call: BuiltInContext) => RESULT,
  tracked: TrackedCalls,
  onChanged: BuiltInTool<INPUT, RESULT>['onChanged'],
): (input: INPUT, call: BuiltInContext) => unknown {
  const tell = (input: INPUT, call: BuiltInContext): void => onChanged?.(input, call, call.changed ?? [])
  if (!isGenerator(execute)) {
    return (input, call) => tracked.run(call, async () => execute(input, call)).finally(() => tell(input, call))
  }
  return async function* (input, call) {
    try {
      yield* tracked.stream(call, () => execute(input, call) as AsyncGenerator<unknown>)
    } finally {
      tell(input, call)
    }
  }
}

type Definition<INPUT, CTX extends CallContext> = Omit<Call<INPUT, CTX>, 'args' | 'callOptions' | 'metadata'> & {
  schema: unknown
  outputSchema: unknown
  description: string
  metadata: DefinedToolMetadata
  /** The arguments without those that say nothing. */
  taken?: (args: INPUT) => INPUT
  hooks?: CallHooks | undefined
  toModelOutput?: ((request: ModelOutputRequest<INPUT>) => ModelText) | undefined
}

/** Makes a tool of the AI SDK whose calls run through {@link runCall}. */
function assemble<INPUT, CTX extends CallContext, TOOL>(definition: Definition<INPUT, CTX>): TOOL {
  const { schema, outputSchema, description, toModelOutput, taken = (args: INPUT) => args, hooks, ...call } = definition
  // The SDK streams an iterable result and awaits any other, so the kind is decided before the call.
  const isStream = isGenerator(call.execute)
  const start = isStream ? streamCall : runCall
  const execute = (args: INPUT, callOptions?: ToolCallOptions) => {
    const made = { ...call, args: taken(args), callOptions: callOptions ?? {} }
    return hooks === undefined ? start(made) : startHooked(hooks, made, isStream)
  }
  if (isStream) noteStreaming(execute)
  const tool = {
    description,
    inputSchema: schema,
    ...(outputSchema !== undefined && { outputSchema }),
    execute,
    ...(toModelOutput && { toModelOutput: (given: unknown) => toModelOutput(outputRequest<string>(given) as ModelOutputRequest<INPUT>) }),
    // Plain JSON, which AI SDK 7 passes on with each call.
    metadata: toolMetadata(call.metadata),
    // Enumerable, so that a spread copy keeps it.
    [metadataKey]: call.metadata,
  }
  return tool as unknown as TOOL
}

/** The symbol of the metadata, shared with every other package that defines or reads such tools. */
export const metadataKey = Symbol.for('smithers.tool.metadata')

/**
 * Reads the metadata that `defineTool` attached to a tool.
 *
 * @returns `null` for a plain AI SDK tool, and for anything that is no tool.
 */
export function getDefinedToolMetadata(tool: unknown): DefinedToolMetadata | null {
  const metadata = (tool as { [metadataKey]?: DefinedToolMetadata | null } | null | undefined)?.[metadataKey]
  return typeof metadata === 'object' ? metadata : null
}
