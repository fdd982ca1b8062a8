import type { z } from 'zod/v4'
import { invalid } from '../../core/options.js'
import { isWellFormed } from '../../core/text.js'
import { threadError } from '../store/store-checks.js'
import type { ThreadState } from '../thread/thread-state.js'
import type { ToolArgs, ToolTenvs } from './tool-args.js'
import type { ToolResult } from './tool-result.js'

/** The function that does a tool's work. A tool with arguments gets them, validated, as the second parameter. */
export type Tool<State, Args extends ToolArgs | null> = Args extends ToolArgs
  ? (state: State, args: z.infer<Args>) => Promise<ToolResult>
  : (state: State) => Promise<ToolResult>

/** Where a tool is executed. */
export type ExecutionMode = 'local' | 'provider'

/** What `defineTool` takes. */
export interface DefineToolOptions<State = ThreadState, Args extends ToolArgs | null = null, Tenvs extends ToolTenvs | null = null> {
  /** The description that the model reads. */
  description: string
  /** What the tool is called with. @default no arguments */
  args?: Args
  /** What a call does: a function of the thread's state and the arguments. */
  execute: Tool<State, Args>
  /** Variables of the thread that the tool needs, validated when it is called. @default none */
  tenvs?: Tenvs
  /** The model's provider runs a `provider` tool; it is never run here. @default 'local' */
  executionMode?: ExecutionMode
  /** Which provider, e.g. `openai`. */
  executionProvider?: string
}

/** A tool that `defineTool` returned. */
export interface ToolDefinition<
  State = ThreadState,
  Args extends ToolArgs | null = null,
  Tenvs extends ToolTenvs | null = null,
> extends DefineToolOptions<State, Args, Tenvs> {
  args: Args
  tenvs: Tenvs
}

/** Any tool of a thread. */
export interface AnyTool extends Omit<ToolDefinition, 'args' | 'execute' | 'tenvs'> {
  args: ToolArgs | null
  execute(state: ThreadState, args: never): Promise<ToolResult>
  tenvs: ToolTenvs | null
}

/** Tools by their names. */
export type NamedTools = Record<string, AnyTool>

const mark = Symbol.for('toolwright.standard-agents.tool')

/** Marks a tool as made by `defineTool`, with a property that is not enumerable. */
export function markTool<T extends object>(tool: T): T {
  return Object.defineProperty(tool, mark, { value: true })
}

/** Whether `defineTool` made the value, in this or any other installed copy of the package. */
export function isTool(value: unknown): value is AnyTool {
  return typeof value === 'object' && value !== null && mark in value
}

/** The maximum size of a name that a store accepts. */
const MAX_NAME_BYTES = 512
/** Control characters, and characters that change the direction of text. */
const CONTROL = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u

/**
 * Checks a tool's name, under which its calls are stored.
 *
 * @throws {ToolError} INVALID_INPUT for a value that is not a string, THREAD_NAME_REFUSED for a name that no store accepts.
 */
export function checkToolName(caller: string, name: unknown): asserts name is string {
  if (typeof name !== 'string') throw invalid(`${caller}: a tool is called by its name, which is a string.`)
  const fault = faultOf(name)
  if (fault === undefined) return
  const where = `the tool name given to ${caller} ${fault}`
  const hint = 'Give the name of a tool of the thread, on one line.'
  throw threadError('THREAD_NAME_REFUSED', 'Name refused', where, hint, { toolName: name.slice(0, 100) })
}

function faultOf(name: string): string | undefined {
  if (name === '') return 'is empty'
  if (!isWellFormed(name)) return 'has half of a surrogate pair'
  if (Buffer.byteLength(name) > MAX_NAME_BYTES) return `is longer than ${MAX_NAME_BYTES} bytes`
  return CONTROL.test(name) ? 'holds a control character' : undefined
}
