// docs/guides/git.md, "Nothing to obey, also while a command runs"
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { createTools, sandboxReport, type SandboxOptions, ToolError } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { openScene } from '../contract/scene.ts'
import { makeSandbox } from '../support/sandbox.ts'

const strict = { git: 'strict' } as const satisfies SandboxOptions

/** Whether a strict plan holds here. */
const isHeld = process.platform === 'linux' && /broker that opens files/u.test((await sandboxReport({ sandbox: strict })).git.mechanism)

function commands(rootDir: string, sandbox: SandboxOptions) {
  const { bash } = createTools({ rootDir, sandbox })
  return async (script: string): Promise<string> => {
    const run = bash.execute({ cmd: 'sh', args: ['-c', `exec 2>&1; ${script}`] }, { toolCallId: 'call' })
    return String(
      await run.catch((error: unknown) =>
        ToolError.isInstance(error) ? `${error.message} ${error.hint ?? ''}` : Promise.reject(error as Error),
      ),
    )
  }
}

const identity = 'git config user.name A; git config user.email a@example.com'

describe.skipIf(!isHeld)('git that is held strictly', { timeout: 120_000 }, () => {
  test('repositories with a work tree are made and written as before', async () => {
    const { root } = makeSandbox()
    const sh = commands(root, strict)
    expect(await sh(`git init -q -b main && ${identity} && echo one > a && git add a && git commit -qm one && git log --format=%s`)).toBe(
      'one\n',
    )
    expect(execFileSync('git', ['log', '--format=%s'], { cwd: root, encoding: 'utf8' })).toBe('one\n')
    expect(await sh('git clone -q . ../copy; git clone -q . copy && git -C copy log --format=%s')).toContain('one\n')
  })

  test('what git on the host would follow is refused, and a note has the next move', async () => {
    const { root, at, put } = makeSandbox()
    execFileSync('git', ['init', '-q', root])
    put('sub/file', '')
    const sh = commands(root, strict)
    const link = await sh("echo 'gitdir: ../elsewhere' > sub/.git")
    expect(link).toContain('Operation not permitted')
    expect(link).toContain('`sub/.git` was not written')
    expect(existsSync(at('sub/.git'))).toBe(false)
    const bare = await sh('git init -q --bare bare.git')
    expect(bare).toContain('would take its directory for a repository')
    expect(readdirSync(at('bare.git'))).not.toContain('objects')
    expect(await sh('git init -q --bare /tmp/x.git && ls /tmp/x.git | head -1')).toBe('HEAD\n')
  })

  test('the default leaves such files to the look after the command', async () => {
    const { root, at, put } = makeSandbox()
    execFileSync('git', ['init', '-q', root])
    put('sub/file', '')
    const sh = commands(root, { git: 'forked' })
    expect(await sh("echo 'gitdir: ../elsewhere' > sub/.git && cat sub/.git")).toContain('gitdir: ../elsewhere')
    expect(existsSync(at('sub/.git.disabled'))).toBe(true)
  })

  test('the address of an existing remote is held', async () => {
    const { root } = makeSandbox()
    execFileSync('git', ['init', '-q', root])
    execFileSync('git', ['remote', 'add', 'origin', 'https://git.example.com/a'], { cwd: root })
    await commands(root, strict)('git remote set-url origin https://git.example.com/b')
    expect(execFileSync('git', ['remote', 'get-url', 'origin'], { cwd: root, encoding: 'utf8' })).toBe('https://git.example.com/a\n')
    await commands(root, {})('git remote set-url origin https://git.example.com/b')
    expect(execFileSync('git', ['remote', 'get-url', 'origin'], { cwd: root, encoding: 'utf8' })).toBe('https://git.example.com/b\n')
  })

  test('it holds for the commands of a session', async () => {
    const scene = await openScene({ sandbox: strict })
    const command = "mkdir -p sub; echo 'gitdir: ../elsewhere' > sub/.git; ls -A sub"
    const envelope = JSON.stringify(await scene.call('bash', { command }))
    expect(envelope).toContain('Operation not permitted')
    expect(envelope).toContain('`sub/.git` was not written')
    expect(existsSync(scene.at('sub/.git'))).toBe(false)
  })
})

test('what cannot be held strictly is said in the report', async () => {
  const { git } = await sandboxReport({ sandbox: strict })
  expect(git.mechanism).toMatch(/broker that opens files|no command runs|[Mm]ount namespace|sandbox-exec|does not run/u)
})
