import { realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import type * as Addon from '../../index.js'
import { seenAt } from './granted-root.js'
import type { SandboxOptions } from './sandbox.js'

/** Which directories the paths of some options were when they were given. */
const notes = new WeakMap<SandboxOptions, ReadonlyMap<string, string>>()

/** What commands of a root are granted besides it. */
const known = new WeakMap<Addon.GrantedRoot, WeakMap<SandboxOptions, Addon.CommandGrants>>()

/** Notes which directories commands are granted, before the first of them runs. */
export function noteGrants(sandbox: SandboxOptions | undefined, rootDir: string | undefined): void {
  const paths = [...(sandbox?.writableRoots ?? []), ...(sandbox?.readable ?? [])]
  if (sandbox === undefined || paths.length === 0) return
  const root = rootDir === undefined ? undefined : realPath(rootDir)
  const seen = new Map<string, string>()
  for (const path of paths) {
    const place = placeOf(path, root)
    const found = place === undefined ? undefined : seenAt(place)
    if (found !== undefined) seen.set(path, found)
  }
  notes.set(sandbox, seen)
}

/** The grants as the addon takes them: the same for every command of a root. */
export function commandGrants(addon: typeof Addon, root: Addon.GrantedRoot, sandbox: SandboxOptions): Addon.CommandGrants {
  let ofRoot = known.get(root)
  if (ofRoot === undefined) known.set(root, (ofRoot = new WeakMap()))
  let grants = ofRoot.get(sandbox)
  if (grants === undefined) {
    const seen = notes.get(sandbox)
    const given = (paths: readonly string[] = []): Addon.GrantedPath[] =>
      paths.map((path) => {
        const noted = seen?.get(path)
        return noted === undefined ? { path } : { path, seen: noted }
      })
    grants = new addon.CommandGrants(root, {
      writableRoots: given(sandbox.writableRoots),
      readable: given(sandbox.readable),
      denyRead: [...(sandbox.denyRead ?? [])],
      home: home(),
    })
    ofRoot.set(sandbox, grants)
  }
  return grants
}

/** `undefined` for a relative path whose root is not known yet. */
function placeOf(path: string, root: string | undefined): string | undefined {
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
