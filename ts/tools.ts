/** `toolwright/tools`: the names and signatures of `smithers-orchestrator/tools`. */
import { tools } from './create-tools.js'

export {
  getToolContext,
  getToolIdempotencyKey,
  nextToolSeq,
  runWithToolContext,
  type ToolCallRecord,
  type ToolContext,
} from './context.js'
export {
  defineTool,
  type DefinedTool,
  type DefinedToolContext,
  type DefineToolOptions,
  type ToolCallOptions,
} from './define-tool.js'
export {
  BASH_TOOL_MAX_ARG_LENGTH,
  BASH_TOOL_MAX_ARGS,
  BASH_TOOL_MAX_COMMAND_LENGTH,
  BASH_TOOL_MAX_CWD_LENGTH,
  BASH_TOOL_MAX_OUTPUT_BYTES,
  BASH_TOOL_MAX_TIMEOUT_MS,
} from './tools/bash-limits.js'
export { bashTool } from './tools/bash.js'
export { editFileTool } from './tools/edit.js'
export { grepTool } from './tools/grep.js'
export { readFileTool } from './tools/read.js'
export { writeFileTool } from './tools/write.js'
export {
  getDefinedToolMetadata,
  type DefinedToolMetadata,
  type ToolRevertContext,
} from './tool-metadata.js'

export { tools }
/** The built-in tools one by one. */
export const { read, write, edit, grep, bash } = tools
