import { execFileSync } from 'node:child_process'
import { mkdirSync, watch } from 'node:fs'
import { dirname } from 'node:path'
import { createTools, openCheckpoints } from 'toolwright'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeSandbox, type Sandbox } from '../support/sandbox.ts'

// Commands run, while a person watches and our own tools look: nobody sees a name that no command has made.
const GIT = 'git -c user.name=a -c user.email=a@b -c init.defaultBranch=main'
const onHost = (directory: string, script: string): string =>
  execFileSync('sh', ['-c', script], { cwd: directory, encoding: 'utf8', env: { ...process.env, GIT_OPTIONAL_LOCKS: '0' } })

const roots: [kind: string, make: (fixture: Sandbox) => void][] = [
  ['without a repository', () => undefined],
  ['with one', ({ root }) => onHost(root, `${GIT} init -q . && ${GIT} commit -q --allow-empty -m first`)],
  ['below one', ({ root }) => onHost(dirname(root), `${GIT} init -q . && ${GIT} commit -q --allow-empty -m first`)],
]
const COMMANDS = [
  'true',
  'cat own',
  'ls -A',
  'echo x > made; rm made',
  'mkdir dir && echo needle > dir/made && rm -r dir',
  'git status --porcelain; true',
]
const MADE = new Set(['made', 'dir', 'dir/made'])
const factor = Number(process.env['TOOLWRIGHT_SOAK_FACTOR'] ?? '1')

describe.runIf(process.platform === 'linux').each(roots)('a root %s', (_, make) => {
  test('shows nothing of ours to a person and to our own tools while commands run', { timeout: 60_000 * factor }, async () => {
    const fixture = makeSandbox()
    fixture.put('own', 'needle\n')
    fixture.put('sub/deep/own', 'needle\n')
    fixture.put('.gitignore', 'ignored\n')
    fixture.put('ignored', 'needle\n')
    make(fixture)
    const store = `${fixture.outside}/store`
    mkdirSync(store)
    const checkpoints = await openCheckpoints(fixture.root, { store })
    onTestFinished(() => checkpoints.close())
    const { bash, grep, glob } = createTools({
      rootDir: fixture.root,
      networkGuard: 'off',
      checkpoints,
      sandbox: { denyWrite: ['@git', '@editors', '@tools', '.env', 'config/secret'] },
    })
    let count = 0
    const id = () => ({ toolCallId: `c${(count += 1)}` })
    const looks = {
      grep: async () => String(await grep.execute({ pattern: 'needle' }, id())),
      glob: async () => String(await glob.execute({ pattern: '**' }, id())),
      find: () => onHost(fixture.root, 'find . -path ./.git -prune -o -print 2>/dev/null'),
      checkpoint: async () => {
        const { changes } = await checkpoints.diff(first, (await checkpoints.checkpoint()).id)
        return changes.map(({ path }) => path).join('\n')
      },
      status: () => onHost(fixture.root, 'git status --porcelain 2>&1; true'),
    }
    const look = async (): Promise<Record<string, string[]>> => {
      const shown: Record<string, string[]> = {}
      for (const [name, of] of Object.entries(looks)) {
        const lines = (await of()).split('\n')
        shown[name] = lines.filter((line) => line !== '' && !/\b(?:made|dir)\b|No files were found/u.test(line)).toSorted()
      }
      return shown
    }
    const { id: first } = await checkpoints.checkpoint()
    const before = await look()
    const seen = new Set<string>()
    const watcher = watch(fixture.root, { recursive: true }, (_event, name) => name !== null && seen.add(name))
    onTestFinished(() => watcher.close())
    const over = new AbortController()
    let looked = 0
    const looking = (async () => {
      for (; !over.signal.aborted || looked === 0; looked += 1) expect(await look()).toEqual(before)
    })().catch((error: unknown) => error)
    try {
      for (let round = 0; round < 5 * factor; round += 1)
        for (const command of COMMANDS) await bash.execute({ cmd: 'sh', args: ['-c', command] }, id())
    } finally {
      over.abort()
      expect(await looking).toBeUndefined()
    }
    const known = new Set([...MADE, 'own', 'sub', 'sub/deep', 'sub/deep/own', 'ignored', '.gitignore'])
    expect([...seen].filter((name) => !known.has(name))).toEqual([])
  })
})
