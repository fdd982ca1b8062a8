import type { FlexibleSchema, InferSchema, Tool } from 'ai'
import { toolTypeError } from '../core/errors.js'
import { checked, checkFunction, checkNames, invalid, isPlain, takenOptions, checkSwitch } from '../core/options.js'
import type { CallContext } from '../journal/calls/call-record.js'
import { type Call, runCall, streamCall, type ToolCallOptions } from '../journal/calls/run-call.js'
import { completeContext, type DefinedToolContext } from './call-context.js'
import { resolveSettings, type Settings } from './settings.js'
import { type BoundToolOptions, type LimitedKind } from './tool-options.js'
import type { ModelOutputRequest, ModelText } from './tools/model-output.js'
import { attachToolMetadata, type DefinedToolMetadata, type ToolRevertContext } from './tool-metadata.js'

/** What {@link defineTool} takes. */
export interface DefineToolOptions<SCHEMA extends FlexibleSchema, RESULT> {
  /** The name stamped onto the context, the metadata and the call's record. */
  name: string
  /** The description for the model. @default name */
  description?: string | undefined
  /** The input's schema: Zod, Standard Schema, or the AI SDK's `jsonSchema()`. */
  schema: SCHEMA
  /** Whether the tool changes anything outside of the task. @default false */
  sideEffect?: boolean | undefined
  /** Whether calling it again with the same input is safe. @default `!sideEffect` */
  idempotent?: boolean | undefined
  /**
   * Does the work. The AI SDK has validated `args` against the schema. An async generator function
   * yields preliminary results; the last one is the result.
   */
  execute: (args: InferSchema<SCHEMA>, ctx: DefinedToolContext) => RESULT | PromiseLike<RESULT>
  /** Undoes one call, when a host goes back in time. Only with `sideEffect: true`. */
  revert?: ((args: InferSchema<SCHEMA>, ctx: ToolRevertContext<RESULT>) => Promise<void>) | undefined
}

/**
 * An AI SDK tool by its input and output, which can also be called directly.
 *
 * Built-in tools are declared by it, so that their types name no schema library.
 */
export type CallableTool<INPUT, OUTPUT> = Tool<INPUT, OUTPUT> & {
  description: string
  inputSchema: FlexibleSchema<INPUT>
  execute: (args: INPUT, options?: ToolCallOptions) => Promise<OUTPUT>
}

/** As {@link CallableTool}, of a tool that yields preliminary results while it runs. */
export type StreamingTool<INPUT, OUTPUT> = Tool<INPUT, OUTPUT> & {
  description: string
  inputSchema: FlexibleSchema<INPUT>
  execute: (args: INPUT, options?: ToolCallOptions) => AsyncGenerator<OUTPUT, void, undefined>
}

/** An AI SDK tool, with metadata that {@link getDefinedToolMetadata} reads. */
export type DefinedTool<SCHEMA extends FlexibleSchema, RESULT> = [RESULT] extends [AsyncGenerator<infer YIELDED>]
  ? StreamingTool<InferSchema<SCHEMA>, YIELDED>
  : CallableTool<InferSchema<SCHEMA>, RESULT>

/**
 * Makes a durable AI SDK tool: an `execute` with a runtime context, a deterministic idempotency
 * key, side-effect metadata, and a record of every call where the host keeps one.
 *
 * @throws {TypeError} for a `revert` without `sideEffect: true`.
 * @throws {ToolError} INVALID_INPUT for a missing name, schema or `execute`, and for a name that is no option.
 */
export function defineTool<SCHEMA extends FlexibleSchema, RESULT>(options: DefineToolOptions<SCHEMA, RESULT>): DefinedTool<SCHEMA, RESULT> {
  const parts = checked('defineTool', () => checkParts(options))
  const metadata = describe(parts)
  warnWithoutContext(metadata)
  const { name, description = name, schema, execute } = parts
  return assemble<InferSchema<SCHEMA>, DefinedToolContext, DefinedTool<SCHEMA, RESULT>>({
    schema,
    description,
    // `execute` may be a method that uses its object, which need not be plain.
    execute: (input, ctx) => options.execute(input, ctx),
    // The SDK streams what is iterable at once and awaits anything else, so it is decided before the call.
    streams: isAsyncGeneratorFunction(execute),
    metadata,
    run: {},
    builtIn: false,
    completeContext: (base, ambient) => completeContext(base, ambient, metadata),
  })
}

/** What the `execute` of a built-in tool gets: the settings of the call are resolved once. */
export interface BuiltInContext extends CallContext {
  settings: Settings
}

/** A built-in tool. */
export interface BuiltInTool<INPUT, RESULT> {
  name: string
  description: string
  schema: FlexibleSchema<INPUT>
  sideEffect: boolean
  idempotent: boolean
  /** Whose limit applies. */
  kind: LimitedKind
  execute: (input: INPUT, call: BuiltInContext) => RESULT
  /** What a record shows of the arguments. @default all of them */
  recordedInput?: ((input: INPUT) => unknown) | undefined
  /** What a model is shown of a result. @default the result */
  toModelOutput?: ((request: ModelOutputRequest<INPUT>) => ModelText) | undefined
}

/** As {@link defineTool}, for a built-in tool with the options of its tool set. */
export function defineBuiltIn<INPUT, RESULT>(
  { name, description, schema, sideEffect, idempotent, kind, execute, recordedInput, toModelOutput }: BuiltInTool<INPUT, RESULT>,
  bound: BoundToolOptions,
): DefinedTool<FlexibleSchema<INPUT>, Awaited<RESULT>> {
  // As in the original's metadata: what changes something takes a context.
  const metadata = { name, sideEffect, idempotent, acceptsIdempotencyKey: sideEffect, hasRevert: false }
  return assemble({
    schema,
    description,
    execute,
    streams: isAsyncGeneratorFunction(execute),
    metadata,
    run: bound,
    builtIn: true,
    recordedInput,
    completeContext: (base, ambient) => ({ ...base, settings: resolveSettings(ambient, bound, kind) }),
    toModelOutput,
  })
}

type Definition<INPUT, CTX extends CallContext> = Omit<Call<INPUT, CTX>, 'args' | 'callOptions' | 'metadata'> & {
  schema: unknown
  description: string
  streams: boolean
  metadata: DefinedToolMetadata
  toModelOutput?: ((request: ModelOutputRequest<INPUT>) => ModelText) | undefined
}

/** A tool as the AI SDK takes it, whose calls run through {@link runCall}. */
function assemble<INPUT, CTX extends CallContext, TOOL>({
  schema,
  description,
  toModelOutput,
  streams,
  ...call
}: Definition<INPUT, CTX>): TOOL {
  const start = streams ? streamCall : runCall
  const tool = {
    description,
    inputSchema: schema,
    execute: (args: INPUT, callOptions?: ToolCallOptions) => start({ ...call, args, callOptions: callOptions ?? {} }),
    ...(toModelOutput === undefined ? {} : { toModelOutput }),
  }
  return attachToolMetadata(tool, call.metadata) as unknown as TOOL
}

const optionNames = ['name', 'description', 'schema', 'sideEffect', 'idempotent', 'execute', 'revert']

/** The parts of a tool, each read once. @throws {ToolError} INVALID_INPUT */
function checkParts<SCHEMA extends FlexibleSchema, RESULT>(options: DefineToolOptions<SCHEMA, RESULT>): DefineToolOptions<SCHEMA, RESULT> {
  if (typeof options !== 'object' || options === null) {
    throw invalid('defineTool takes an object with name, schema and execute.')
  }
  // An object of a class may have fields of its own.
  if (isPlain(options)) checkNames('defineTool: ', options, optionNames)
  const parts = takenOptions(options, optionNames)
  const { name, description, schema, execute, revert, sideEffect, idempotent } = parts
  if (typeof name !== 'string' || name === '') throw invalid('defineTool: name must be a non-empty string.')
  if (description !== undefined && typeof description !== 'string') {
    throw invalid(`defineTool(${name}): description must be a string.`)
  }
  if (schema === undefined || schema === null) throw invalid(`defineTool(${name}): schema is missing.`)
  checkFunction(`defineTool(${name}): execute`, execute)
  if (revert) checkFunction(`defineTool(${name}): revert`, revert)
  // A string such as 'false' is true in a condition.
  checkSwitch(`defineTool(${name}): sideEffect`, sideEffect ?? false)
  checkSwitch(`defineTool(${name}): idempotent`, idempotent ?? true)
  return parts
}

function describe<SCHEMA extends FlexibleSchema, RESULT>(options: DefineToolOptions<SCHEMA, RESULT>): DefinedToolMetadata {
  const { name, execute, revert } = options
  const sideEffect = options.sideEffect ?? false
  if (revert && !sideEffect) {
    throw toolTypeError(`defineTool(${name}): revert requires sideEffect:true.`)
  }
  return {
    name,
    sideEffect,
    idempotent: options.idempotent ?? !sideEffect,
    acceptsIdempotencyKey: execute.length >= 2,
    hasRevert: Boolean(revert),
    ...(!revert ? {} : { revert: revert as NonNullable<DefinedToolMetadata['revert']> }),
  }
}

const warned = new Set<string>()

function warnWithoutContext({ name, sideEffect, idempotent, acceptsIdempotencyKey }: DefinedToolMetadata): void {
  if (!sideEffect || idempotent || acceptsIdempotencyKey || warned.has(name)) return
  warned.add(name)
  console.warn(
    `[smithers] defineTool(${name}): sideEffect:true idempotent:false tools should accept the second ctx parameter so they can use ctx.idempotencyKey.`,
  )
}

function isAsyncGeneratorFunction(value: unknown): boolean {
  return Object.prototype.toString.call(value) === '[object AsyncGeneratorFunction]'
}
