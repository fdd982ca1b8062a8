import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeSandbox } from './sandbox.ts'

/** A bare repository of one commit, with a README, that a server of plain files can offer. */
export function makeBareRepository(): { directory: string; bare: string } {
  const { outside: directory } = makeSandbox()
  const source = join(directory, 'source')
  mkdirSync(source)
  writeFileSync(join(source, 'README'), 'from afar')
  const git = (...args: string[]): void =>
    void execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@y.z', ...args], { cwd: source, stdio: 'ignore' })
  git('init')
  git('add', '.')
  git('commit', '-m', 'first')
  const bare = join(directory, 'repository.git')
  execFileSync('git', ['clone', '--bare', source, bare], { stdio: 'ignore' })
  execFileSync('git', ['update-server-info'], { cwd: bare })
  return { directory, bare }
}
