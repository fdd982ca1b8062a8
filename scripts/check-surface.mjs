// Generated files are committed, so that a review shows every change of the native surface and of the
// public codes. The build has just written them: what git sees as changed is drift.
import { spawnSync } from 'node:child_process'
import { root } from './setup/paths.mjs'

const GENERATED = ['index.d.ts', 'ts/core/codes.ts']
const git = (...args) => spawnSync('git', args, { cwd: root, encoding: 'utf8' })

const inside = git('rev-parse', '--is-inside-work-tree')
if (inside.error || inside.status !== 0) {
  console.log('surface: not a git checkout, nothing to compare with')
} else {
  for (const file of GENERATED) {
    const { status, stdout } = git('diff', '--exit-code', '--', file)
    if (git('ls-files', '--error-unmatch', file).status !== 0) {
      console.error(`${file} is not committed`)
      process.exitCode = 1
    } else if (status !== 0) {
      console.error(`${stdout}\n${file} differs from what the build writes: commit it with the change`)
      process.exitCode = 1
    }
  }
}
