/** `toolwright/tools`: the names and signatures of `smithers-orchestrator/tools`. */
import { tools } from './toolkit/create-tools.js'
import type { BashTool } from './toolkit/tools/bash.js'
import type { EditTool } from './toolkit/tools/edit.js'
import type { GrepTool } from './toolkit/tools/grep.js'
import type { ReadTool } from './toolkit/tools/read.js'
import type { WriteTool } from './toolkit/tools/write.js'

export {
  getToolContext,
  getToolIdempotencyKey,
  nextToolSeq,
  runWithToolContext,
  type ToolCallRecord,
  type ToolContext,
} from './journal/calls/context.js'
export {
  defineTool,
  type CallableTool,
  type DefinedTool,
  type DefinedToolContext,
  type DefineToolOptions,
  type StreamingTool,
} from './toolkit/define-tool.js'
export type { ToolCallOptions } from './journal/calls/call-record.js'
export {
  BASH_TOOL_MAX_ARG_LENGTH,
  BASH_TOOL_MAX_ARGS,
  BASH_TOOL_MAX_COMMAND_LENGTH,
  BASH_TOOL_MAX_CWD_LENGTH,
  BASH_TOOL_MAX_OUTPUT_BYTES,
  BASH_TOOL_MAX_TIMEOUT_MS,
} from './toolkit/settings.js'
export { bashTool, type BashInput, type BashTool } from './toolkit/tools/bash.js'
export { editFileTool, type EditInput, type EditTool } from './toolkit/tools/edit.js'
export { grepTool, type GrepInput, type GrepTool } from './toolkit/tools/grep.js'
export { readFileTool, type ReadInput, type ReadTool } from './toolkit/tools/read.js'
export { writeFileTool, type WriteInput, type WriteTool } from './toolkit/tools/write.js'
export {
  getDefinedToolMetadata,
  type DefinedToolMetadata,
  type ToolProbe,
  type ToolProbeContext,
  type ToolRevertContext,
} from './toolkit/define-tool.js'

export { tools }
/** Reads a file of the root directory. */
export const read: ReadTool = tools.read
/** Writes a whole file. */
export const write: WriteTool = tools.write
/** Applies a unified diff to a file. */
export const edit: EditTool = tools.edit
/** Searches files for a regular expression. */
export const grep: GrepTool = tools.grep
/** Runs an executable with arguments. */
export const bash: BashTool = tools.bash
