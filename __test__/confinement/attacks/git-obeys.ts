import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import type { Scene } from '../stage/scene.ts'
import type { Attack } from './attack.ts'

const AUTHOR = '-c user.name=a -c user.email=a@localhost'
const GIT = `git ${AUTHOR} -c protocol.file.allow=always -c init.defaultBranch=main`

/** A program that leaves the token outside, if the host's git runs it. */
function trap(scene: Scene): string {
  const path = scene.beside('trap', `#!/bin/sh\necho ${scene.token} > ${join(scene.outside, 'ran')}\n`)
  chmodSync(path, 0o755)
  return path
}

/** Makes a line of shell of what is to be planted: a configuration, or a hook. */
interface Planted {
  config: (file: string) => string
  hook: (directory: string) => string
}

/**
 * An attack after which the host uses git, in `where`: nothing that a command has planted may run then.
 * `prepare` and `plant` are scripts in the root, the first of the host, the other of the command.
 */
const obeys = (
  name: string,
  prepare: string | ((scene: Scene) => string),
  plant: (planted: Planted, scene: Scene) => string,
  where: string | ((scene: Scene) => string) = '.',
  first = '',
): Attack => ({
  name: `git obeys: ${name}`,
  ownRoot: true,
  // Mounts hold root like everybody, as the attacks on the directory of git show.
  only: 'others',
  needs: 'git',
  async stage(scene) {
    const script = trap(scene)
    const byHost = (cwd: string, line: string) => scene.host.order({ how: 'plain', argv: ['sh', '-c', `exec 2>&1; ${line}`], cwd })
    const made = await byHost(scene.inside, typeof prepare === 'string' ? prepare : prepare(scene))
    if (made.how !== '0') throw new Error(`not prepared: ${made.output}`)
    const planted: Planted = {
      config: (file) => `printf '[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = ${script}\\n' >> ${file}`,
      hook: (directory) => `mkdir -p ${directory}; cp ${script} ${directory}/pre-commit`,
    }
    if (first !== '') await scene.run(['sh', '-c', first])
    const place = typeof where === 'string' ? join(scene.inside, where) : where(scene)
    return {
      run: `exec 2>&1; ${plant(planted, scene)}`,
      async happened() {
        await byHost(place, `git status; ${GIT} commit -q --allow-empty -m later`)
        return scene.isIn(join(scene.outside, 'ran'))
      },
    }
  },
})

const REPOSITORY = `${GIT} init -q . && echo one > a && git add a && ${GIT} commit -qm first`
const SHARED = `git init -q --bare shared && ${REPOSITORY} && cp -r .git/objects .git/refs shared/ && echo ../shared > .git/commondir && git status`
const SUBMODULE = `git init -q lib && (cd lib && ${REPOSITORY}) && ${REPOSITORY} && ${GIT} submodule --quiet add "$PWD/lib" sub && ${GIT} commit -qm sub`
const APART = `${GIT} init -q --separate-git-dir=.bare . && echo one > a && git add a && ${GIT} commit -qm first`
const BARE = 'git init -q --bare . && git config core.bare false && git config core.worktree . && git status'

/** A working tree that commands cannot write to. */
const elsewhere = (scene: Scene): string => join(scene.outside, 'tree')

export const gitObeys: readonly Attack[] = [
  obeys('a line in the configuration', REPOSITORY, ({ config }) => config('.git/config')),
  obeys('a hook', REPOSITORY, ({ hook }) => hook('.git/hooks')),
  obeys('the configuration of the working tree', `${REPOSITORY} && git config extensions.worktreeConfig true`, ({ config }) =>
    config('.git/config.worktree'),
  ),
  obeys('the configuration of a directory that is shared', SHARED, ({ config }) => config('shared/config')),
  obeys('hooks of a directory that is shared', SHARED, ({ hook }) => hook('shared/hooks')),
  obeys('another directory to share', SHARED, ({ config }) => `cp -r shared evil; ${config('evil/config')}; echo ../evil > .git/commondir`),
  obeys(
    'another directory to share, by a rename',
    SHARED,
    ({ config }) => `cp -r shared evil; ${config('evil/config')}; echo ../evil > c; mv -f c .git/commondir`,
  ),
  obeys(
    'a directory to share where none is',
    REPOSITORY,
    ({ config }) => `cp -r .git evil; ${config('evil/config')}; echo ../evil > .git/commondir`,
  ),
  obeys(
    'a directory to share where none is, by a rename',
    REPOSITORY,
    ({ config }) => `cp -r .git evil; ${config('evil/config')}; echo ../evil > c; mv -f c .git/commondir`,
  ),
  obeys(
    'a directory to share, of a repository that lies apart',
    APART,
    ({ config }) => `cp -r .bare evil; ${config('evil/config')}; echo ../evil > .bare/commondir`,
  ),
  obeys(
    'another directory for a working tree that is said to lie inside',
    (scene) => `${REPOSITORY} && git worktree add -q ${elsewhere(scene)}`,
    ({ config }) => `cp -r .git evil; ${config('evil/config')}; echo "$PWD/evil" > .git/worktrees/tree/commondir`,
    elsewhere,
    'mkdir in; echo "$PWD/in/.git" > .git/worktrees/tree/gitdir',
  ),
  {
    name: 'git obeys: a configuration that the host replaces while a command runs',
    ownRoot: true,
    only: 'others',
    needs: 'git',
    async stage(scene) {
      const byHost = (line: string) => scene.host.order({ how: 'plain', argv: ['sh', '-c', `exec 2>&1; ${line}`], cwd: scene.inside })
      await byHost(REPOSITORY)
      void scene.isReady().then(() => byHost('git config user.name somebody'))
      const wait = 'i=0; until grep -q somebody .git/config || [ $i = 300 ]; do i=$((i+1)); sleep 0.02; done; sleep 1'
      return {
        run: `exec 2>&1; : > ready; ${wait}; printf '[core]\\n\\tfsmonitor = ${trap(scene)}\\n' >> .git/config`,
        async happened() {
          await byHost('git status')
          return scene.isIn(join(scene.outside, 'ran'))
        },
      }
    },
  },
  obeys('a hook of a submodule', SUBMODULE, ({ hook }) => hook('.git/modules/sub/hooks'), 'sub'),
  obeys(
    'a hook of a submodule that is moved away',
    SUBMODULE,
    ({ hook }) => `mv .git/modules old; cp -r old .git/modules; ${hook('.git/modules/sub/hooks')}`,
    'sub',
  ),
  obeys(
    'a hook of a submodule that was hidden before',
    SUBMODULE,
    ({ hook }) => `mv HEAD .git/modules/sub/HEAD; mv config .git/modules/sub/config; ${hook('.git/modules/sub/hooks')}`,
    'sub',
    'mv .git/modules/sub/HEAD HEAD; rm -rf .git/modules/sub/hooks; mv .git/modules/sub/config config',
  ),
  obeys('the configuration of a repository that lies apart', APART, ({ config }) => config('.bare/config')),
  obeys('a hook of a repository that lies apart', APART, ({ hook }) => hook('.bare/hooks')),
  obeys(
    'a file that leads to another repository',
    APART,
    ({ config }) => `cp -r .bare evil; ${config('evil/config')}; echo gitdir: evil > .git`,
  ),
  obeys(
    'a file that leads to another repository, by a rename',
    APART,
    ({ config }) => `cp -r .bare evil; ${config('evil/config')}; echo gitdir: evil > g; mv -f g .git`,
  ),
  obeys('the configuration of a root that is a repository', BARE, ({ config }) => config('config')),
  obeys('a hook of a root that is a repository', BARE, ({ hook }) => hook('hooks')),
  obeys(
    'another directory for a working tree outside',
    (scene) => `${REPOSITORY} && git worktree add -q ${elsewhere(scene)}`,
    ({ config }) => `cp -r .git evil; ${config('evil/config')}; echo "$PWD/evil" > .git/worktrees/tree/commondir`,
    elsewhere,
  ),
]
