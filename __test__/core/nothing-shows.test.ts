import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, watch } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createTools, openCheckpoints } from 'toolwright'
import { describe, expect, onTestFinished, test } from 'vitest'
import { eventually, isRunning } from '../support/processes.ts'
import { runs } from '../support/randomised.ts'
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
const factor = runs(1)
const SANDBOX = { denyWrite: ['@git', '@editors', '@tools', '.env', 'config/secret'] }
const OWN = ['own', 'sub', 'sub/deep', 'sub/deep/own', 'ignored', '.gitignore']

function fill(fixture: Sandbox): void {
  for (const name of ['own', 'sub/deep/own', 'ignored']) fixture.put(name, 'needle\n')
  fixture.put('.gitignore', 'ignored\n')
}

/** Programs that look at the root, as far as they are here. */
const PEOPLE = {
  // A name can disappear while it looks.
  find: 'find . -path ./.git -prune -o -print 2>/dev/null; true',
  status: 'git status --porcelain 2>&1; true',
  ripgrep: 'command -v rg >/dev/null && rg --files --hidden -g "!.git" | sort; true',
  go: 'command -v go >/dev/null && go list -f "{{.Dir}} {{.GoFiles}}" ./... 2>&1 | grep -v -e "^go: " -e "matched no packages"; true',
}

/** Notes each name that appears in the root or disappears from it. */
function watched(root: string): Set<string> {
  const seen = new Set<string>()
  const watcher = watch(root, { recursive: true }, (_event, name) => name !== null && seen.add(name))
  onTestFinished(() => watcher.close())
  return seen
}

/** The first process that the host program has started. */
const childOf = (pid: number): number | undefined =>
  Number(
    execFileSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' })
      .trim()
      .split(/\s+/u)[0],
  ) || undefined

const program = fileURLToPath(new URL('looping-host-process.ts', import.meta.url))

describe.runIf(process.platform === 'linux').each(roots)('a root %s', (_, make) => {
  test('shows nothing of ours to a person and to our own tools while commands run', { timeout: 60_000 * factor }, async () => {
    const fixture = makeSandbox()
    fill(fixture)
    make(fixture)
    const store = `${fixture.outside}/store`
    mkdirSync(store)
    const checkpoints = await openCheckpoints(fixture.root, { store })
    onTestFinished(() => checkpoints.close())
    const { bash, grep, glob } = createTools({
      rootDir: fixture.root,
      networkGuard: 'off',
      checkpoints,
      sandbox: SANDBOX,
    })
    let count = 0
    const id = () => ({ toolCallId: `c${(count += 1)}` })
    const looks = {
      grep: async () => String(await grep.execute({ pattern: 'needle' }, id())),
      glob: async () => String(await glob.execute({ pattern: '**' }, id())),
      checkpoint: async () => {
        const { changes } = await checkpoints.diff(first, (await checkpoints.checkpoint()).id)
        return changes.map(({ path }) => path).join('\n')
      },
    }
    const look = async (): Promise<Record<string, string[]>> => {
      const shown: Record<string, string[]> = {}
      const people = Object.entries(PEOPLE).map(([name, script]) => [name, () => onHost(fixture.root, script)] as const)
      for (const [name, of] of [...Object.entries(looks), ...people]) {
        const lines = (await of()).split('\n')
        shown[name] = lines.filter((line) => line !== '' && !/\b(?:made|dir)\b|No files were found/u.test(line)).toSorted()
      }
      return shown
    }
    const { id: first } = await checkpoints.checkpoint()
    const before = await look()
    const seen = watched(fixture.root)
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
    expect([...seen].filter((name) => !MADE.has(name) && !OWN.includes(name))).toEqual([])
  })

  test.each(['host', 'supervisor'])(
    'shows nothing of ours when the %s is killed while a command runs',
    { timeout: 60_000 * factor },
    async (killed) => {
      const fixture = makeSandbox()
      fill(fixture)
      make(fixture)
      const look = (): string[] => Object.values(PEOPLE).map((script) => onHost(fixture.root, script))
      const before = look()
      const seen = watched(fixture.root)
      for (let round = 0; round < runs(3); round += 1) {
        const host = spawn(process.execPath, [program, fixture.root, JSON.stringify(SANDBOX), ...COMMANDS], {
          stdio: ['ignore', 'pipe', 'inherit'],
        })
        onTestFinished(() => void host.kill('SIGKILL'))
        const { promise: runsNow, resolve } = Promise.withResolvers<void>()
        host.stdout.once('data', () => resolve())
        await runsNow
        await sleep(Math.random() * 60)
        const supervisor = childOf(host.pid ?? 0)
        if (supervisor === undefined) throw new Error('the host program has no process below it')
        process.kill(killed === 'host' ? (host.pid ?? 0) : supervisor, 'SIGKILL')
        if (killed === 'supervisor') {
          // It goes on with another one.
          await sleep(Math.random() * 60)
          host.kill('SIGKILL')
        }
        expect(await eventually(() => host.exitCode !== null || host.signalCode !== null, 10_000)).toBe(true)
        expect(await eventually(() => !isRunning(supervisor), 10_000)).toBe(true)
        onHost(fixture.root, 'rm -rf made dir')
        expect(look()).toEqual(before)
      }
      expect([...seen].filter((name) => !MADE.has(name) && !OWN.includes(name))).toEqual([])
    },
  )
})
