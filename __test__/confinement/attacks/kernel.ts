import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { Scene } from '../stage/scene.ts'
import type { Attack } from './attack.ts'

/** The kernel gives what was asked for: there is nothing outside to be looked at. */
const gets = (name: string, run: (scene: Scene) => readonly string[], needs: string, more: Partial<Attack> = {}): Attack => ({
  name,
  needs,
  ...more,
  stage: (scene) => ({ run: run(scene), happened: (output) => output.includes('reached') }),
})

/** A mount of the host is not what it was. */
const mounts = (name: string, run: (at: string, from: string) => readonly string[], more: Partial<Attack> = {}): Attack => ({
  name: `mounts: ${name}`,
  only: 'root',
  needs: 'CAP_SYS_ADMIN',
  ...more,
  async stage(scene) {
    const at = scene.directory(join(scene.outside, 'at'))
    scene.beside('at/file')
    const from = scene.directory(join(scene.inside, 'from'))
    scene.afterwards(async () => void (await scene.beyond('unmount', at)))
    return { run: run(at, from), happened: () => !existsSync(join(at, 'file')) }
  },
})

/** A mount of the host is writable again. */
const opens = (name: string, attack: string): Attack => ({
  name: `mounts: ${name}`,
  only: 'root',
  needs: 'CAP_SYS_ADMIN',
  async stage(scene) {
    const at = await readOnlyMount(scene)
    return { run: [attack, at, join(at, 'made'), scene.token], happened: () => scene.isIn(join(at, 'made')) }
  },
})

async function readOnlyMount(scene: Scene): Promise<string> {
  const at = scene.directory(join(scene.outside, 'at'))
  const run = (...argv: string[]) => scene.host.order({ how: 'plain', argv, cwd: '/' })
  await run('mount', '--bind', at, at)
  await run('mount', '-o', 'remount,bind,ro', at)
  scene.afterwards(async () => void (await run('umount', '-l', at)))
  return at
}

/** The device that the root file system is on, if it is one. */
function rootDevice(): [string, string] {
  const { dev } = statSync('/')
  return [String(Math.floor(dev / 256) & 0xfff), String(dev & 0xff)]
}

/** A setting of the kernel is put back when the scene is over. */
const named = (name: string, attack: string, file: string): Attack => ({
  name,
  only: 'root',
  needs: 'CAP_SYS_ADMIN',
  stage(scene) {
    const before = readFileSync(file, 'utf8').trim()
    scene.afterwards(async () => void (await scene.beyond(attack, before)))
    return { run: [attack, scene.token], happened: () => readFileSync(file, 'utf8').trim() === scene.token }
  },
})

export const kernel: readonly Attack[] = [
  gets('bpf', () => ['bpf-map'], 'bpf'),
  gets('userfaultfd', () => ['userfaultfd'], 'userfaultfd'),
  gets('the ports of the machine', () => ['ports'], 'ioperm', { only: 'root' }),
  gets('a namespace', () => ['namespace'], 'user namespaces'),
  gets('a namespace by clone3', () => ['clone3-namespace'], 'user namespaces'),
  gets('another root directory', () => ['pivot'], 'user namespaces'),
  gets('a device node in the root', () => ['device-node', 'node', 'b', ...rootDevice()], 'a block device below /', { only: 'root' }),
  gets('the memory of the machine by a device node', () => ['device-node', 'node', 'c', '1', '1'], '/dev/mem', { only: 'root' }),
  gets('a terminal of the machine by a device node', () => ['device-node', 'node', 'c', '1', '11'], 'the kernel log as a device', {
    only: 'root',
  }),
  gets('a disk', () => ['device-read', `/dev/block/${rootDevice().join(':')}`], '/dev/block', { only: 'root' }),
  gets('a disk by its name', () => ['device-read', '/dev/vda'], '/dev/vda', { only: 'root' }),
  {
    name: 'writing in a namespace of its own',
    needs: 'user namespaces',
    stage(scene) {
      const target = join(scene.outside, 'made')
      return { run: ['namespace-create', target, scene.token], happened: () => scene.isIn(target) }
    },
  },
  {
    name: 'writing out of a changed root',
    only: 'root',
    needs: 'CAP_SYS_CHROOT',
    stage(scene) {
      const target = join(scene.outside, 'made')
      return { run: ['chroot-create', target, scene.token], happened: () => scene.isIn(target) }
    },
  },
  mounts('over a directory', (at) => ['mount-over', at]),
  mounts('of the root over a directory', (at, from) => ['mount-bind', from, at]),
  mounts('by the newer calls', (at) => ['mount-new', at]),
  mounts('a copy of a tree over a directory', (at, from) => ['mount-tree', from, at]),
  opens('made writable again', 'remount-create'),
  opens('made writable again by mount_setattr', 'mount-setattr-create'),
  {
    name: 'mounts: taken away',
    only: 'root',
    needs: 'CAP_SYS_ADMIN',
    async stage(scene) {
      const at = scene.directory(join(scene.outside, 'at'))
      await scene.beyond('mount-over', at)
      writeFileSync(join(at, 'file'), '')
      scene.afterwards(async () => void (await scene.beyond('unmount', at)))
      return { run: ['unmount', at], happened: () => !existsSync(join(at, 'file')) }
    },
  },
  named('the name of the host', 'host-name', '/proc/sys/kernel/hostname'),
  named('the domain of the host', 'domain-name', '/proc/sys/kernel/domainname'),
  {
    name: 'the name of the host by /proc',
    only: 'root',
    needs: 'a writable /proc/sys',
    stage(scene) {
      const before = hostname()
      scene.afterwards(async () => void (await scene.beyond('host-name', before)))
      const file = '/proc/sys/kernel/hostname'
      return { run: `echo ${scene.token} > ${file}`, happened: () => readFileSync(file, 'utf8').includes(scene.token) }
    },
  },
  {
    name: 'the clock',
    only: 'root',
    needs: 'CAP_SYS_TIME',
    async stage(scene) {
      const value = 1_000_000 + Math.floor(Math.random() * 1_000_000)
      return {
        run: ['clock-error', String(value)],
        happened: async () => (await scene.beyond('clock-error-of')).output.includes(`<${value}>`),
      }
    },
  },
  {
    name: 'what Ctrl-Alt-Del does',
    only: 'root',
    needs: 'CAP_SYS_BOOT',
    stage(scene) {
      const file = '/proc/sys/kernel/ctrl-alt-del'
      const before = readFileSync(file, 'utf8').trim()
      scene.afterwards(async () => void (await scene.beyond('reboot-key', before)))
      const other = before === '1' ? '0' : '1'
      return { run: ['reboot-key', other], happened: () => readFileSync(file, 'utf8').trim() === other }
    },
  },
  {
    name: 'a record of all processes',
    only: 'root',
    needs: 'process accounting',
    stage(scene) {
      const file = scene.within('record', '')
      scene.afterwards(async () => void (await scene.beyond('accounting-end')))
      return {
        run: ['accounting', file],
        async happened() {
          await scene.beyond('read', '/dev/null')
          return statSync(file).size > 0
        },
      }
    },
  },
]
