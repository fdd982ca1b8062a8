import type { z } from 'zod/v4'
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
  execute: Tool<State, Args>
  /** Variables of the thread that the tool needs, validated when it is called. @default none */
  tenvs?: Tenvs
  /** The model's provider runs a `provider` tool; it is never run here. @default 'local' */
  executionMode?: ExecutionMode
  /** Which provider, e.g. `openai`. */
  executionProvider?: string
}

/** A tool that `defineTool` returned. */
export interface ToolDefinition<State = ThreadState, Args extends ToolArgs | null = null, Tenvs extends ToolTenvs | null = null> {
  description: string
  args: Args
  execute: Tool<State, Args>
  tenvs: Tenvs
  executionMode?: ExecutionMode
  executionProvider?: string
}

/** Any tool of a thread. */
export interface AnyTool {
  description: string
  args: ToolArgs | null
  execute(state: ThreadState, args: never): Promise<ToolResult>
  tenvs: ToolTenvs | null
  executionMode?: ExecutionMode
  executionProvider?: string
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
