import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { chmodSync, chownSync, copyFileSync, statSync, type Stats } from 'node:fs'
import type { Scene } from '../stage/scene.ts'
import type { Attack } from './attack.ts'

/** What is told about a file beside the root is no longer what it was. */
const alters = (
  name: string,
  args: (path: string, scene: Scene) => readonly string[],
  is: (file: Stats) => boolean,
  more: Partial<Attack> = {},
): Attack => ({
  name,
  ...more,
  stage(scene) {
    const path = scene.beside('file')
    return { run: args(path, scene), happened: () => is(statSync(path)) }
  },
})

/** The attribute of an attack is on a file, as its user sees it. */
const marks = (name: string, attack: string, more: Partial<Attack> = {}): Attack => ({
  name,
  needs: 'extended attributes',
  ...more,
  async stage(scene) {
    const path = scene.beside('file')
    return { run: [attack, path, scene.token], happened: async () => (await scene.beyond('getxattr', path)).output.includes(scene.token) }
  },
})

const isOpen = (file: Stats): boolean => (file.mode & 0o7777) === 0o777
const isOld = (file: Stats): boolean => file.mtimeMs < 10_000
const isGiven = (file: Stats): boolean => file.uid === 12_345 || file.gid === 12_345

export const metadata: readonly Attack[] = [
  alters('chmod', (path) => ['chmod', path, '777'], isOpen),
  alters('fchmod of a file opened for reading', (path) => ['fchmod', path, '777'], isOpen),
  alters('fchmodat2 of a file not opened at all', (path) => ['fchmodat2', path, '777'], isOpen, { needs: 'fchmodat2' }),
  alters('chmod by /proc/self/root', (path) => ['chmod', `/proc/self/root${path}`, '777'], isOpen),
  alters(
    'a setuid bit outside',
    (path) => ['chmod', path, '4755'],
    (file) => (file.mode & 0o4000) !== 0,
  ),
  alters('chown', (path) => ['chown', path, '12345'], isGiven, { only: 'root' }),
  alters('fchown of a file opened for reading', (path) => ['fchown', path, '12345'], isGiven, { only: 'root' }),
  alters('the times', (path) => ['utimes', path], isOld),
  alters('the times of a file opened for reading', (path) => ['futimes', path], isOld),
  {
    name: 'chmod by a link in the root',
    stage(scene) {
      const path = scene.beside('file')
      return { run: `ln -s ${path} link; chmod 777 link`, happened: () => isOpen(statSync(path)) }
    },
  },
  {
    name: 'chmod of the directory outside',
    stage: (scene) => ({ run: ['chmod', scene.outside, '777'], happened: () => isOpen(statSync(scene.outside)) }),
  },
  marks('an extended attribute', 'setxattr'),
  marks('an extended attribute of a file opened for reading', 'fsetxattr'),
  marks('an extended attribute by the newest call', 'setxattrat', { needs: 'setxattrat' }),
  {
    name: 'an extended attribute taken away',
    needs: 'extended attributes',
    async stage(scene) {
      const path = scene.beside('file')
      await scene.beyond('setxattr', path, scene.token)
      const isThere = async () => (await scene.beyond('getxattr', path)).output.includes(scene.token)
      // A file system that has none takes none away.
      const wasThere = await isThere()
      return { run: ['removexattr', path], happened: async () => wasThere && !(await isThere()) }
    },
  },
  {
    name: 'an access list',
    needs: 'access lists',
    async stage(scene) {
      const path = scene.beside('file')
      return { run: ['setacl', path], happened: () => (statSync(path).mode & 0o070) === 0o070 }
    },
  },
  ...['setflags', 'file-setattr'].map((attack): Attack => ({
    name: `the flags of a file, by ${attack}`,
    needs: `${attack} in this file system`,
    stage(scene) {
      const path = scene.beside('file')
      return { run: [attack, path], happened: async () => (await scene.beyond('getflags', path)).output.includes('<no dump>') }
    },
  })),
  {
    name: 'the rights of the owner of a program',
    only: 'others',
    needs: 'root to make such a program',
    ownRoot: true,
    stage(scene) {
      const program = join(scene.inside, 'gift')
      copyFileSync(scene.attackProgram, program)
      if (process.getuid?.() === 0) {
        chownSync(program, 0, 0)
        chmodSync(program, 0o4755)
      }
      return { run: `${program} effective-user`, happened: (output) => output.includes('reached') }
    },
  },
  {
    name: 'the rights that a program has from its file',
    only: 'others',
    needs: 'setcap',
    ownRoot: true,
    stage(scene) {
      const target = scene.beside('file')
      const program = join(scene.inside, 'gift')
      copyFileSync(scene.attackProgram, program)
      try {
        execFileSync('setcap', ['cap_chown+ep', program], { stdio: 'ignore' })
      } catch {
        // Without it the attack cannot succeed anyhow, and is skipped.
      }
      return { run: `${program} chown ${target} 12345`, happened: () => isGiven(statSync(target)) }
    },
  },
]
