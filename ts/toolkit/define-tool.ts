import type { FlexibleSchema, InferSchema, Tool } from 'ai'
import type { DefinedToolContext } from './call-context.js'
import { toolTypeError } from '../core/errors.js'
import { runCall, streamCall, type ToolCallOptions } from './run-call.js'
import { checked, checkFunction, checkNames, invalid, isPlain, takenOptions } from '../core/options.js'
import { checkSwitch } from './setting-checks.js'
import type { BoundToolOptions } from './settings.js'
import type { ModelOutputRequest, ModelText } from './tools/model-output.js'
import { attachToolMetadata, type DefinedToolMetadata, type ToolRevertContext } from './tool-metadata.js'

/** What {@link defineTool} takes. */
export interface DefineToolOptions<SCHEMA extends FlexibleSchema, RESULT> {
  /** The name stamped onto the context, the metadata and the call's record. */
  name: string
  /** What the model is told about the tool. @default name */
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
  return define(options, { bound: {}, builtIn: false })
}

/** What readers of a built-in tool are shown. */
export interface BuiltInViews<ARGS> {
  /** What a record shows of the arguments. @default all of them */
  recordedInput?: ((args: ARGS) => unknown) | undefined
  /** What a model is shown of a result. @default the result */
  toModelOutput?: ((request: ModelOutputRequest<ARGS>) => ModelText) | undefined
}

/** As {@link defineTool}, for a built-in tool: with the options of the tool set it belongs to. */
export function defineBoundTool<SCHEMA extends FlexibleSchema, RESULT>(
  options: DefineToolOptions<SCHEMA, RESULT>,
  bound: BoundToolOptions,
  views: BuiltInViews<InferSchema<SCHEMA>> = {},
): DefinedTool<SCHEMA, RESULT> {
  return define(options, { bound, builtIn: true, ...views })
}

interface Belonging<ARGS> extends BuiltInViews<ARGS> {
  bound: BoundToolOptions
  builtIn: boolean
}

function define<SCHEMA extends FlexibleSchema, RESULT>(
  options: DefineToolOptions<SCHEMA, RESULT>,
  { bound, builtIn, recordedInput, toModelOutput }: Belonging<InferSchema<SCHEMA>>,
): DefinedTool<SCHEMA, RESULT> {
  const given = checked('defineTool', () => takenParts(options))
  const metadata = describe(given)
  warnWithoutContext(metadata)
  // Known before the call: the SDK streams what is iterable at once, and awaits anything else.
  const start = isAsyncGeneratorFunction(given.execute) ? streamCall : runCall
  const tool = {
    description: given.description ?? given.name,
    inputSchema: given.schema,
    execute: (args: InferSchema<SCHEMA>, callOptions?: ToolCallOptions) =>
      start({
        // By its object, which may have a state of its own.
        execute: (input, ctx) => options.execute(input, ctx),
        metadata,
        bound,
        builtIn,
        args,
        recordedInput,
        callOptions: callOptions ?? {},
      }),
    ...(toModelOutput === undefined ? {} : { toModelOutput }),
  }
  return attachToolMetadata(tool, metadata) as unknown as DefinedTool<SCHEMA, RESULT>
}

const optionNames = ['name', 'description', 'schema', 'sideEffect', 'idempotent', 'execute', 'revert']

/** What a tool is defined by, looked at once. @throws {ToolError} INVALID_INPUT */
function takenParts<SCHEMA extends FlexibleSchema, RESULT>(options: DefineToolOptions<SCHEMA, RESULT>): DefineToolOptions<SCHEMA, RESULT> {
  if (typeof options !== 'object' || options === null) {
    throw invalid('defineTool takes an object with name, schema and execute.')
  }
  // An object of a class may have a state of its own.
  if (isPlain(options)) checkNames('defineTool: ', options, optionNames)
  const given = takenOptions(options, optionNames)
  const { name, description, schema, execute, revert, sideEffect, idempotent } = given
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
  return given
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
