/**
 * A copy of the addon that nothing can change. The system reads the pages of a loaded file when they are first used, so who writes to the
 * file changes the running program.
 */
import { closeSync, constants, copyFileSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads'
import { isWithin, realPath, writablePlaceOf } from './writable-places.js'

/** The threads of this process share the copy, since they share what the addon keeps. */
const KEY = 'toolwright.addon'

/**
 * The path under which this process can load the file: that of a copy without a name, if the file lies in a directory that calls may write.
 * `undefined`, where it does not, or where no copy can be made.
 */
export function privateCopy(file: string): string | undefined {
  if (process.platform !== 'linux' || !isWritable(file)) return undefined
  const known = getEnvironmentData(KEY)
  if (typeof known === 'string') return known
  for (const parent of [tmpdir(), '/dev/shm', '/var/tmp']) {
    if (writablePlaceOf(parent) !== undefined) continue
    const path = copyBelow(parent, file)
    if (path === undefined) continue
    setEnvironmentData(KEY, path)
    return path
  }
  return undefined
}

/** The addon may be loaded before anything has named a root, which is the working directory then. */
function isWritable(file: string): boolean {
  if (writablePlaceOf(file) !== undefined) return true
  try {
    return isWithin(realPath(process.cwd()), realPath(file))
  } catch {
    return false
  }
}

/** The descriptor stays open as long as the process. */
function copyBelow(parent: string, file: string): string | undefined {
  let folder: string | undefined
  try {
    folder = mkdtempSync(join(parent, 'toolwright-addon-'))
    const copy = join(folder, 'addon.node')
    copyFileSync(file, copy, constants.COPYFILE_FICLONE)
    return `/proc/self/fd/${openSync(copy, 'r')}`
  } catch {
    return undefined
  } finally {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
  }
}

/** Whether a directory lets programs be mapped is found by loading; a copy that cannot be loaded is closed. */
export function forgetCopy(path: string): void {
  setEnvironmentData(KEY, undefined)
  closeSync(Number(path.slice(path.lastIndexOf('/') + 1)))
}
