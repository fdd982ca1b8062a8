import { checked, checkFunction, givenOptions, invalid } from '../../core/options.js'
import { listToolFiles } from './list-tool-files.js'
import { directoryPath, TOOLS_DIRECTORY } from './tools-directory.js'
import { type LoadedTools, type LoadToolsOptions, loadVersions } from './load-tools.js'

/** How tools are watched. */
export interface WatchToolsOptions extends LoadToolsOptions {
  /** Told after every change, with what is loaded now. */
  onChange?: ((loaded: LoadedTools) => void) | undefined
  /** How often the directory is looked at, in milliseconds. @default 250 */
  pollMs?: number | undefined
}

/** Tools that follow their files. */
export interface WatchedTools extends LoadedTools {
  /** Ends it; the tools stay as they are. */
  close(): void
}

/**
 * Loads the tools of a directory, and again whenever one of its files changes: for development.
 *
 * `createThread({ tools: () => watched.tools })` calls them as they are at the time of each call. What a
 * tool file imports itself is not loaded again, and every version stays in memory. It does not keep the
 * process alive.
 *
 * @param directory @default 'agents/tools'
 * @throws {ToolError} INVALID_INPUT for an option that makes no sense.
 */
export async function watchTools(directory: string | URL = TOOLS_DIRECTORY, options: WatchToolsOptions = {}): Promise<WatchedTools> {
  const { onChange, pollMs = 250, ...rest } = givenOptions('watchTools', options, ['timeoutMs', 'onChange', 'pollMs'])
  const folder = checked('watchTools', () => directoryPath(directory))
  if (onChange !== undefined) checkFunction('onChange', onChange)
  if (typeof pollMs !== 'number' || !(pollMs > 0)) throw invalid('pollMs must be positive.')
  const seen = new Map<string, string>()
  const load = (): Promise<LoadedTools> =>
    // The first version of a file is the one that everybody else imports.
    loadVersions(folder, rest, ({ path, fingerprint }) => {
      const first = seen.get(path)
      if (first === undefined) seen.set(path, fingerprint)
      return first === undefined || first === fingerprint ? undefined : fingerprint
    })
  let fingerprint = await fingerprintOf(folder)
  let loaded = await load()
  let closed = false
  const look = async (): Promise<void> => {
    const now = await fingerprintOf(folder)
    if (closed || now === fingerprint) return
    const next = await load()
    if (closed) return
    fingerprint = now
    loaded = next
    onChange?.(loaded)
  }
  let timer: NodeJS.Timeout
  const again = (): void => {
    timer = setTimeout(() => {
      look()
        .catch((error: unknown) => console.warn('[toolwright] watchTools:', error))
        .finally(() => {
          if (!closed) again()
        })
    }, pollMs).unref()
  }
  again()
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

async function fingerprintOf(directory: string | URL): Promise<string> {
  const { files, errors } = await listToolFiles(directoryPath(directory))
  return JSON.stringify([files.map(({ base, fingerprint }) => [base, fingerprint]), errors.map(({ file }) => file)])
}
