import { callable, type Checks, checked, optional, parseOptions, positive } from '../../core/options.js'
import { directoryPath, listToolFiles, TOOLS_DIRECTORY } from './tool-files.js'
import { loadChecks, type LoadedTools, type LoadToolsOptions, loadVersions } from './load-tools.js'

/** How tools are watched. */
export interface WatchToolsOptions extends LoadToolsOptions {
  /** Called after every change with the tools as they are now. */
  onChange?: ((loaded: LoadedTools) => void) | undefined
  /** How often the directory is polled, in milliseconds. @default 250 */
  pollMs?: number | undefined
}

/** Tools that follow their files. */
export interface WatchedTools extends LoadedTools {
  /** Stops watching. The tools stay as they are. */
  close(): void
}

const watchChecks = {
  ...loadChecks,
  onChange: optional(callable<(loaded: LoadedTools) => void>()),
  pollMs: optional(positive(), 250),
} satisfies Checks<WatchToolsOptions>

/**
 * Loads the tools of a directory, and again whenever one of its files changes: for development.
 *
 * `createThread({ tools: () => watched.tools })` calls the tools of the moment. Modules that a tool file imports
 * are not loaded again, and every version stays in memory. Watching does not keep the process alive.
 *
 * @param directory @default 'agents/tools'
 * @throws {ToolError} INVALID_INPUT for an invalid option.
 */
export async function watchTools(directory: string | URL = TOOLS_DIRECTORY, options: WatchToolsOptions = {}): Promise<WatchedTools> {
  const { timeoutMs, onChange, pollMs } = parseOptions('watchTools', options, watchChecks)
  const folder = checked('watchTools', () => directoryPath(directory))
  const seen = new Map<string, string>()
  const load = (): Promise<LoadedTools> =>
    // The first version of a file is the module that other imports of it get.
    loadVersions(folder, timeoutMs, ({ path, fingerprint }) => {
      const first = seen.get(path)
      if (first === undefined) seen.set(path, fingerprint)
      return first === undefined || first === fingerprint ? undefined : fingerprint
    })
  let fingerprint = await fingerprintOf(folder)
  let loaded = await load()
  let closed = false
  const reload = async (): Promise<void> => {
    const latest = await fingerprintOf(folder)
    if (closed || latest === fingerprint) return
    const reloaded = await load()
    if (closed) return
    fingerprint = latest
    loaded = reloaded
    onChange?.(loaded)
  }
  let timer: NodeJS.Timeout
  const poll = (): void => {
    timer = setTimeout(async () => {
      await reload().catch((error: unknown) => console.warn('[toolwright] watchTools:', error))
      if (!closed) poll()
    }, pollMs).unref()
  }
  poll()
  return {
    get tools() {
      return loaded.tools
    },
    get errors() {
      return loaded.errors
    },
    close() {
      closed = true
      clearTimeout(timer)
    },
  }
}

async function fingerprintOf(directory: string): Promise<string> {
  const { files, errors } = await listToolFiles(directory)
  return JSON.stringify([files.map(({ base, fingerprint }) => [base, fingerprint]), errors.map(({ file }) => file)])
}
