/**
 * Directories that a host grants to its tools, by their identity: another directory that later gets the same path is not
 * granted. The identity of a path is noted when the options are given.
 */
import { realpathSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import type * as Addon from '../../index.js'
import type { SandboxOptions } from './sandbox.js'
import { tellOfWritableHost } from './host-program.js'
import { noteWritablePlace } from './writable-places.js'

interface Root {
  path: string
  /** The identity of the directory when it was granted; `undefined` if there was none. */
  identity: string | undefined
  native?: Addon.GrantedRoot
  /** A fork stands in the place of the directory. */
  isFork?: boolean
}

/** Grants by their source: options of a tool set or of the process, a context, the working directory. */
const roots = new WeakMap<object, Root>()

/** The last roots by their path. A context may be made for each call, and to find a directory again takes as long as a small read. */
const lastRoots = new Map<string, WeakRef<Root>>()
const MAX_LAST = 64

/** Notes the identity of a root before its first use. `like` may have granted the same root. */
export function noteRoot(holder: object, rootDir: unknown, like?: object): void {
  if (typeof rootDir !== 'string' || rootDir === '' || roots.has(holder)) return
  const path = resolve(rootDir)
  noteWritablePlace(path)
  const known = like === undefined ? undefined : roots.get(like)
  roots.set(holder, known?.path === path ? known : rootAt(path))
}

/** The roots of forks, by the objects that callers have. */
const forks = new WeakMap<object, Root>()

/** Notes that an object is a fork of the directory at `path`, in whose place tools get `native`. */
export function noteFork(fork: object, path: string, native: Addon.GrantedRoot): void {
  forks.set(fork, { path, identity: undefined, native, isFork: true })
}

/** The path of the directory that an object is a fork of; `undefined` for any other value. */
export function forkedPath(value: unknown): string | undefined {
  return typeof value === 'object' && value !== null ? forks.get(value)?.path : undefined
}

/** What the addon gets for a fork; `undefined` for any other object. */
export const nativeFork = (fork: object): Addon.GrantedRoot | undefined => forks.get(fork)?.native

/** Has a source of grants work in a fork. */
export function noteForkAsRoot(holder: object, fork: object): void {
  const root = forks.get(fork)
  if (root !== undefined) roots.set(holder, root)
}

/** Whether a source of grants works in a fork. */
export const isForkAsRoot = (holder: object): boolean => roots.get(holder)?.isFork === true

/** The directory that is there now. */
function rootAt(path: string): Root {
  const last = lastRoots.get(path)?.deref()
  if (last?.native?.isCurrent() === true) return last
  const root = { path, identity: identityOf(path) }
  if (lastRoots.size >= MAX_LAST) lastRoots.clear()
  lastRoots.set(path, new WeakRef(root))
  return root
}

/** The root for the addon: the same object for every call, as long as the path stays the same. */
export function grantedRoot(addon: typeof Addon, { rootHolder, rootDir }: { rootHolder: object; rootDir: string }): Addon.GrantedRoot {
  let root = roots.get(rootHolder)
  if (root?.path !== rootDir) {
    root = { path: rootDir, identity: undefined }
    roots.set(rootHolder, root)
  }
  root.native ??= new addon.GrantedRoot(root.path, root.identity)
  // A host whose code lies in the directory is not concerned by what changes in a fork of it.
  if (root.isFork !== true) pathOfRoot.set(root.native, root.path)
  return root.native
}

/** Device and inode of a directory; `undefined` if there is none, which the first call reports. */
function identityOf(path: string): string | undefined {
  try {
    const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
    return stats?.isDirectory() === true ? `${stats.dev}:${stats.ino}` : undefined
  } catch {
    return undefined
  }
}

/** The identities of the directories that options grant besides the root, by path. */
const identities = new WeakMap<SandboxOptions, ReadonlyMap<string, string>>()

const pathOfRoot = new WeakMap<Addon.GrantedRoot, string>()

const grantsOfRoots = new WeakMap<Addon.GrantedRoot, WeakMap<SandboxOptions, Addon.CommandGrants>>()

/** Notes the identities of the directories granted to commands, before the first command runs. */
export function noteGrants(sandbox: SandboxOptions | undefined, rootDir: string | undefined): void {
  const paths = [...(sandbox?.writableRoots ?? []), ...(sandbox?.readable ?? [])]
  if (sandbox === undefined || paths.length === 0) return
  const root = rootDir === undefined ? undefined : realPath(rootDir)
  const noted = new Map<string, string>()
  for (const path of paths) {
    const absolute = absolutePath(path, root)
    if (absolute !== undefined && sandbox.writableRoots?.includes(path) === true) noteWritablePlace(absolute)
    const identity = absolute === undefined ? undefined : identityOf(absolute)
    if (identity !== undefined) noted.set(path, identity)
  }
  identities.set(sandbox, noted)
}

/** Notes the grants of options that have one more path than `like`, and returns them. */
export function extendGrants(like: SandboxOptions, sandbox: SandboxOptions, path?: string, identity?: string | undefined): SandboxOptions {
  const noted = new Map(identities.get(like))
  if (path !== undefined && identity !== undefined) noted.set(path, identity)
  identities.set(sandbox, noted)
  return sandbox
}

/** The grants for the addon: the same object for every command of a root. Commands see `fork` in the place of its directory, wherever the root is. */
export function commandGrants(addon: typeof Addon, root: Addon.GrantedRoot, sandbox: SandboxOptions, fork?: object): Addon.CommandGrants {
  let ofRoot = grantsOfRoots.get(root)
  if (ofRoot === undefined) grantsOfRoots.set(root, (ofRoot = new WeakMap()))
  let grants = ofRoot.get(sandbox)
  if (grants === undefined) {
    const rootDir = pathOfRoot.get(root)
    if (rootDir !== undefined) tellOfWritableHost(rootDir, sandbox)
    const noted = identities.get(sandbox)
    const asGranted = (paths: readonly string[] = []): Addon.GrantedPath[] =>
      paths.map((path) => {
        const identity = noted?.get(path)
        return identity === undefined ? { path } : { path, identity }
      })
    const request = {
      writableRoots: asGranted(sandbox.writableRoots),
      readable: asGranted(sandbox.readable),
      denyRead: [...(sandbox.denyRead ?? [])],
      home: home(),
    }
    grants = new addon.CommandGrants(root, request, fork && nativeFork(fork))
    ofRoot.set(sandbox, grants)
  }
  return grants
}

/** The absolute path; `undefined` for a relative path whose root is not known yet. */
function absolutePath(path: string, root: string | undefined): string | undefined {
  if (path === '~' || path.startsWith('~/')) return join(home(), path.slice(1))
  if (path.startsWith('/')) return path
  return root === undefined ? undefined : resolve(root, path)
}

const home = (): string => process.env['HOME'] || homedir()

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}
