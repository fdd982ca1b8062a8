import { mkdirSync, statSync } from 'node:fs'
import * as nodeModule from 'node:module'
import { fileURLToPath } from 'node:url'

/** When compiled code is stored, in milliseconds: after the start, for which a client waits. */
const STORE_AFTER_MS = 2_000

/**
 * Keeps compiled code between starts, which saves a sixth of the start of a server.
 *
 * Node runs what is stored without comparing it to its source. So the directory lies beside the code of this package: who
 * can write there can change the code itself. Without such a directory of this user's own, nothing is kept.
 *
 * @param directory for tests
 */
export function keepCompiledCode(
  directory = fileURLToPath(new URL('../../node_modules/.cache/toolwright-compiled', import.meta.url)),
): void {
  const { enableCompileCache, flushCompileCache } = nodeModule as Partial<typeof nodeModule>
  // Bun has neither function. A directory that the user has chosen stays.
  if (enableCompileCache === undefined || flushCompileCache === undefined || nodeModule.getCompileCacheDir() !== undefined) return
  if (!isOwn(directory)) return
  enableCompileCache(directory)
  // A client may kill its server, and then nothing is stored at the end.
  setTimeout(flushCompileCache, STORE_AFTER_MS).unref()
}

/** Makes the directory if it is missing, and checks that nobody else can write there. */
function isOwn(directory: string): boolean {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    const { uid, mode } = statSync(directory)
    return uid === process.getuid?.() && (mode & 0o022) === 0
  } catch {
    return false
  }
}
