// The files of a machine or a container: busybox, Node with its libraries, and the application.
import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { application, nodeProgram } from './application.mjs'
import { cache, Skipped } from './cache.mjs'
import { download, unpack } from './debian.mjs'

const PROGRAMS =
  'awk cat chmod chown cp cut dirname env find grep head id ip kill ln ls mkdir mv poweroff ps rm sed sh sleep sort tail tr true uname wc'.split(
    ' ',
  )

/** The folder of the files. */
export async function rootFolder() {
  const folder = join(cache, 'root')
  rmSync(folder, { recursive: true, force: true })
  for (const name of ['bin', 'sbin', 'etc', 'usr/bin', 'proc', 'sys', 'dev', 'tmp', 'run', 'newroot', 'root'])
    mkdirSync(join(folder, name), { recursive: true })
  const busybox = join(cache, 'busybox')
  if (!existsSync(busybox)) unpack(download('bookworm', 'amd64', ['busybox-static']), busybox)
  copyFileSync(join(busybox, 'bin/busybox'), join(folder, 'bin/busybox'))
  for (const name of PROGRAMS) symlinkSync('busybox', join(folder, 'bin', name))
  const { program, libraries } = nodeProgram()
  copyFileSync(realpathSync(program), join(folder, 'usr/bin/node'))
  for (const library of libraries) {
    mkdirSync(join(folder, dirname(library)), { recursive: true })
    copyFileSync(realpathSync(library), join(folder, library))
  }
  chmodSync(join(folder, 'tmp'), 0o1777)
  writeFileSync(join(folder, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/home/user:/bin/sh\n')
  writeFileSync(join(folder, 'etc/group'), 'root:x:0:\nuser:x:1000:\n')
  cpSync(await application(), join(folder, 'app'), { recursive: true, verbatimSymlinks: true })
  copyFileSync(fileURLToPath(new URL('guest/init', import.meta.url)), join(folder, 'init'))
  chmodSync(join(folder, 'init'), 0o755)
  return folder
}

/** The files as the first file system of a kernel. */
export function initialFileSystem(folder) {
  const file = join(cache, 'root.cpio')
  try {
    execFileSync('sh', ['-c', 'find . | cpio -o -H newc --quiet > "$0"', file], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  } catch {
    throw new Skipped('there is no cpio: apt-get install cpio')
  }
  return file
}
