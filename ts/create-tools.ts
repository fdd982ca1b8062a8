import { checkJournal } from './journal/check-journal.js'
import { checked } from './option-checks.js'
import { type BoundToolOptions, checkSwitch, noteGranted, ownOptions } from './settings.js'
import { createBashTool, createStreamingBashTool, type BashTool, type StreamingBashTool } from './tools/bash.js'
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

/** The same with a `bash` that yields its output while the command runs. */
export type StreamingToolwrightTools = Omit<ToolwrightTools, 'bash'> & { bash: StreamingBashTool }

/** Options of one tool set. */
export interface CreateToolsOptions extends BoundToolOptions {
  /**
   * Whether `bash` yields its output while the command runs, as preliminary results of the AI SDK: all that was
   * printed so far, of a long output its last 4,000 characters, and at the end the whole result.
   * A slow reader holds the command back; one that breaks off stops it. @default false
   */
  streamOutput?: boolean | undefined
}

/**
 * Makes a set of the built-in tools with options of its own.
 *
 * @throws {ToolError} INVALID_INPUT for an option that makes no sense.
 */
export function createTools(options: CreateToolsOptions & { streamOutput: true }): StreamingToolwrightTools
export function createTools(options?: CreateToolsOptions & { streamOutput?: false | undefined }): ToolwrightTools
export function createTools(options: CreateToolsOptions): StreamingToolwrightTools | ToolwrightTools
export function createTools(options: CreateToolsOptions = {}): StreamingToolwrightTools | ToolwrightTools {
  const { streamOutput, bound } = checked('createTools', () => {
    const { streamOutput: streams = false, ...given } = ownOptions(options ?? {}, ['journal', 'streamOutput'])
    if (given.journal !== undefined) checkJournal(given.journal)
    checkSwitch('streamOutput', streams)
    return { streamOutput: streams, bound: given }
  })
  noteGranted(bound)
  const files = {
    read: createReadTool(bound),
    write: createWriteTool(bound),
    edit: createEditTool(bound),
    grep: createGrepTool(bound),
  }
  return streamOutput
    ? { ...files, bash: createStreamingBashTool(bound) }
    : { ...files, bash: createBashTool(bound) }
}

/** The built-in tools with the options of `configureTools`. */
export const tools: ToolwrightTools = createTools()
