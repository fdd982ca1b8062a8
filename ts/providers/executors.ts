import type { FlexibleSchema } from 'ai'
import { type AgentsEditor, type AgentsShell, createAgentsEditor, createAgentsShell } from './agents.js'
import { type AnthropicBashFunction, type AnthropicBashInput, bashInput, createBash } from './anthropic/bash.js'
import { createMemory, type MemoryFunction } from './anthropic/memory.js'
import { createTextEditor, type TextEditorFunction, type TextEditorOutput } from './anthropic/text-editor.js'
import { type CodexTools, createCodexTools } from './codex/exec-command.js'
import { type ApplyPatchFunction, createApplyPatch } from './openai/apply-patch.js'
import { createLocalShell, type LocalShellFunction } from './openai/local-shell.js'
import { createShell, type ShellFunction } from './openai/shell.js'
import { parseExecutorOptions, type ProviderExecutorsOptions } from './settings.js'

/** Functions for the `execute` of tools that providers define. */
export interface ProviderExecutors<MEMORY = MemoryFunction | undefined> extends AsyncDisposable {
  /** For `openai.tools`. They never throw: a failure is an output, as the API expects. */
  readonly openai: {
    readonly shell: ShellFunction
    readonly localShell: LocalShellFunction
    readonly applyPatch: ApplyPatchFunction
  }
  /** For `anthropic.tools`. They throw on failure, and the AI SDK sends the text as an error. */
  readonly anthropic: {
    /** One session: directory, variables and functions stay from one command to the next. */
    readonly bash: AnthropicBashFunction
    /** The `inputSchema` of that tool. With the AI SDK's own schema, a model cannot restart the session. */
    readonly bashInput: FlexibleSchema<AnthropicBashInput>
    readonly textEditor: TextEditorFunction
    /** The `toModelOutput` of that tool, with which the model sees the images that it views. Other results are as they are without it. */
    readonly textEditorOutput: TextEditorOutput
    readonly memory: MEMORY
  }
  /**
   * Codex's `exec_command` and `write_stdin`, as complete tools for the AI SDK. A command runs until it ends, its run is
   * aborted, or the executors are closed.
   */
  readonly codex: CodexTools
  /** For `@openai/agents-core`. */
  readonly agents: {
    readonly shell: AgentsShell
    readonly editor: AgentsEditor
  }
  /** Ends language servers and the sessions of `codex`, and removes the files of the `anthropic.bash` session. The end of the process does both too. */
  close(): Promise<void>
}

/**
 * Makes executors for the tools that providers define. Calls are confined, recorded and aborted like those of `createTools`.
 * Each set has a bash session of its own.
 *
 * @example
 * ```ts
 * const executors = providerExecutors({ rootDir: './project', memoryDir: './memories' })
 * const tools = checkProviderTools({
 *   bash: { ...anthropic.tools.bash_20250124({ execute: executors.anthropic.bash }), inputSchema: executors.anthropic.bashInput },
 *   str_replace_based_edit_tool: anthropic.tools.textEditor_20250728({ execute: executors.anthropic.textEditor }),
 *   memory: anthropic.tools.memory_20250818({ execute: executors.anthropic.memory }),
 * })
 * ```
 * @throws {ToolError} INVALID_INPUT for an invalid option.
 */
export function providerExecutors(options: ProviderExecutorsOptions & { memoryDir: string }): ProviderExecutors<MemoryFunction>
export function providerExecutors(options?: ProviderExecutorsOptions): ProviderExecutors
export function providerExecutors(options: ProviderExecutorsOptions = {}): ProviderExecutors {
  const { memoryDir, settings } = parseExecutorOptions(options)
  const shell = createShell(settings)
  const applyPatch = createApplyPatch(settings)
  const { bash, close: closeBash } = createBash(settings)
  const { tools: codex, close: closeCodex } = createCodexTools(settings)
  const { textEditor, textEditorOutput } = createTextEditor(settings)
  const close = async (): Promise<void> => {
    await Promise.all([closeBash(), closeCodex(), settings.followers.languageServers?.close()])
  }
  return {
    openai: { shell, localShell: createLocalShell(settings), applyPatch },
    anthropic: {
      bash,
      bashInput,
      textEditor,
      textEditorOutput,
      memory: memoryDir === undefined ? undefined : createMemory(settings, memoryDir),
    },
    codex,
    agents: { shell: createAgentsShell(shell), editor: createAgentsEditor(applyPatch) },
    close,
    [Symbol.asyncDispose]: close,
  }
}
