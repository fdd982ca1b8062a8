import { renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { LEFT_OPEN } from '../stage/host.ts'
import type { Scene } from '../stage/scene.ts'
import { movedStores, stores } from '../stage/stores.ts'
import type { Attack } from './attack.ts'
import { handle } from './files.ts'

const store = (scene: Scene, name: string): string => join(scene.host.base, 'home', name)
const KEY = '.ssh/id_ed25519'
/** In a directory that no other attack is on. */
const MOVABLE = '.gnupg/openpgp-revocs.d/certificate'

/** Whether the key of the host's home directory was printed. */
const keyIsOut =
  (scene: Scene) =>
  (output: string): boolean =>
    output.includes(scene.host.secrets.stores[KEY] ?? scene.token)

const readsKey = (
  name: string,
  run: (scene: Scene, path: string) => Promise<readonly string[]> | readonly string[] | string,
  more: Partial<Attack> = {},
): Attack => ({
  name: `the key: ${name}`,
  ...more,
  stage: async (scene) => ({ run: await run(scene, store(scene, KEY)), happened: keyIsOut(scene) }),
})

/** What other programs of the machine have there is nobody's business, not even in a failure. */
const ONLY_OURS = `tr '\\0' '\\n' | grep -a redteam`

const tellsEnvironment = (name: string, run: (scene: Scene) => readonly string[] | string, more: Partial<Attack> = {}): Attack => ({
  name,
  ...more,
  stage: (scene) => ({ run: run(scene), happened: (output) => output.includes(scene.host.secrets.environment) }),
})

export const secrets: readonly Attack[] = [
  ...stores
    .filter((name) => name !== MOVABLE)
    .map((name): Attack => ({
      name: `the store ~/${name}`,
      stage: (scene) => ({
        run: ['read', store(scene, name)],
        happened: (output) => output.includes(scene.host.secrets.stores[name] ?? scene.token),
      }),
    })),
  ...movedStores.map(([variable, , file]): Attack => ({
    name: `the store of ${variable}`,
    stage: (scene) => ({
      run: ['read', join(scene.host.base, 'moved', file)],
      happened: (output) => output.includes(scene.host.secrets.stores[variable] ?? scene.token),
    }),
  })),
  {
    name: 'a store that the host saves by a rename, while a command runs',
    async stage(scene) {
      const saved = scene.beside('saved', scene.token)
      const path = scene.file(store(scene, '.dbshell'))
      scene.afterwards(() => rmSync(path, { force: true }))
      const run = `: > ready; i=0; until [ -e saved ] || [ $i = 300 ]; do i=$((i+1)); sleep 0.02; done; sleep 1; cat ${path}`
      void (async () => {
        await scene.isReady()
        renameSync(saved, path)
        scene.within('saved')
      })()
      return { run, happened: (output) => output.includes(scene.token) }
    },
  },
  {
    name: 'a store that is not there, where the home directory can be written',
    ownRoot: true,
    stage(scene) {
      scene.sandbox.writableRoots = [join(scene.host.base, 'home')]
      const path = store(scene, '.oci/config')
      scene.afterwards(() => rmSync(join(path, '..'), { recursive: true, force: true }))
      return { run: `mkdir ${join(path, '..')}; echo ${scene.token} > ${path}`, happened: () => scene.isIn(path) }
    },
  },
  {
    // One in the root is refused: a command may have made it.
    name: 'a store, by a link beside the root that is to be readable',
    ownRoot: true,
    stage(scene) {
      const link = `${scene.inside}-link`
      symlinkSync(store(scene, '.ssh'), link)
      scene.sandbox.readable = [link]
      return { run: `cat ${link}/*`, happened: keyIsOut(scene) }
    },
  },
  readsKey('by mapped memory', (_, path) => ['read-mapped', path]),
  readsKey('by /proc/self/root', (_, path) => ['read', `/proc/self/root${path}`]),
  readsKey('by a link of the command', (_, path) => `ln -s ${path} link; cat link`),
  readsKey('by a hard link of the command', (_, path) => `ln ${path} twin; cat twin`),
  readsKey('by a link of the host', (scene, path) => {
    symlinkSync(path, join(scene.inside, 'link'))
    return ['read', 'link']
  }),
  {
    name: 'a store: by moving a directory of it',
    stage(scene) {
      const from = store(scene, join(MOVABLE, '..'))
      scene.afterwards(async () => void (await scene.beyond('rename', join(scene.inside, 'moved'), from)))
      const secret = scene.host.secrets.stores[MOVABLE] ?? scene.token
      return { run: `mv ${from} moved; cat moved/*`, happened: (output) => output.includes(secret) }
    },
  },
  readsKey('by copying the home directory', (scene) => `cp -r ${join(scene.host.base, 'home')} copy; cat copy/.ssh/*`),
  readsKey('by the root of a process of the host', async (scene, path) => ['read', `/proc/${(await scene.victim()).pid}/root${path}`]),
  readsKey('by the number of the file', async (scene, path) => ['handle-read', ...(await handle(scene, path))], {
    only: 'root',
    needs: 'CAP_DAC_READ_SEARCH',
  }),
  readsKey(
    'by a mount of its directory',
    (scene, path) => `mkdir seen; ${scene.attackProgram} mount-bind ${join(path, '..')} seen; cat seen/*; umount seen`,
    {
      only: 'root',
      needs: 'CAP_SYS_ADMIN',
    },
  ),
  readsKey('by the program that changes a root', (scene, path) => `chroot / ${scene.attackProgram} read ${path}`, {
    only: 'root',
    needs: 'CAP_SYS_CHROOT',
  }),
  {
    name: 'the names in a store',
    stage: (scene) => ({ run: ['list', store(scene, '.ssh')], happened: (output) => output.includes('id_ed25519') }),
  },
  {
    name: 'a file that is closed to reading',
    ownRoot: true,
    stage(scene) {
      const path = scene.beside('closed/file', scene.token)
      scene.sandbox.denyRead = [path]
      return { run: ['read', path], happened: (output) => output.includes(scene.token) }
    },
  },
  {
    name: 'a directory in the root that is closed to reading',
    ownRoot: true,
    stage(scene) {
      const path = scene.within('closed/file', scene.token)
      scene.sandbox.denyRead = ['closed']
      return { run: `cat closed/*; mv closed open; cat open/*; cat ${path}`, happened: (output) => output.includes(scene.token) }
    },
  },
  {
    name: 'a file outside, with a narrow read scope',
    ownRoot: true,
    sandbox: { readScope: 'system' },
    stage(scene) {
      const path = scene.beside('file', scene.token)
      return { run: ['read', path], happened: (output) => output.includes(scene.token) }
    },
  },
  {
    name: 'a program outside, with a narrow read scope',
    ownRoot: true,
    sandbox: { readScope: 'system' },
    stage(scene) {
      const path = scene.beside('program', `#!/bin/sh\necho ${scene.token}\n`)
      return { run: `sh ${path}`, happened: (output) => output.includes(scene.token) }
    },
  },
  tellsEnvironment('the environment: its own', () => 'env'),
  tellsEnvironment('the environment: of the host', (scene) => `cat /proc/${scene.host.pid}/environ | ${ONLY_OURS}`),
  tellsEnvironment('the environment: of the parent', () => `cat /proc/$PPID/environ | ${ONLY_OURS}`),
  tellsEnvironment('the environment: of everybody', () => `cat /proc/[0-9]*/environ | ${ONLY_OURS}`),
  tellsEnvironment('the environment: of every thread', () => `cat /proc/[0-9]*/task/*/environ | ${ONLY_OURS}`),
  tellsEnvironment('the environment: by ps', () => "ps axeww | tr ' ' '\\n' | grep -a redteam", { needs: 'ps' }),
  {
    name: 'the arguments of the host',
    stage: (scene) => ({
      run: `cat /proc/[0-9]*/cmdline | ${ONLY_OURS}`,
      happened: (output) => output.includes(scene.host.secrets.argument),
    }),
  },
  {
    name: 'a descriptor that the host has left open',
    needs: 'a runtime that does not close it',
    stage: (scene) => ({ run: ['descriptors'], happened: (output) => output.includes(scene.host.secrets.descriptor) }),
  },
  {
    name: 'a descriptor of the host, by /proc',
    stage: (scene) => ({
      run: ['read', `/proc/${scene.host.pid}/fd/${LEFT_OPEN}`],
      happened: (output) => output.includes(scene.host.secrets.descriptor),
    }),
  },
  {
    name: 'the standard input of the host',
    stage(scene) {
      scene.host.child.stdin?.write(`${scene.token}\n`)
      return { run: 'read line; echo "$line"', inheritInput: true, happened: (output) => output.includes(scene.token) }
    },
  },
]
