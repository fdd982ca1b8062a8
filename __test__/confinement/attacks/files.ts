import { existsSync, lstatSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Scene } from '../stage/scene.ts'
import type { Attack } from './attack.ts'

type Where = (scene: Scene, name: string) => string

const outside: Where = (scene, name) => join(scene.outside, name)

/** A file with the token is made, in some place by some path. */
const makes = (name: string, path: (scene: Scene, target: string) => string, more: Partial<Attack> & { where?: Where } = {}): Attack => ({
  name,
  ...more,
  stage(scene) {
    const target = (more.where ?? outside)(scene, 'made')
    return { run: ['create', path(scene, target), scene.token], happened: () => scene.isIn(target) }
  },
})

/** A file that was there is no longer as it was. */
const changes = (name: string, args: (scene: Scene, target: string) => readonly string[], more: Partial<Attack> = {}): Attack => ({
  name,
  ...more,
  stage(scene) {
    const target = scene.beside('file')
    return { run: args(scene, target), happened: () => !existsSync(target) || readFileSync(target, 'utf8') !== 'as it was\n' }
  },
})

/** Something is there that was not. */
const adds = (name: string, args: (scene: Scene, target: string) => readonly string[], more: Partial<Attack> = {}): Attack => ({
  name,
  ...more,
  stage(scene) {
    const target = join(scene.outside, 'made')
    return { run: args(scene, target), happened: () => lstatSync(target, { throwIfNoEntry: false }) !== undefined }
  },
})

export const files: readonly Attack[] = [
  makes('a file outside', (_, target) => target),
  makes("a file in the host's /tmp", (_, target) => target, { where: (scene) => join(scene.temporary(), 'made') }),
  makes("a file in the host's /dev/shm", (_, target) => target, {
    where: (scene) => join(scene.temporary('/dev/shm'), 'made'),
    needs: '/dev/shm',
  }),
  makes("a file in the host's /var/tmp", (_, target) => target, {
    where: (scene) => join(scene.temporary('/var/tmp'), 'made'),
    needs: '/var/tmp',
  }),
  makes('a file in the home directory', (_, target) => target, {
    where: (scene) => join(scene.host.base, 'home', `.profile-${scene.token}`),
  }),
  makes('by ..', (scene, target) => `${scene.inside}/../../outside/${basename(scene.outside)}/${basename(target)}`),
  makes('by /proc/self/root', (_, target) => `/proc/self/root${target}`),
  makes('by /proc/self/cwd', (scene, target) => `/proc/self/cwd/../../outside/${basename(scene.outside)}/${basename(target)}`),
  makes('by /proc/1/root', (_, target) => `/proc/1/root${target}`, { only: 'root', needs: 'a first process that root may look into' }),
  {
    name: 'a named pipe outside',
    needs: 'mkfifo',
    async stage(scene) {
      const [pipe, got] = [join(scene.outside, 'pipe'), join(scene.outside, 'got')]
      await scene.host.order({ how: 'plain', argv: ['mkfifo', pipe], cwd: scene.outside })
      const reading = scene.host.order({ how: 'plain', argv: ['sh', '-c', 'cat pipe > got'], cwd: scene.outside, killAfterMs: 3_000 })
      scene.afterwards(async () => void (await reading))
      return { run: `timeout 2 sh -c 'echo ${scene.token} > ${pipe}'`, happened: () => scene.isIn(got) }
    },
  },
  {
    name: 'by a link in the root',
    stage(scene) {
      const run = `ln -s ${scene.outside} link && ${scene.attackProgram} create link/made ${scene.token}`
      return { run, happened: () => scene.isIn(join(scene.outside, 'made')) }
    },
  },
  {
    name: 'by a link in the root to a file',
    stage(scene) {
      const target = scene.beside('file')
      const run = `ln -s ${target} link && echo ${scene.token} >> link`
      return { run, happened: () => scene.isIn(target) }
    },
  },
  {
    name: 'by the working directory of a process of the host',
    async stage(scene) {
      const { pid } = await scene.victim()
      return { run: ['create', `/proc/${pid}/cwd/made`, scene.token], happened: () => scene.isIn(join(scene.outside, 'made')) }
    },
  },
  {
    name: 'by the root directory of a process of the host',
    async stage(scene) {
      const { pid } = await scene.victim()
      const target = join(scene.outside, 'made')
      return { run: ['create', `/proc/${pid}/root${target}`, scene.token], happened: () => scene.isIn(target) }
    },
  },
  {
    name: 'by a descriptor of a process of the host',
    async stage(scene) {
      const { pid, written } = await scene.victim()
      return { run: ['create', `/proc/${pid}/fd/${written}`, scene.token], happened: () => scene.isIn(join(scene.outside, 'held')) }
    },
  },
  adds('by a descriptor of the directory', (scene) => ['create-at', scene.outside, 'made', scene.token]),
  adds('by climbing from the working directory', (scene, target) => ['climb-create', target, scene.token]),
  adds('a file made without a name', (scene, target) => ['unnamed-link', scene.outside, target, scene.token], { needs: 'O_TMPFILE' }),
  adds('io_uring', (scene, target) => ['uring-create', target, scene.token], { needs: 'io_uring' }),
  adds('the 32-bit gate', (scene, target) => ['i386-create', target, scene.token], { needs: '32-bit system calls' }),
  adds('the x32 gate', (scene, target) => ['x32-create', target, scene.token], { needs: 'x32 system calls' }),
  adds('a directory', (_, target) => ['mkdir', target]),
  adds('a symbolic link', (_, target) => ['symlink', '/etc/passwd', target]),
  adds('a pipe', (_, target) => ['mkfifo', target]),
  adds('a socket', (_, target) => ['mksock', target]),
  adds('a hard link out of the root', (scene, target) => ['link', scene.within('own'), target]),
  adds('a rename out of the root', (scene, target) => ['rename', scene.within('own'), target]),
  changes('append', (scene, target) => ['append', target, scene.token]),
  changes('overwrite', (scene, target) => ['overwrite', target, scene.token]),
  changes('truncate', (_, target) => ['truncate', target]),
  changes('truncate while opening for reading', (_, target) => ['truncate-open', target]),
  changes('by mapped memory', (_, target) => ['map-write', target, 'changed!']),
  changes('a hole', (_, target) => ['punch-hole', target], { needs: 'holes in files' }),
  changes('remove', (_, target) => ['unlink', target]),
  changes('a rename within the outside', (_, target) => ['rename', target, `${target}2`]),
  changes('a rename into the root', (scene, target) => ['rename', target, join(scene.inside, 'taken')]),
  changes('a rename over it', (scene, target) => ['rename', scene.within('own', 'replaced\n'), target]),
  changes('an exchange', (scene, target) => ['exchange', scene.within('own', 'replaced\n'), target]),
  changes('a hard link into the root, written to', (scene, target) => ['link-write', target, join(scene.inside, 'twin'), scene.token]),
  {
    name: 'remove a directory',
    stage(scene) {
      const target = scene.directory(join(scene.outside, 'empty'))
      return { run: ['rmdir', target], happened: () => !existsSync(target) }
    },
  },
  {
    name: 'remove the directory above the root',
    ownRoot: true,
    stage(scene) {
      const moved = `${scene.rootDir}-moved`
      scene.afterwards(async () => void (await scene.beyond('rename', moved, scene.rootDir)))
      return { run: ['rename', scene.rootDir, moved], happened: () => existsSync(moved) }
    },
  },
  {
    name: 'by the number of a file, past its path',
    only: 'root',
    needs: 'CAP_DAC_READ_SEARCH',
    async stage(scene) {
      const target = scene.beside('file')
      return { run: ['handle-write', ...(await handle(scene, target)), scene.token], happened: () => scene.isIn(target) }
    },
  },
  {
    name: 'a program that gives its user the rights of root, left in the root',
    only: 'root',
    stage(scene) {
      const target = join(scene.inside, 'gift')
      return { run: ['setuid-copy', target], happened: () => existsSync(target) && (statSync(target).mode & 0o4000) !== 0 }
    },
  },
  {
    name: 'a lease, for which others wait who write',
    stage(scene) {
      const target = scene.beside('file')
      return { run: ['lease', target], happened: (output) => output.includes('reached') }
    },
  },
  {
    name: 'the kernel log',
    only: 'root',
    needs: '/dev/kmsg',
    stage: (scene) => ({
      run: ['create', '/dev/kmsg', `${scene.token}\n`],
      happened: async () => (await scene.beyond('kernel-log')).output.includes(scene.token),
    }),
  },
  {
    name: 'a control group',
    only: 'root',
    needs: 'a writable /sys/fs/cgroup',
    stage(scene) {
      const parent = ['/sys/fs/cgroup/pids', '/sys/fs/cgroup'].find((path) => existsSync(path)) ?? '/sys/fs/cgroup'
      const target = join(parent, scene.token)
      scene.afterwards(async () => void (await scene.beyond('rmdir', target)))
      return { run: ['mkdir', target], happened: () => existsSync(target) }
    },
  },
  {
    name: 'a mark in the trace of the kernel',
    only: 'root',
    needs: 'tracefs',
    stage: (scene) => ({
      run: ['create', '/sys/kernel/tracing/trace_marker', scene.token],
      happened: async () => (await scene.beyond('read', '/sys/kernel/tracing/trace')).output.includes(scene.token),
    }),
  },
]

/** The number of a file, as an attack takes it. */
export async function handle(scene: Scene, path: string): Promise<string[]> {
  const { output } = await scene.beyond('handle-of', path)
  return (/reached (.*)/u.exec(output)?.[1] ?? '0 00').split(' ')
}
