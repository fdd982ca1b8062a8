import { accessSync, constants, realpathSync, statSync } from 'node:fs'
import { basename, isAbsolute, join } from 'node:path'

const DEFAULT_PATH = '/bin:/usr/bin'
/** Directories of the system. No command has put a bash there, even if all of `/` is writable. */
const ofSystem: ReadonlySet<string> = new Set(['/bin', '/usr/bin', '/usr/local/bin', '/opt/homebrew/bin'])

/**
 * The path of bash in `PATH`, if there is one.
 *
 * @param writable directories that commands may write to: a command could replace a bash in one of them.
 */
export function findBash(writable: readonly string[]): string | undefined {
  const isWritable = (path: string): boolean => writable.some((root) => root === '/' || path === root || path.startsWith(`${root}/`))
  for (const directory of (process.env['PATH'] ?? DEFAULT_PATH).split(':')) {
    if (!isAbsolute(directory)) continue
    const path = join(directory, 'bash')
    const real = realBash(path)
    if (real === undefined) continue
    if (ofSystem.has(directory) || !(isWritable(path) || isWritable(real))) return path
  }
  return undefined
}

/** The real path of a bash; `undefined` for other programs, such as busybox's applet, which parses lines like `sh`. */
function realBash(path: string): string | undefined {
  try {
    const real = realpathSync(path)
    accessSync(real, constants.X_OK)
    return statSync(real).isFile() && /^bash(?:$|[-.\d])/u.test(basename(real)) ? real : undefined
  } catch {
    return undefined
  }
}
