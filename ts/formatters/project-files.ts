/** What a project has, read below its root and once for a call. */
import { posix } from 'node:path'
import { grantedRoot } from '../core/grants.js'
import { call as callAddon, fileText } from '../core/native.js'
import { entriesIn, realRoot } from '../core/near-paths.js'
import type { ProjectFiles } from './known-formatters.js'

/** The largest file of settings that is read, in bytes. */
const MAX_SETTINGS_BYTES = 1_000_000
const READ_MS = 10_000

/** A root directory, and the object that grants it. */
export interface ProjectRoot {
  rootDir: string
  rootHolder: object
}

/** The text of a file below the root; `undefined` without one, and for what is no UTF-8. */
export async function projectText(
  root: ProjectRoot,
  path: string,
  limitBytes: number,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  try {
    const bytes = await callAddon({ signal, timeoutMs: READ_MS, what: `read ${path}` }, (addon, cancel) =>
      addon.read(grantedRoot(addon, root), path, limitBytes, false, cancel),
    )
    const text = fileText(bytes)
    return text.includes('\u{fffd}') ? undefined : text
  } catch {
    return undefined
  }
}

/** The files of a project. */
export function projectFiles(root: ProjectRoot, signal: AbortSignal | undefined): ProjectFiles {
  const texts = new Map<string, Promise<string | undefined>>()
  return {
    read: (path) => {
      const text = texts.get(path) ?? projectText(root, path, MAX_SETTINGS_BYTES, signal)
      texts.set(path, text)
      return text
    },
    has: async (path) => {
      const { dir, base } = posix.parse(path)
      const entries = await entriesIn(await realRoot(root.rootDir), dir)
      return entries?.some(({ name }) => name === base) === true
    },
  }
}
