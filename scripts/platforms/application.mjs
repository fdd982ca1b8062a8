// The packed package, installed as a user installs it, with the programs that run in a machine.
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { capture } from '../package/npm.mjs'
import { localAddon, packPlatform, packRoot } from '../package/tarballs.mjs'
import { root } from '../setup/paths.mjs'
import { hashInputs } from '../setup/stamp.mjs'
import { buildAddon } from './build.mjs'
import { cache } from './cache.mjs'
import { isLocal } from './packages.mjs'

/** The words of npm. */
const NPM_LIBC = { gnu: 'glibc', musl: 'musl' }
const guest = fileURLToPath(new URL('guest', import.meta.url))

/** What the packages are made of, as one text that changes with it. */
export function contentsOf(addon) {
  const hash = createHash('sha256').update(hashInputs(['package.json', 'dist', 'index.js', 'index.cjs', 'scripts/package']))
  return hash.update(readFileSync(addon)).digest('hex')
}

/** The addon of a package: this checkout's own, or one that is built for the purpose. */
export function addonOf(one) {
  return isLocal(one) ? { file: join(root, localAddon().file), problems: [] } : buildAddon(one)
}

/** The folder of the application: `node_modules` with toolwright, and the programs. */
export async function application(one) {
  const { platform, architecture, libc } = one
  const folder = join(cache, 'applications', platform)
  const mark = join(folder, 'stamp')
  const addon = addonOf(one).file
  const wanted = contentsOf(addon)
  if (!existsSync(mark) || readFileSync(mark, 'utf8') !== wanted) {
    rmSync(folder, { recursive: true, force: true })
    const work = join(folder, 'pack')
    mkdirSync(work, { recursive: true })
    const packed = packPlatform(work, { platform, path: addon })
    const main = await packRoot(work, packed.name)
    writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n')
    const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    const peers = ['ai', 'zod'].map((name) => `${name}@${devDependencies[name]}`)
    // npm takes a file for what this machine wants, whatever the options say.
    const options = [
      '--force',
      '--no-audit',
      '--no-fund',
      '--ignore-scripts',
      '--os=linux',
      `--cpu=${architecture}`,
      `--libc=${NPM_LIBC[libc]}`,
    ]
    capture('npm', ['install', ...options, packed.tarball, main.tarball, ...peers], { cwd: folder })
    rmSync(work, { recursive: true })
    // Half of the size, and no part of a program.
    for (const extra of ['ai/src', 'ai/docs', 'zod/src']) rmSync(join(folder, 'node_modules', extra), { recursive: true, force: true })
    writeFileSync(mark, wanted)
  }
  for (const name of ['as-user.mjs', 'promises.mjs', 'tools.mjs', 'attacks.mjs']) cpSync(join(guest, name), join(folder, name))
  return folder
}
