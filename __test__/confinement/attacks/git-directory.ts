import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Scene } from '../stage/scene.ts'
import type { Attack } from './attack.ts'

const CONFIG = '[core]\n\trepositoryformatversion = 0\n'

const ROOTS = 'CAP_SYS_ADMIN'

/** A repository as git makes it, so far as it matters here. */
function repository(scene: Scene, { hooks = true, config = true } = {}): void {
  scene.within('.git/HEAD', 'ref: refs/heads/main\n')
  scene.directory(join(scene.inside, '.git/objects'))
  scene.directory(join(scene.inside, '.git/refs'))
  if (config) scene.within('.git/config', CONFIG)
  if (hooks) scene.within('.git/hooks/pre-commit.sample', '#!/bin/sh\n')
}

/** Something that git would run or obey lies in the repository, seen from outside. */
function isPlanted(scene: Scene): boolean {
  const hooks = join(scene.inside, '.git/hooks')
  if (['pre-commit', 'post-checkout'].some((name) => scene.isIn(join(hooks, name)))) return true
  return scene.isIn(join(scene.inside, '.git/config'))
}

const plants = (
  name: string,
  script: (scene: Scene) => string,
  parts: { hooks?: boolean; config?: boolean } | 'none' = {},
  more: Partial<Attack> = {},
): Attack => ({
  name: `git: ${name}`,
  ownRoot: true,
  ...more,
  stage(scene) {
    if (parts !== 'none') repository(scene, parts)
    if (more.needs === ROOTS) scene.afterwards(async () => void (await scene.beyond('unmount', join(scene.inside, '.git/hooks'))))
    return { run: `exec 2>&1; ${script(scene)}`, happened: () => isPlanted(scene) }
  },
})

const hook = (scene: Scene, at: string): string => `echo ${scene.token} > ${at}/pre-commit`

export const gitDirectory: readonly Attack[] = [
  plants('a hook', (scene) => hook(scene, '.git/hooks')),
  plants('a hook where there is no directory for it', (scene) => `mkdir .git/hooks; ${hook(scene, '.git/hooks')}`, { hooks: false }),
  plants('a hook where there is no repository', (scene) => `mkdir -p .git/hooks; ${hook(scene, '.git/hooks')}`, 'none'),
  plants(
    'a hook made of a sample',
    (scene) => `echo ${scene.token} >> .git/hooks/pre-commit.sample; mv .git/hooks/pre-commit.sample .git/hooks/pre-commit`,
  ),
  plants('a hook after the repository was moved away', (scene) => `mv .git old; mkdir -p .git/hooks; ${hook(scene, '.git/hooks')}`),
  plants('a hook while the repository is away', (scene) => `mv .git old; ${hook(scene, 'old/hooks')}; mv old .git`),
  plants('a hook in a copy that takes the place', (scene) => `cp -r .git new; ${hook(scene, 'new/hooks')}; mv .git old; mv new .git`),
  plants('a hook in a copy, exchanged', (scene) => `cp -r .git new; ${hook(scene, 'new/hooks')}; ${scene.attackProgram} exchange new .git`),
  plants(
    'a hook in a repository that is a link',
    (scene) => `cp -r .git new; ${hook(scene, 'new/hooks')}; rm -rf .git; mv .git old; ln -s new .git`,
  ),
  plants(
    'a link in the place of the hooks',
    (scene) => `mkdir new; ${hook(scene, 'new')}; rm -rf .git/hooks; mv .git/hooks old; ln -s ../new .git/hooks`,
  ),
  plants('a link where there are no hooks', (scene) => `mkdir new; ${hook(scene, 'new')}; ln -s ../new .git/hooks`, { hooks: false }),
  plants('a hook by a link', (scene) => `ln -s .git/hooks link; ${hook(scene, 'link')}`),
  plants('a hook by a rename', (scene) => `${hook(scene, '.')}; mv pre-commit .git/hooks/`),
  plants('a hook by a hard link', (scene) => `${hook(scene, '.')}; ln pre-commit .git/hooks/pre-commit`),
  plants(
    'a hook by a directory of its own',
    (scene) => `mkdir new; ${hook(scene, 'new')}; rmdir .git/hooks || rm -rf .git/hooks; mv new .git/hooks`,
  ),
  plants(
    'a hook under a mount',
    (scene) => `mkdir new; ${hook(scene, 'new')}; ${scene.attackProgram} mount-bind new .git/hooks`,
    {},
    { only: 'root', needs: ROOTS },
  ),
  plants('a line in the configuration', (scene) => `echo ${scene.token} >> .git/config`),
  {
    name: 'git: an empty configuration',
    ownRoot: true,
    stage(scene) {
      repository(scene)
      return { run: ': > .git/config', happened: () => readFileSync(join(scene.inside, '.git/config'), 'utf8') !== CONFIG }
    },
  },
  plants('a configuration where there is none', (scene) => `echo ${scene.token} > .git/config`, { config: false }),
  plants('another configuration in its place', (scene) => `echo ${scene.token} > config; mv -f config .git/config`),
  plants('the configuration by a hard link', (scene) => `ln .git/config twin; echo ${scene.token} >> twin`),
  plants('the configuration by a link', (scene) => `ln -s .git/config link; echo ${scene.token} >> link`),
  plants('the configuration by git', (scene) => `git config core.hooksPath ${scene.token}`, {}, { needs: 'git' }),
  {
    name: 'a file that is closed to writing, and absent',
    ownRoot: true,
    sandbox: { denyWrite: ['settings/local.json'] },
    stage(scene) {
      scene.directory(join(scene.inside, 'settings'))
      const target = join(scene.inside, 'settings/local.json')
      return { run: `echo ${scene.token} > settings/local.json`, happened: () => scene.isIn(target) }
    },
  },
  {
    name: 'a file that is closed to writing, and its directory moved',
    ownRoot: true,
    sandbox: { denyWrite: ['settings/local.json'] },
    stage(scene) {
      const target = scene.within('settings/local.json')
      const run = `mv settings old; mkdir settings; echo ${scene.token} > settings/local.json`
      return { run, happened: () => scene.isIn(target) }
    },
  },
]
