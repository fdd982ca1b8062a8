import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { binDir, cacheDir } from '../setup/paths.mjs'
import { npm } from './npm.mjs'

/** Outside node_modules, so that `npm ci` does not cost a download of 400 MB. */
const folderOf = (major) => join(cacheDir, 'runtimes', `node-${major}`)

/** Installs a Node from npm, once. Returns the path of its binary. */
function nodeFromNpm(major) {
  const folder = folderOf(major)
  const binary = join(folder, 'node_modules', '.bin', 'node')
  if (existsSync(binary)) return binary
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const manifest = { private: true, dependencies: { node: `^${major}.0.0` }, allowScripts: { node: true } }
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  npm(['install', '--no-package-lock'], folder)
  return binary
}

/** The runtimes that package.json's `engines` promises. Node 24 and Bun are devDependencies. */
export const runtimes = [
  { name: 'Node 22', binary: () => nodeFromNpm(22) },
  { name: 'Node 24', binary: () => join(binDir, 'node') },
  { name: 'Node 26', binary: () => nodeFromNpm(26) },
  { name: 'Bun', binary: () => join(binDir, 'bun') },
]
