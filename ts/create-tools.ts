import { checkOptions, type ToolOptions } from './settings.js'
import { createBashTool, type BashTool } from './tools/bash.js'
import { createEditTool, type EditTool } from './tools/edit.js'
import { createGrepTool, type GrepTool } from './tools/grep.js'
import { createReadTool, type ReadTool } from './tools/read.js'
import { createWriteTool, type WriteTool } from './tools/write.js'

/** The five built-in tools, to be passed to an agent. A type, so that it fits the SDK's `ToolSet`. */
export type ToolwrightTools = {
  read: ReadTool
  write: WriteTool
  edit: EditTool
  grep: GrepTool
  bash: BashTool
}

/**
 * Makes a set of the built-in tools with options of its own.
 *
 * @throws {ToolError} INVALID_INPUT for an option that makes no sense.
 */
export function createTools(options: ToolOptions = {}): ToolwrightTools {
  checkOptions(options)
  const bound = { ...options }
  return {
    read: createReadTool(bound),
    write: createWriteTool(bound),
    edit: createEditTool(bound),
    grep: createGrepTool(bound),
    bash: createBashTool(bound),
  }
}

/** The built-in tools with the options of `configureTools`. */
export const tools: ToolwrightTools = createTools()
