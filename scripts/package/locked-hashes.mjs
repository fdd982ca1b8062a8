import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The lockfiles of the repository. */
export const LOCKFILES = [
  'package-lock.json',
  'scripts/package/tools/package-lock.json',
  'scripts/release/tools/package-lock.json',
  'site/package-lock.json',
]

/**
 * A package without a hash is installed unchecked. npm writes none for what it cannot see in its registry, which may be so for
 * other platforms' binaries of development tools. No user installs those.
 */
export function packagesWithoutHash(folder, lockfiles = LOCKFILES) {
  return lockfiles.flatMap((lockfile) => {
    const { packages } = JSON.parse(readFileSync(join(folder, lockfile), 'utf8'))
    return Object.entries(packages)
      .filter(([path, { integrity, link, dev, optional }]) => path !== '' && !link && integrity === undefined && !(dev && optional))
      .map(([path]) => `${lockfile}: ${path} has no integrity`)
  })
}
