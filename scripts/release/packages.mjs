// The seven packages of a release: as folders, as tarballs, and as what is in those.
import { copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { LOCKFILES } from '../package/locked-hashes.mjs'
import { capture } from '../package/npm.mjs'
import { pack } from '../package/pack.mjs'
import { writeSmaller } from '../package/small-tarball.mjs'
import { stageRoot } from '../package/stage-root.mjs'
import { localAddon } from '../package/tarballs.mjs'
import { root } from '../setup/paths.mjs'

export const readJson = (file) => JSON.parse(readFileSync(file, 'utf8'))
export const writeJson = (file, value) => writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`)

/** The names of the platforms, such as `linux-x64-gnu`. */
export const platforms = readdirSync(join(root, 'npm')).toSorted()
export const addonOf = (platform) => `toolwright.${platform}.node`

/** Where a platform's addon comes from: a built one that was given, the checkout's own, or a stand-in. */
function addonSource(platform, artifacts) {
  const file = addonOf(platform)
  const given = artifacts === undefined ? [] : readdirSync(artifacts, { recursive: true }).filter((path) => path.endsWith(file))
  if (given.length > 0) return { kind: 'given', path: join(artifacts, given[0]) }
  const local = localAddon()
  if (local.platform === platform) return { kind: 'checkout', path: join(root, local.file) }
  // Its name and manifest are rehearsed, its content is not.
  return { kind: 'stand-in', path: join(root, local.file) }
}

/** Writes the folders of all packages below `work`. */
export async function stagePackages(work, artifacts) {
  rmSync(work, { recursive: true, force: true })
  mkdirSync(work, { recursive: true })
  const { version } = readJson(join(root, 'package.json'))
  const optionalDependencies = Object.fromEntries(platforms.map((platform) => [`toolwright-${platform}`, version]))
  await stageRoot(join(work, 'toolwright'), { optionalDependencies })
  const sources = {}
  for (const platform of platforms) {
    const folder = join(work, `toolwright-${platform}`)
    cpSync(join(root, 'npm', platform), folder, { recursive: true })
    sources[platform] = addonSource(platform, artifacts)
    copyFileSync(sources[platform].path, join(folder, addonOf(platform)))
  }
  for (const file of [...LOCKFILES, 'CHANGELOG.md']) {
    mkdirSync(join(work, 'checkout', file, '..'), { recursive: true })
    copyFileSync(join(root, file), join(work, 'checkout', file))
  }
  return sources
}

/**
 * Packs the folders and unpacks them again: what is checked is what users get. `only` names the packages, all unless it is given.
 * Those for which `isSmall` says so are packed as they are published: the root package takes some seconds, an addon half a minute.
 */
export async function packPackages(work, { only, isSmall = () => false } = {}) {
  const destination = join(work, 'tarballs')
  mkdirSync(destination, { recursive: true })
  const names = ['toolwright', ...platforms.map((platform) => `toolwright-${platform}`)]
  const packages = {}
  for (const name of names.filter((one) => existsSync(join(work, one)) && (only?.includes(one) ?? true))) {
    const { tarball, files } = pack(join(work, name), destination)
    if (isSmall(name)) await writeSmaller(tarball)
    const folder = join(work, 'unpacked', name)
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    capture('tar', ['-xzf', tarball, '-C', folder, '--strip-components=1'], { cwd: work })
    packages[name] = { name, tarball, files, folder, manifest: readJson(join(folder, 'package.json')), bytes: statSync(tarball).size }
  }
  return packages
}
