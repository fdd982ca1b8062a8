import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../setup/paths.mjs'
import { pack } from './pack.mjs'
import { stageRoot } from './stage-root.mjs'

const readJson = (file) => JSON.parse(readFileSync(file, 'utf8'))

/** The addon that was built for this machine and the platform package it belongs to. */
export function localAddon() {
  const prefix = `toolwright.${process.platform}-${process.arch}`
  const file = readdirSync(root).find((name) => name.startsWith(prefix) && name.endsWith('.node'))
  if (file === undefined) throw new Error(`no ${prefix}*.node: run \`npm run build\``)
  return { file, platform: file.slice('toolwright.'.length, -'.node'.length) }
}

/** The package of this machine's addon, or of one that is somewhere else. */
export function packPlatform(work, { platform, path } = localAddon()) {
  const file = `toolwright.${platform}.node`
  const folder = join(work, platform)
  cpSync(join(root, 'npm', platform), folder, { recursive: true })
  copyFileSync(path ?? join(root, file), join(folder, file))
  return { ...pack(folder, work), name: `toolwright-${platform}`, file }
}

/**
 * The root package as it is published. `napi pre-publish` adds the platform packages to optionalDependencies; here they are
 * those that are given, or this machine's alone, for the others are not on a registry.
 */
export async function packRoot(work, platformPackages) {
  const folder = join(work, 'root')
  const { version } = readJson(join(root, 'package.json'))
  const optionalDependencies = Object.fromEntries([platformPackages].flat().map((name) => [name, version]))
  await stageRoot(folder, { optionalDependencies })
  const destination = join(work, 'published')
  mkdirSync(destination)
  return { ...pack(folder, destination), folder }
}
