/** A project that is forked, and what can be seen of it. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** The author of commits in tests, and no settings of the user or the system. */
const GIT = {
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@example.org',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@example.org',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
}

/** A repository with installed packages, links and hard links, and a place beside it that every command may write. */
export interface Project {
  base: string
  outside: string
  /** Variables of commands: `BASE` and `OUT` are these places. */
  env: Record<string, string>
  remove(): void
}

export function makeProject(): Project {
  const place = realpathSync(mkdtempSync(join(tmpdir(), 'toolwright-leaks-')))
  const [base, outside] = [join(place, 'base'), join(place, 'outside')]
  const env = { ...GIT, BASE: base, OUT: outside }
  mkdirSync(outside)
  const put = (path: string, text: string): void => {
    mkdirSync(dirname(join(base, path)), { recursive: true })
    writeFileSync(join(base, path), text)
  }
  put('a.txt', 'a\n')
  put('src/b.txt', 'b\n')
  put('src/deep/c.txt', 'c\n')
  put('bin/run.sh', '#!/bin/sh\necho run\n')
  put('.env', 'KEY=1\n')
  put('.gitignore', 'node_modules\n.env\n')
  put('node_modules/dep/index.js', 'module.exports = 1\n')
  put('hard1', 'hard\n')
  put('Makefile', 'all:\n\techo made > made.txt\n\techo made > $(BASE)/made.txt\n')
  chmodSync(join(base, 'bin/run.sh'), 0o755)
  linkSync(join(base, 'hard1'), join(base, 'hard2'))
  symlinkSync(join(base, 'a.txt'), join(base, 'to-a'))
  symlinkSync('src', join(base, 'to-src'))
  symlinkSync(base, join(base, 'to-base'))
  symlinkSync(base, join(outside, 'lead'))
  symlinkSync(join(base, 'a.txt'), join(outside, 'lead-a'))
  const git = (...args: string[]): void => void execFileSync('git', args, { cwd: base, env: { ...process.env, ...env }, stdio: 'ignore' })
  git('init', '-q', '-b', 'main')
  git('add', '.')
  git('commit', '-qm', 'one')
  git('branch', 'other')
  return { base, outside, env, remove: () => rmSync(place, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }) }
}

/** Everything that a directory has, by path: kinds, modes, numbers, times, and a digest of the bytes. */
export function snapshot(directory: string): Map<string, string> {
  const all = new Map<string, string>()
  const look = (path: string): void => {
    const stats = lstatSync(join(directory, path), { bigint: true })
    const { mode, ino, nlink, size, mtimeNs } = stats
    const at = join(directory, path)
    const content = stats.isSymbolicLink()
      ? readlinkSync(at)
      : stats.isFile()
        ? createHash('sha256').update(readFileSync(at)).digest('hex')
        : ''
    all.set(path, [mode.toString(8), ino, stats.isFile() ? nlink : '', size, mtimeNs, content].join(' '))
    if (stats.isDirectory()) for (const name of readdirSync(at).toSorted()) look(join(path, name))
  }
  look('.')
  return all
}

/** The paths at which two snapshots differ. */
export function differences(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  const paths = new Set([...before.keys(), ...after.keys()])
  return [...paths].filter((path) => before.get(path) !== after.get(path)).toSorted()
}
