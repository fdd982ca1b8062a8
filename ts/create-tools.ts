import { checkJournal } from './journal/check-journal.js'
import { checked } from './option-checks.js'
import { type BoundToolOptions, checkSwitch, configuredRoot, documentedOptions, noteGranted, ownOptions, resolveSettings, type Settings } from './settings.js'
import { createBashTool, createStreamingBashTool, type BashTool, type StreamingBashTool } from './tools/bash.js'
import { describeTools, type Descriptions, documented, takenDescriptions, type ToolName } from './tools/descriptions.js'
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
  /**
   * What the model is told about tools, by their names: a text in place of ours, or a function that is given ours and
   * adds to it. @default made from the options: root directory, network, writable directories, limits
   */
  descriptions?: Descriptions | undefined
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
  const { streamOutput, bound, texts } = checked('createTools', () => {
    const { streamOutput: streams = false, descriptions, ...given } = ownOptions(options ?? {}, ['journal', 'streamOutput', 'descriptions'])
    if (given.journal !== undefined) checkJournal(given.journal)
    checkSwitch('streamOutput', streams)
    const own = takenDescriptions(descriptions)
    const { rootDir, settings } = settingsNow(given)
    return { streamOutput: streams, bound: given, texts: describeTools(settings, rootDir, own) }
  })
  noteGranted(bound)
  const files = fileTools(bound, texts)
  return streamOutput
    ? { ...files, bash: createStreamingBashTool(bound, texts.bash) }
    : { ...files, bash: createBashTool(bound, texts.bash) }
}

function fileTools(bound: BoundToolOptions, texts: Record<ToolName, string>): Omit<ToolwrightTools, 'bash'> {
  return {
    read: createReadTool(bound, texts.read),
    write: createWriteTool(bound, texts.write),
    edit: createEditTool(bound, texts.edit),
    grep: createGrepTool(bound, texts.grep),
  }
}

/** The settings outside of any context. A working directory that is gone is told by the first call. */
function settingsNow(bound: BoundToolOptions): { rootDir: string | undefined; settings: Settings } {
  const rootDir = bound.rootDir ?? configuredRoot()
  return { rootDir, settings: resolveSettings(undefined, rootDir === undefined ? { ...bound, rootDir: '/' } : bound) }
}

/** The built-in tools with the options of `configureTools`, described as the documents describe them. */
export const tools: ToolwrightTools = { ...fileTools(documentedOptions, documented), bash: createBashTool(documentedOptions, documented.bash) }
