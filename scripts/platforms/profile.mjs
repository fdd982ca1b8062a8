// A container's profile with the rules that docs/platforms.md recommends: those of docs/containers, and a default profile below them.
//
// Docker's own is compiled into its daemon. Debian's containers-common has the one that Podman takes, in the same format.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../setup/paths.mjs'
import { cache } from './cache.mjs'
import { download, unpack } from './debian.mjs'

const SUITE = 'trixie'
const PACKAGE = 'golang-github-containers-common'
export const RULES = 'docs/containers/namespaces.json'

const read = (file) => JSON.parse(readFileSync(file, 'utf8'))

/** The file of the profile. */
export function profileWithNamespaces() {
  const folder = join(cache, 'unpacked', `${SUITE}-amd64`, PACKAGE)
  if (!existsSync(folder)) unpack(download(SUITE, 'amd64', [PACKAGE]), folder)
  const base = read(join(folder, 'usr/share/containers/seccomp.json'))
  const file = join(cache, 'profile.json')
  writeFileSync(file, JSON.stringify({ ...base, syscalls: [...base.syscalls, ...read(join(root, RULES)).syscalls] }))
  return file
}
