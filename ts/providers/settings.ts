import { checked, type Checks, invalid, optional, parseOptions, path, positive, wholeNumber } from '../core/options.js'
import { type UnseenChanges, unseenChanges } from '../journal/seen-files.js'
import { SeenFilesOfSet } from '../toolkit/seen-files-of-set.js'
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
}

/** The default of `maxTimeoutMs`. */
const MAX_TIMEOUT_MS = 600_000

const checks = {
  ...boundChecks,
  memoryDir: optional(path),
  maxTimeoutMs: optional(positive(BASH_TOOL_MAX_TIMEOUT_MS), MAX_TIMEOUT_MS),
  maxCharacters: optional(wholeNumber(1)),
  unseenChanges: optional(unseenChanges, 'refuse'),
} satisfies Checks<ProviderExecutorsOptions>

/** Settings of every executor. */
export interface ProviderSettings {
  /** The options that executors share with `createTools`. */
  bound: TrackedToolOptions
  /** The longest timeout that a model may ask for. */
  maxTimeoutMs: number
  /** The most characters of a file that one view shows; `undefined` for the limit in bytes alone. */
  maxCharacters: number | undefined
}

/** @throws {ToolError} INVALID_INPUT for an invalid option. */
export function parseExecutorOptions(options: ProviderExecutorsOptions): { memoryDir: string | undefined; settings: ProviderSettings } {
  const { memoryDir, maxTimeoutMs, maxCharacters, unseenChanges: unseen, ...own } = parseOptions('providerExecutors', options, checks)
  const bound: TrackedToolOptions = { ...own, seen: SeenFilesOfSet.for(unseen, false) }
  checked('providerExecutors', () => {
    for (const name of ['runId', 'nodeId'] as const) {
      if (bound[name] !== undefined && bound.journal === undefined) throw invalid(`${name} needs a journal: give one too.`)
    }
  })
  noteGranted(bound)
  return { memoryDir, settings: { bound, maxTimeoutMs, maxCharacters } }
}
