import { boolean, checked, type Checks, invalid, oneOf, optional, parseOptions, path, positive, wholeNumber } from '../core/options.js'
import { LanguageServers } from '../language-servers/language-servers.js'
import { type LanguageServerOptions, parseLanguageServers } from '../language-servers/options.js'
import { type UnseenChanges, unseenChanges } from '../journal/seen-files.js'
import { SeenFilesOfSet } from '../toolkit/seen-files-of-set.js'
import type { Followers } from '../toolkit/tools/model-output.js'
import { BASH_TOOL_MAX_TIMEOUT_MS, boundChecks, type BoundToolOptions, noteGranted, type TrackedToolOptions } from '../toolkit/settings.js'

/** Options of {@link providerExecutors}: those of `createTools` for files and commands, and its own. */
export interface ProviderExecutorsOptions extends BoundToolOptions {
  /** The directory that Anthropic's memory tool knows as `/memories`, created if it is missing. @default no memory */
  memoryDir?: string | undefined
  /**
   * The longest timeout that a model may ask for, in milliseconds, at most one hour. If the model asks for none,
   * `toolTimeoutMs` applies.
   * @default 600000
   */
  maxTimeoutMs?: number | undefined
  /** The most characters of a file that one view of Anthropic's editor shows; set it to the tool's `maxCharacters`. @default no limit */
  maxCharacters?: number | undefined
  /** What happens to changes that would undo what the model has not been shown: see `createTools`. @default 'refuse' */
  unseenChanges?: UnseenChanges | undefined
  /**
   * Whether `view` of Anthropic's editor shows what is in documents, as `read` of `createTools` does, and its other commands change the cells of
   * notebooks. An image reaches the model where the tool has `toModelOutput: executors.anthropic.textEditorOutput`, and `limits.image` allows it.
   * @default false
   */
  documents?: boolean | undefined
  /** Language servers: answers of the editors end with new problems, as for `createTools`. On Linux only. @default none */
  languageServers?: 'installed' | LanguageServerOptions | undefined
  /** Whether the editors format a file after a change, as for `createTools`. @default no formatting */
  formatOnEdit?: 'project' | undefined
}

/** The default of `maxTimeoutMs`. */
const MAX_TIMEOUT_MS = 600_000

const checks = {
  ...boundChecks,
  memoryDir: optional(path),
  maxTimeoutMs: optional(positive(BASH_TOOL_MAX_TIMEOUT_MS), MAX_TIMEOUT_MS),
  maxCharacters: optional(wholeNumber(1)),
  unseenChanges: optional(unseenChanges, 'refuse'),
  documents: optional(boolean, false),
  languageServers: optional(parseLanguageServers),
  formatOnEdit: optional(oneOf('project')),
} satisfies Checks<ProviderExecutorsOptions>

/** Settings of every executor. */
export interface ProviderSettings {
  /** The options that executors share with `createTools`. */
  bound: TrackedToolOptions
  /** The longest timeout that a model may ask for. */
  maxTimeoutMs: number
  /** The most characters of a file that one view shows; `undefined` for the limit in bytes alone. */
  maxCharacters: number | undefined
  /** Whether the editor shows what is in documents. */
  documents: boolean
  /** What follows a change of the editors. */
  followers: Followers
}

/** @throws {ToolError} INVALID_INPUT for an invalid option. */
export function parseExecutorOptions(options: ProviderExecutorsOptions): { memoryDir: string | undefined; settings: ProviderSettings } {
  const parsed = parseOptions('providerExecutors', options, checks)
  const { memoryDir, maxTimeoutMs, maxCharacters, unseenChanges: unseen, documents, languageServers, formatOnEdit, ...own } = parsed
  const bound: TrackedToolOptions = { ...own, seen: SeenFilesOfSet.for(unseen, false) }
  checked('providerExecutors', () => {
    for (const name of ['runId', 'nodeId'] as const) {
      if (bound[name] !== undefined && bound.journal === undefined) throw invalid(`${name} needs a journal: give one too.`)
    }
  })
  noteGranted(bound)
  const followers: Followers = {
    formats: formatOnEdit === 'project',
    languageServers: languageServers && new LanguageServers(languageServers),
  }
  return { memoryDir, settings: { bound, maxTimeoutMs, maxCharacters, documents, followers } }
}
