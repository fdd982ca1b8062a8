import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../setup/paths.mjs'
import { capture } from './npm.mjs'
import { pack } from './pack.mjs'
import { writePublishedLinks } from './published-links.mjs'

const readJson = (file) => JSON.parse(readFileSync(file, 'utf8'))

/** The addon that was built for this machine and the platform package it belongs to. */
export function localAddon() {
  const prefix = `toolwright.${process.platform}-${process.arch}`
  const file = readdirSync(root).find((name) => name.startsWith(prefix) && name.endsWith('.node'))
  if (file === undefined) throw new Error(`no ${prefix}*.node: run \`npm run build\``)
  return { file, platform: file.slice('toolwright.'.length, -'.node'.length) }
}

export function packPlatform(work) {
  const { file, platform } = localAddon()
  const folder = join(work, platform)
  cpSync(join(root, 'npm', platform), folder, { recursive: true })
  copyFileSync(join(root, file), join(folder, file))
  return { ...pack(folder, work), name: `toolwright-${platform}`, file }
}

/**
 * The root package as it is published. `napi pre-publish` adds the platform packages to
 * optionalDependencies; here it is this machine's alone, for the others are not on a registry.
 */
export function packRoot(work, platformPackage) {
  const packed = pack(root, work)
  const staging = join(work, 'root')
  mkdirSync(staging)
  capture('tar', ['-xzf', packed.tarball, '-C', staging], { cwd: work })
  const folder = join(staging, 'package')
  const manifest = readJson(join(folder, 'package.json'))
  manifest.optionalDependencies = { [platformPackage]: manifest.version }
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest, null, 2))
  writePublishedLinks(folder, packed.files, manifest.version)
  const destination = join(work, 'published')
  mkdirSync(destination)
  return { tarball: pack(folder, destination).tarball, files: packed.files, folder }
}
