// The files of a machine or a container: busybox, Node with its libraries, and the application.
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { capture } from '../package/npm.mjs'
import { root } from '../setup/paths.mjs'
import { application } from './application.mjs'
import { buildAttacks } from './build.mjs'
import { cache, Skipped } from './cache.mjs'
import { download, unpack } from './debian.mjs'
import { isLocal } from './packages.mjs'
import { nodeOf } from './pypi.mjs'

const PROGRAMS =
  'awk cat chmod chown chrt cp cut dirname env find grep head id ionice ip kill ln ls mkdir mkfifo mount mv nice poweroff ps rm rmdir sed seq sh sleep sort stat tail taskset timeout touch tr true umount uname wc xargs'.split(
    ' ',
  )
/** What the attacks are made of. */
export const SOURCES_OF_ATTACKS = [
  ...['attacks', 'stage', 'attempt.ts'].map((name) => `__test__/confinement/${name}`),
  '__test__/support/processes.ts',
  'crates/attacks',
]
const DEBIAN = { x64: 'amd64', arm64: 'arm64' }
/** Node for musl needs musl 1.2.4: its relocations are of a kind that earlier ones do not know. */
const SUITE = 'trixie'

/** The folder of a system without the application: programs, and Node with its libraries. */
export function systemFolder(one) {
  const folder = join(cache, 'systems', one.platform)
  rmSync(folder, { recursive: true, force: true })
  for (const name of ['bin', 'sbin', 'etc', 'lib', 'usr/bin', 'usr/lib', 'proc', 'sys', 'dev', 'tmp', 'run', 'newroot', 'root'])
    mkdirSync(join(folder, name), { recursive: true })
  const busybox = unpacked(one.architecture, 'busybox-static')
  copyFileSync(firstOf(busybox, ['bin/busybox', 'usr/bin/busybox']), join(folder, 'bin/busybox'))
  for (const name of PROGRAMS) symlinkSync('busybox', join(folder, 'bin', name))
  if (isLocal(one)) ownPrograms(folder)
  else if (one.libc === 'musl') nodeWithMusl(one, folder)
  else nodeWithGlibc(one, folder)
  chmodSync(join(folder, 'tmp'), 0o1777)
  writeFileSync(join(folder, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/home/user:/bin/sh\n')
  writeFileSync(join(folder, 'etc/group'), 'root:x:0:\nuser:x:1000:\n')
  return folder
}

function unpacked(architecture, name) {
  const folder = join(cache, 'unpacked', `${SUITE}-${architecture}`, name)
  if (!existsSync(folder)) unpack(download(SUITE, DEBIAN[architecture], [name]), folder)
  return folder
}

const firstOf = (folder, names) => names.map((name) => join(folder, name)).find((file) => existsSync(file))

/** Programs of this machine, with their libraries, at the same paths. */
function ownPrograms(folder) {
  ownProgram(folder, 'node', process.execPath)
  // Some attacks are on what git obeys.
  if (existsSync('/usr/bin/git')) ownProgram(folder, 'git', '/usr/bin/git')
}

function ownProgram(folder, name, program) {
  copyFileSync(realpathSync(program), join(folder, 'usr/bin', name))
  const libraries = capture('ldd', [program], { cwd: root })
  for (const [, library] of libraries.matchAll(/(\/\S+\.so\S*)/gu)) {
    mkdirSync(join(folder, dirname(library)), { recursive: true })
    copyFileSync(realpathSync(library), join(folder, library))
  }
}

function nodeWithGlibc({ architecture }, folder) {
  copyFileSync(nodeOf({ architecture, libc: 'gnu' }).program, join(folder, 'usr/bin/node'))
  for (const name of ['libc6', 'libstdc++6', 'libgcc-s1']) {
    const from = unpacked(architecture, name)
    for (const part of ['lib', 'usr/lib']) {
      const libraries = join(from, part)
      if (!existsSync(libraries)) continue
      for (const entry of readdirSync(libraries))
        cpSync(join(libraries, entry), join(folder, 'lib', entry), { recursive: true, verbatimSymlinks: true })
    }
  }
  for (const extra of ['gconv', 'audit'])
    rmSync(join(folder, 'lib', `${triple(architecture)}-linux-gnu`, extra), { recursive: true, force: true })
}

const triple = (architecture) => (architecture === 'arm64' ? 'aarch64' : 'x86_64')

/** Debian's musl is one file, the loader and the library. It looks for others in /lib and /usr/lib. */
function nodeWithMusl({ architecture }, folder) {
  const { program, libraries } = nodeOf({ architecture, libc: 'musl' })
  copyFileSync(program, join(folder, 'usr/bin/node'))
  const own = `usr/lib/${triple(architecture)}-linux-musl/libc.so`
  copyFileSync(join(unpacked(architecture, 'musl'), own), join(folder, `lib/ld-musl-${triple(architecture)}.so.1`))
  for (const library of libraries) copyFileSync(library, join(folder, 'usr/lib', basename(library)))
  writeFileSync(join(folder, 'usr/bin/ldd'), '#!/bin/sh\necho "musl libc"\n')
  chmodSync(join(folder, 'usr/bin/ldd'), 0o755)
}

/** The folder of all files. */
export async function rootFolder(one) {
  const app = await application(one)
  const folder = systemFolder(one)
  cpSync(app, join(folder, 'app'), { recursive: true, verbatimSymlinks: true })
  copyFileSync(fileURLToPath(new URL('guest/init', import.meta.url)), join(folder, 'init'))
  chmodSync(join(folder, 'init'), 0o755)
  withAttacks(one, join(folder, 'app'))
  return folder
}

/** The attacks of the confinement suites, which Node runs as they are. */
function withAttacks(one, app) {
  for (const name of SOURCES_OF_ATTACKS.filter((path) => path.startsWith('__test__')))
    cpSync(join(root, name), join(app, name), { recursive: true })
  mkdirSync(join(app, 'node_modules/vitest'), { recursive: true })
  copyFileSync(fileURLToPath(new URL('guest/vitest.mjs', import.meta.url)), join(app, 'node_modules/vitest/index.mjs'))
  writeFileSync(join(app, 'node_modules/vitest/package.json'), '{ "type": "module", "exports": "./index.mjs" }\n')
  mkdirSync(join(app, 'attacks'))
  for (const program of buildAttacks(one)) copyFileSync(program, join(app, 'attacks', basename(program)))
}

/** The files as the first file system of a kernel. */
export function initialFileSystem(folder) {
  const file = `${folder}.cpio`
  try {
    execFileSync('sh', ['-c', 'find . | cpio -o -H newc --quiet > "$0"', file], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  } catch {
    throw new Skipped('there is no cpio: apt-get install cpio')
  }
  return file
}
