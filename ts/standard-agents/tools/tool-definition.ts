import type { z } from 'zod/v4'
import type { AttachmentRef } from '../store/stored-attachment.js'
import type { ThreadState } from '../thread/thread-state.js'
import type { ToolArgs, ToolTenvs } from './tool-args.js'

export type { AttachmentRef } from '../store/stored-attachment.js'

/** A new file that a tool gives back. */
export interface ToolAttachment {
  /** The file's name, which its reader sees. Where it is stored is another name. */
  name: string
  mimeType: string
  /** The bytes, as base64. */
  data: string
  /** In pixels. @default what the image's header says */
  width?: number
  /** In pixels. @default what the image's header says */
  height?: number
}

/** What a tool gives back. */
export interface ToolResult {
  status: 'success' | 'error'
  /** What the model is given. Complex data as JSON. */
  result?: string
  /** What went wrong, for the model. */
  error?: string
  /** Where it went wrong; kept for people, never given to a model. */
  stack?: string
  /** New files, and references to stored ones. */
  attachments?: Array<ToolAttachment | AttachmentRef>
}

/** What does a tool's work: with validated arguments as its second parameter where the tool has any. */
export type Tool<State, Args extends ToolArgs | null> = Args extends ToolArgs
  ? (state: State, args: z.infer<Args>) => Promise<ToolResult>
  : (state: State) => Promise<ToolResult>

/** Where a tool is executed. */
export type ExecutionMode = 'local' | 'provider'

/** What `defineTool` takes. */
export interface DefineToolOptions<State = ThreadState, Args extends ToolArgs | null = null, Tenvs extends ToolTenvs | null = null> {
  /** What the model is told about the tool. */
  description: string
  /** What the tool is called with. @default no arguments */
  args?: Args
  execute: Tool<State, Args>
  /** Variables of the thread that the tool needs; looked at when it is called. @default none */
  tenvs?: Tenvs
  /** `provider` is never run here: the model's provider does it. @default 'local' */
  executionMode?: ExecutionMode
  /** Which provider, e.g. `openai`. */
  executionProvider?: string
}

/** A tool, as `defineTool` gives it. */
export interface ToolDefinition<State = ThreadState, Args extends ToolArgs | null = null, Tenvs extends ToolTenvs | null = null> {
  description: string
  args: Args
  execute: Tool<State, Args>
  tenvs: Tenvs
  executionMode?: ExecutionMode
  executionProvider?: string
}

/** Any tool of a thread, whatever its arguments and variables are. */
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

/** Marks what `defineTool` has made; not to be seen in it. */
export function markTool<T extends object>(tool: T): T {
  return Object.defineProperty(tool, mark, { value: true })
}

/** Whether `defineTool`, of this or any other installed copy of the package, has made it. */
export function isTool(value: unknown): value is AnyTool {
  return typeof value === 'object' && value !== null && mark in value
}
