import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

/** Each git of this machine: what stands for an absent `.git/commondir` has to be nothing to all of them. */
const gits = ['/usr/bin/git', '/usr/local/bin/git'].filter((path) => existsSync(path))

/** One line of git's each, in a repository with a submodule and another working tree. */
const lines = [
  'status --short',
  'log --format=%s',
  'add -A',
  'commit -qm second',
  'diff HEAD~1 --stat',
  'switch -qc other',
  'commit -q --allow-empty -m on-other',
  'switch -q main',
  'merge -q --no-edit other',
  'rebase -q other',
  'cherry-pick --allow-empty other',
  'branch --format=%(refname)',
  'tag one',
  'stash list',
  'reset -q --hard HEAD',
  'config --local --get core.bare',
  'config user.nick somebody',
  'remote add up ../lib',
  'fetch -q up',
  'worktree add -q tree',
  'worktree list --porcelain',
  'worktree remove tree',
  'submodule status',
  'submodule --quiet update',
  'reflog -1 --format=%gs',
  'for-each-ref --format=%(refname)',
  'rev-parse --is-inside-work-tree --is-bare-repository --show-prefix',
  'fsck --no-progress',
  'gc -q',
  'repack -adq',
  'rm -q --cached a',
  'ls-files',
  'clean -fdq',
  'bisect log',
]

/** What git prints and how it ends, line by line. */
function conversation(git: string, hasPlaceholder: boolean): string[] {
  const place = mkdtempSync(join(tmpdir(), 'toolwright-git-'))
  const root = join(place, 'root')
  const env = {
    PATH: process.env['PATH'],
    HOME: place,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_DATE: '2024-01-01T00:00:00Z',
    GIT_COMMITTER_DATE: '2024-01-01T00:00:00Z',
  }
  const run = (cwd: string, ...args: string[]): string => {
    const options = [
      '-c',
      'user.name=a',
      '-c',
      'user.email=a@localhost',
      '-c',
      'protocol.file.allow=always',
      '-c',
      'init.defaultBranch=main',
    ]
    try {
      return execFileSync(git, [...options, ...args], { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
    } catch (error) {
      const { status, stdout, stderr } = error as { status: number; stdout: string; stderr: string }
      return `${status}: ${stdout}${stderr}`
    }
  }
  try {
    for (const name of ['lib', 'root']) {
      mkdirSync(join(place, name))
      writeFileSync(join(place, name, 'a'), 'one\n')
      for (const args of [
        ['init', '-q'],
        ['add', 'a'],
        ['commit', '-qm', 'first'],
      ])
        run(join(place, name), ...args)
    }
    run(root, 'submodule', '--quiet', 'add', '../lib', 'sub')
    run(root, 'commit', '-qm', 'sub')
    if (hasPlaceholder) {
      const file = join(root, '.git/commondir')
      writeFileSync(file, '.')
      utimesSync(file, 981_173_106, 981_173_106)
    }
    writeFileSync(join(root, 'b'), 'two\n')
    return lines.map((line) => `${line}\n${run(root, ...line.split(' '))}`.replaceAll(place, ''))
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}

describe.skipIf(gits.length === 0)('what stands for an absent .git/commondir', () => {
  test.each(gits)('%s does the same with it as without, subcommand by subcommand', { timeout: 120_000 }, (git) => {
    const [without, having] = [conversation(git, false), conversation(git, true)]
    expect(having).toEqual(without)
    // They work at all.
    expect(without.filter((answer) => /\n1\d\d: fatal/u.test(answer))).toEqual([])
  })
})
