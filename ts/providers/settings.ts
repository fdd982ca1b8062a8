import { checked, type Checks, invalid, optional, parseOptions, path, positive, wholeNumber } from '../core/options.js'
import { BASH_TOOL_MAX_TIMEOUT_MS, boundChecks, type BoundToolOptions, noteGranted } from '../toolkit/settings.js'

/** What `providerExecutors` takes: the options of `createTools` for files and commands, and its own. */
export interface ProviderExecutorsOptions extends BoundToolOptions {
  /** The directory that Anthropic's memory tool knows as `/memories`. It is made if it is missing. @default no memory */
  memoryDir?: string | undefined
  /**
   * The longest time that a model may ask for, in milliseconds, at most one hour. Without a wish of the model
   * `toolTimeoutMs` counts. @default 600000
   */
  maxTimeoutMs?: number | undefined
  /** The most characters of a file that one view of Anthropic's editor shows: what its `maxCharacters` says. @default no limit */
  maxCharacters?: number | undefined
}

/** The longest time that a model may ask for, unless the host sets another. */
const MAX_TIMEOUT_MS = 600_000

const checks = {
  ...boundChecks,
  memoryDir: optional(path),
  maxTimeoutMs: optional(positive(BASH_TOOL_MAX_TIMEOUT_MS), MAX_TIMEOUT_MS),
  maxCharacters: optional(wholeNumber(1)),
} satisfies Checks<ProviderExecutorsOptions>

/** What every executor is made of. */
export interface ProviderSettings {
  /** The options that `createTools` takes as well. */
  bound: BoundToolOptions
  /** The longest time that a model may ask for. */
  maxTimeoutMs: number
  /** The most characters of a file that one view shows; `undefined` for no limit but that in bytes. */
  maxCharacters: number | undefined
}

/** @throws {ToolError} INVALID_INPUT for an option that makes no sense. */
export function parseExecutorOptions(options: ProviderExecutorsOptions): { memoryDir: string | undefined; settings: ProviderSettings } {
  const { memoryDir, maxTimeoutMs, maxCharacters, ...bound } = parseOptions('providerExecutors', options, checks)
  checked('providerExecutors', () => {
    for (const name of ['runId', 'nodeId'] as const) {
      if (bound[name] !== undefined && bound.journal === undefined)
        throw invalid(`${name} names what a journal records: give a journal too.`)
    }
  })
  noteGranted(bound)
  return { memoryDir, settings: { bound, maxTimeoutMs, maxCharacters } }
}
