import { existsSync, readdirSync, readlinkSync, realpathSync, symlinkSync } from 'node:fs'
import { createTools, sandboxReport } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { refusal } from '../support/refusal.ts'
import { makeSandbox } from '../support/sandbox.ts'

const isConfined = process.platform === 'linux' && (await sandboxReport()).files.level === 'kernel'

interface Shell {
  execute(input: object, options: object): Promise<string>
  toModelOutput(request: object): { value: string }
}
let calls = 0

function tools(denyWrite?: string[]) {
  const box = makeSandbox()
  const made = createTools({ rootDir: box.root, ...(denyWrite && { sandbox: { denyWrite } }) })
  const { execute, toModelOutput } = made.bash as unknown as Shell
  /** What a model reads. */
  const run = async (command: string): Promise<string> => {
    const input = { cmd: 'sh', args: ['-c', command] }
    const toolCallId = `call-${(calls += 1)}`
    const output = await execute(input, { toolCallId, messages: [], context: {} })
    return toModelOutput({ toolCallId, input, output }).value
  }
  const write = async (path: string) => made.write.execute({ path, content: 'x' })
  return { box, run, write }
}

const EDITORS = ['.vscode/tasks.json', '.idea/workspace.xml', '.zed/settings.json']
const AGENTS = ['.claude/settings.json', '.codex/config.toml', '.cursor/mcp.json', '.gemini/settings.json', '.agents/a.md', '.mcp.json']
const TOOLS = ['.devcontainer/devcontainer.json', '.windsurf/hooks.json', 'opencode.json', '.nvim.lua', '.helix/languages.toml']
const CI = ['.github/workflows/x.yml', '.gitlab-ci.yml', 'Jenkinsfile']
const GIT = ['.git/hooks/pre-commit', '.git/config', 'sub/.git/hooks/post-checkout', 'sub/.git/config', 'sub/.git']

describe('write and edit', () => {
  test.each([...EDITORS, ...AGENTS, ...TOOLS, ...GIT])('refuses %s by default, present or not', async (path) => {
    const { box, write } = tools()
    expect((await refusal(write(path))).code).toBe('TOOL_PATH_PROTECTED')
    expect(readdirSync(box.root)).toEqual([])
  })

  test('refuses what the configuration of git leads to, as it is at the time of the call', async () => {
    const { box, write } = tools()
    const led = ['.husky/_/pre-commit', '.husky/_', 'own/hooks', '.gitconfig', 'later']
    box.put('.git/config', '[core]\n\thooksPath = x\n')
    for (const path of ['.husky/_/pre-commit', '.gitconfig', 'own/hooks']) await write(path)
    box.put('.git/config', '[core]\n\thooksPath = .husky/_\n[include]\n\tpath = ../.gitconfig\n')
    box.put('.gitconfig', '[include]\n\tpath = later\n[core]\n\thooksPath = own/hooks\n')
    for (const path of led) expect((await refusal(write(path))).code).toBe('TOOL_PATH_PROTECTED')
    for (const path of ['.husky/pre-commit', 'own/x', 'x']) await write(path)
    expect(box.text('.husky/_/pre-commit')).toBe('x')
  })

  test('does not refuse them where git is not protected', async () => {
    const { box, write } = tools(['@editors'])
    box.put('.git/config', '[core]\n\thooksPath = h\n')
    await write('h/pre-commit')
  })

  test('does not refuse what agents are asked to write', async () => {
    const { write } = tools()
    for (const path of ['AGENTS.md', 'CLAUDE.md', '.envrc', 'package.json', '.github/workflows/x.yml', '.gitignore', '@git'])
      await write(path)
  })

  test('names choose what is protected', async () => {
    const { write } = tools(['@ci'])
    for (const path of CI) expect((await refusal(write(path))).code).toBe('TOOL_PATH_PROTECTED')
    for (const path of [...EDITORS, ...AGENTS]) await write(path)
  })

  test('@host is the program of this process', async () => {
    const [, program = ''] = process.argv
    const directory = realpathSync(program).replace(/\/[^/]*$/u, '')
    const { write } = createTools({ rootDir: directory, sandbox: { denyWrite: ['@host'] } })
    const name = realpathSync(program).slice(directory.length + 1)
    expect((await refusal(write.execute({ path: name, content: 'x' }))).code).toBe('TOOL_PATH_PROTECTED')
  })

  test('an unknown name is refused, and a path with it is not', () => {
    expect(() => createTools({ sandbox: { denyWrite: ['@editor'] } })).toThrow(
      /"@editor" is none of @git, @editors, @agents, @tools, @ci, @host/u,
    )
    createTools({ sandbox: { denyWrite: ['@scope/package', './@editor'] } })
  })
})

describe.runIf(isConfined)('commands', () => {
  test('a link in a protected place is pinned, and what it leads to is protected', async () => {
    const { box, run } = tools()
    box.put('tools/vscode/tasks.json', 'mine')
    symlinkSync('tools/vscode', `${box.root}/.vscode`)
    const tries = ['rm .vscode', 'ln -sfn x .vscode', 'mv .vscode y', 'echo x > tools/vscode/tasks.json', 'mv tools z']
    const shown = await run(tries.map((line) => `${line} || echo kept`).join('; '))
    expect(shown.match(/kept/gu)).toHaveLength(tries.length)
    expect(readlinkSync(`${box.root}/.vscode`)).toBe('tools/vscode')
    expect(box.text('tools/vscode/tasks.json')).toBe('mine')
  })

  test('what is there is read-only', async () => {
    const { box, run } = tools()
    for (const path of [...EDITORS, ...AGENTS]) box.put(path, 'mine')
    const shown = await run([...EDITORS, ...AGENTS].map((path) => `echo x > ${path} || echo kept`).join('; '))
    expect(shown.match(/kept/gu)).toHaveLength(EDITORS.length + AGENTS.length)
    for (const path of [...EDITORS, ...AGENTS]) expect(box.text(path)).toBe('mine')
  })

  test('what was not there is set aside, and the result says so', async () => {
    const { box, run } = tools()
    const shown = await run(
      'ls -A; mkdir .vscode; echo x > .vscode/tasks.json; mkdir p; echo x > p/s.json; mv p .claude; echo x > .mcp.json',
    )
    expect(shown).not.toContain('.idea')
    expect(
      readdirSync(box.root)
        .filter((name) => name !== '.git')
        .sort(),
    ).toEqual(['.claude.disabled', '.mcp.json.disabled', '.vscode.disabled'])
    for (const name of ['.vscode', '.claude', '.mcp.json']) expect(shown).toContain(`\`${name}\` got the ending \`.disabled\``)
    await run('mkdir .vscode')
    expect(existsSync(`${box.root}/.vscode`)).toBe(false)
    expect(existsSync(`${box.root}/.vscode.disabled-1`)).toBe(true)
  })

  test('also what a command makes that ends after another one which began later', async () => {
    const { box, run } = tools()
    const long = run('mkdir .vscode; : > made; until [ -e go ]; do sleep 0.02; done')
    await expect.poll(() => existsSync(`${box.root}/made`)).toBe(true)
    await run('true')
    await run('touch go')
    await long
    expect(existsSync(`${box.root}/.vscode`)).toBe(false)
    expect(existsSync(`${box.root}/.vscode.disabled`)).toBe(true)
  })

  test('hooks in the project are written to a private copy, and stay as they are', async () => {
    const { box, run } = tools()
    box.put('.git/HEAD', 'ref: refs/heads/main\n')
    box.put('.git/objects/x', '')
    box.put('.git/refs/x', '')
    box.put('.git/config', '[core]\n\thooksPath = .husky/_\n')
    box.put('.husky/_/pre-commit', 'mine')
    const shown = await run('echo evil > .husky/_/pre-commit; cp .husky/_/pre-commit .husky/_/post-merge')
    expect(shown).not.toContain('these are new or changed')
    expect(box.text('.husky/_/pre-commit')).toBe('mine')
    expect(readdirSync(`${box.root}/.husky/_`)).toEqual(['pre-commit'])
  })

  test('git init makes a repository of the root', async () => {
    const { box, run } = tools()
    const shown = await run(
      'git init -q && git config alias.x "!true" && git config user.name me && echo "#!/bin/sh" > .git/hooks/pre-commit',
    )
    expect(shown).toContain('In `.git`, `alias.x` applied to this command only')
    expect(shown).toContain('`hooks/pre-commit` stayed in the sandbox')
    expect(box.text('.git/config')).toContain('name = me')
    expect(box.text('.git/config')).not.toContain('alias')
    expect(existsSync(`${box.root}/.git/hooks/pre-commit`)).toBe(false)
    expect(await run('git config user.name; git status --short; git commit -q --allow-empty -m x -c user.email=x || true')).toContain('me')
  })
})
