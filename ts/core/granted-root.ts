import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import type * as Addon from '../../index.js'

/** The root directory of one tool set, context or process. */
interface Root {
  path: string
  /** Which directory it was when it was granted, where it was there. */
  seen: string | undefined
  native?: Addon.GrantedRoot
}

/** By what has granted them: options of a tool set or of the process, a context, the working directory. */
const roots = new WeakMap<object, Root>()

/** Notes which directory a root is, before anything is done in it. `like` has perhaps granted the same. */
export function noteRoot(holder: object, rootDir: unknown, like?: object): void {
  if (typeof rootDir !== 'string' || rootDir === '' || roots.has(holder)) return
  const path = resolve(rootDir)
  const known = like === undefined ? undefined : roots.get(like)
  roots.set(holder, known?.path === path ? known : { path, seen: seenAt(path) })
}

/** The root as the addon takes it: the same for every call, as long as its path is. */
export function grantedRoot(addon: typeof Addon, { rootHolder, rootDir }: { rootHolder: object; rootDir: string }): Addon.GrantedRoot {
  let root = roots.get(rootHolder)
  if (root?.path !== rootDir) {
    root = { path: rootDir, seen: undefined }
    roots.set(rootHolder, root)
  }
  return (root.native ??= new addon.GrantedRoot(root.path, root.seen))
}

/** Device and inode of a directory that is there. */
export function seenAt(path: string): string | undefined {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false })
    return found?.isDirectory() === true ? `${found.dev}:${found.ino}` : undefined
  } catch {
    // The first call says what is wrong with it.
    return undefined
  }
}
