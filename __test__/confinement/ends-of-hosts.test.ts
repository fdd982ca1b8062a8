// docs/security.md, "Git": the host program ends while a command plants something, and the next one takes none of it for the user's
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sandboxReport } from 'toolwright'
import { describe, expect, onTestFinished, test } from 'vitest'
import { expectGone, sleepingMark } from '../support/processes.ts'
import { makeSandbox, type Sandbox } from '../support/sandbox.ts'

const program = fileURLToPath(new URL('planting-host-process.ts', import.meta.url))
const writing = fileURLToPath(new URL('writing-host-process.ts', import.meta.url))
const isConfined = process.platform === 'linux' && (await sandboxReport()).files.level === 'kernel'

/** A root with a repository, a linked work tree and a bare repository of the user. */
function project(): { box: Sandbox; state: string; ran: string; canary: string; git(...args: string[]): string } {
  const box = makeSandbox()
  const [state, ran] = [join(box.outside, 'state'), join(box.outside, 'ran')]
  const canary = box.put('../outside/canary', `#!/bin/sh\necho ran >> ${ran}\n`)
  execFileSync('chmod', ['755', canary])
  const settings = ['-c', 'user.name=A', '-c', 'user.email=a@localhost']
  const git = (...args: string[]): string => execFileSync('git', [...settings, ...args], { cwd: box.root, encoding: 'utf8' })
  git('init', '-q', '.')
  git('commit', '-q', '--allow-empty', '-m', 'first')
  git('worktree', 'add', '-q', 'tree')
  git('init', '-q', '--bare', 'mine.git')
  return { box, state, ran, canary, git }
}

/** Where a command plants a git directory of plain files, a file that leads to one, and places that programs obey. */
const plant = (canary: string): string =>
  [
    'mkdir -p deep/1/2/3/4 bare/objects bare/refs .vscode',
    'cp -r .git/. evil',
    `git config -f evil/config core.fsmonitor ${canary}`,
    'echo gitdir: $PWD/evil > deep/1/2/3/4/.git',
    `printf '[core]\\n\\tbare = false\\n\\tworktree = ..\\n\\tfsmonitor = ${canary}\\n' > bare/config`,
    'echo ref: refs/heads/main > bare/HEAD',
    'echo "{}" > .vscode/tasks.json',
    'echo > planted',
  ].join('; ')

describe.skipIf(!isConfined)('a host program that ends while a command runs', { timeout: 60_000 }, () => {
  test.each(['SIGINT', 'SIGTERM', 'SIGKILL'] as const)('leaves nothing that the next one takes for the user’s: %s', async (signal) => {
    const { box, state, ran, canary, git } = project()
    const before = { tree: box.text('tree/.git'), mine: readdirSync(box.at('mine.git')), head: box.text('mine.git/HEAD') }
    const env = { ...process.env, XDG_STATE_HOME: state }
    const mark = sleepingMark(60)
    const host = spawn(process.execPath, [program, box.root, `${plant(canary)}; sleep ${mark}`], {
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    onTestFinished(() => void host.kill('SIGKILL'))
    await expect.poll(() => existsSync(box.at('planted')), { timeout: 30_000 }).toBe(true)
    host.kill(signal)
    await expectGone(mark)
    await expect.poll(() => host.exitCode ?? host.signalCode).not.toBeNull()
    expect(existsSync(box.at('deep/1/2/3/4/.git'))).toBe(true)

    const told = execFileSync(process.execPath, [program, box.root, 'true'], { env, encoding: 'utf8' })
    expect(told).toContain('was killed before it had looked')
    for (const path of ['deep/1/2/3/4/.git', 'bare/HEAD', '.vscode']) {
      expect(existsSync(box.at(path)), path).toBe(false)
      expect(existsSync(box.at(`${path}.disabled`)), path).toBe(true)
    }
    for (const directory of ['.', 'deep/1/2/3/4', 'bare', 'evil/..', 'tree', 'mine.git']) git('-C', directory, 'rev-parse', '--git-dir')
    git('status', '--porcelain')
    git('-C', 'deep/1/2/3/4', 'status', '--porcelain')
    git('-C', 'bare', 'status', '--porcelain')
    expect(existsSync(ran) && readFileSync(ran, 'utf8')).toBe(false)
    expect({ tree: box.text('tree/.git'), mine: readdirSync(box.at('mine.git')), head: box.text('mine.git/HEAD') }).toEqual(before)
    // It has judged it, and says no more.
    expect(execFileSync(process.execPath, [program, box.root, 'true'], { env, encoding: 'utf8' })).not.toContain('was killed')
    expect(readdirSync(join(state, 'toolwright', 'marks'))).toEqual([])
    rmSync(ran, { force: true })
  })
})

test('file tools do not write where hosts keep their marks', () => {
  const box = makeSandbox()
  // Of the process itself: Bun keeps what a program sets in `process.env` to itself.
  const env = { ...process.env, XDG_STATE_HOME: box.at('state') }
  const write = (path: string): string => execFileSync(process.execPath, [writing, box.root, path], { env, encoding: 'utf8' })
  expect(write('state/toolwright/marks/x')).toBe('TOOL_PATH_PROTECTED')
  expect(write('state/toolwright/x')).toBe('written')
})
