// The packed package, installed as a user installs it, with the programs that run in a machine.
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { capture } from '../package/npm.mjs'
import { localAddon, packPlatform, packRoot } from '../package/tarballs.mjs'
import { root } from '../setup/paths.mjs'
import { cache } from './cache.mjs'

const guest = fileURLToPath(new URL('guest', import.meta.url))

/** What the package is made of, as one text that changes with it. */
function stamp() {
  const files = [join(root, 'package.json'), join(root, localAddon().file)]
  const walk = (folder) => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) walk(path)
      else files.push(path)
    }
  }
  walk(join(root, 'dist'))
  return files.map((file) => `${file} ${statSync(file).size} ${statSync(file).mtimeMs}`).join('\n')
}

/** The folder of the application: `node_modules` with toolwright, and the programs. */
export async function application() {
  const folder = join(cache, 'application')
  const mark = join(folder, 'stamp')
  const wanted = stamp()
  if (!existsSync(mark) || readFileSync(mark, 'utf8') !== wanted) {
    rmSync(folder, { recursive: true, force: true })
    const work = join(folder, 'pack')
    mkdirSync(work, { recursive: true })
    const platform = packPlatform(work)
    const packed = await packRoot(work, platform.name)
    writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n')
    const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    const peers = ['ai', 'zod'].map((name) => `${name}@${devDependencies[name]}`)
    capture('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', platform.tarball, packed.tarball, ...peers], { cwd: folder })
    rmSync(work, { recursive: true })
    // Half of the size, and no part of a program.
    for (const extra of ['ai/src', 'ai/docs', 'zod/src']) rmSync(join(folder, 'node_modules', extra), { recursive: true, force: true })
    writeFileSync(mark, wanted)
  }
  for (const name of ['as-user.mjs', 'promises.mjs']) cpSync(join(guest, name), join(folder, name))
  return folder
}

/** The program of Node on this machine, with its libraries. */
export function nodeProgram() {
  const libraries = capture('ldd', [process.execPath], { cwd: root })
  return { program: process.execPath, libraries: [...libraries.matchAll(/(\/\S+\.so\S*)/gu)].map(([path]) => path) }
}
