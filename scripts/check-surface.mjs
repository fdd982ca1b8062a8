// index.d.ts is generated, and committed so that a review shows every change of the native surface.
// The build has just written it: what git sees as changed is drift.
import { spawnSync } from 'node:child_process'
import { root } from './setup/paths.mjs'

const git = (...args) => spawnSync('git', args, { cwd: root, encoding: 'utf8' })

const inside = git('rev-parse', '--is-inside-work-tree')
if (inside.error || inside.status !== 0) {
  console.log('surface: not a git checkout, nothing to compare with')
} else if (git('ls-files', '--error-unmatch', 'index.d.ts').status !== 0) {
  console.error('index.d.ts is not committed')
  process.exitCode = 1
} else {
  const { status, stdout } = git('diff', '--exit-code', '--', 'index.d.ts')
  if (status !== 0) {
    console.error(`${stdout}\nindex.d.ts differs from what the build writes: commit it with the change`)
    process.exitCode = 1
  }
}
