import { cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { cacheDir, root } from '../setup/paths.mjs'
import { npm } from './npm.mjs'

/**
 * Installs the programs of a folder (of `scripts/`, unless another is given) that has a manifest and a lockfile of its own, once for each lockfile.
 * They go into .cache: a checkout does not need them, and its own installation stays as small as it is.
 */
export function installedTools(name, above = join(root, 'scripts')) {
  const from = join(above, name)
  const folder = join(cacheDir, 'tools', name.replaceAll('/', '-'))
  const wanted = readFileSync(join(from, 'package-lock.json'), 'utf8')
  const mark = join(folder, 'node_modules', '.installed')
  if (!existsSync(mark) || readFileSync(mark, 'utf8') !== wanted) {
    mkdirSync(folder, { recursive: true })
    for (const file of ['package.json', 'package-lock.json']) cpSync(join(from, file), join(folder, file))
    // Not `npm ci`: it refuses a lockfile that lacks the binaries of this platform, and this installs them.
    npm(['install', '--ignore-scripts'], folder)
    cpSync(join(from, 'package-lock.json'), mark)
  }
  return folder
}

/** A module of such a folder, as `import` gives it. */
export const importTool = (folder, name) => import(pathToFileURL(createRequire(join(folder, 'package.json')).resolve(name)).href)
