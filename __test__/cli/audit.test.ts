import { chmodSync, utimesSync } from 'node:fs'
import { createTools, openJournal, runTask } from 'toolwright'
import { expect, test } from 'vitest'
import { runCli } from '../support/run-cli.ts'
import { makeSandbox } from '../support/sandbox.ts'

interface Audited {
  since: string | null
  files: { path: string; by: string; changedAt: string; isExecutable: boolean }[]
}

const OBEYED = [
  '.git/hooks/pre-commit',
  '.git/modules/a/b/hooks/post-checkout',
  '.git/rebase-merge/git-rebase-todo',
  '.github/workflows/x.yml',
  '.mcp.json',
  '.vscode/tasks.json',
  'Makefile',
  'node_modules/.bin/tool',
  'package.json',
  'packages/a/package.json',
  'sub/.git/config',
  'vite.config.ts',
]

test('lists what programs run or obey, and nothing else', async () => {
  const box = makeSandbox()
  for (const path of [...OBEYED, 'src/index.ts', 'README.md', 'node_modules/left/index.js', '.git/objects/package.json']) box.put(path, 'x')
  chmodSync(`${box.root}/node_modules/.bin/tool`, 0o755)
  const { code, stdout } = await runCli(['audit', box.root, '--json'])
  const audited = JSON.parse(stdout) as Audited
  expect(code).toBe(0)
  expect(audited.files.map(({ path }) => path)).toEqual([...OBEYED].sort())
  expect(audited.files.filter(({ isExecutable }) => isExecutable).map(({ path }) => path)).toEqual(['node_modules/.bin/tool'])
  const shown = await runCli(['audit', box.root])
  expect(shown.stdout).toMatch(/git runs it:\n {2}\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ {2}\.git\/hooks\/pre-commit\n/u)
})

const ACTS_WHEN_OPENED = [
  '.aider.conf.yml',
  '.amp/settings.json',
  '.bazelrc',
  '.cargo/config.toml',
  '.continue/config.yaml',
  '.crush.json',
  '.devcontainer/devcontainer.json',
  '.dir-locals.el',
  '.envrc',
  '.exrc',
  '.fleet/run.json',
  '.helix/languages.toml',
  '.husky/pre-commit',
  '.junie/mcp/mcp.json',
  '.kiro/hooks/x',
  '.lefthook.yml',
  '.mise.toml',
  '.mvn/extensions.xml',
  '.npmrc',
  '.nvim.lua',
  '.opencode/plugin/x.ts',
  '.pre-commit-config.yaml',
  '.qwen/settings.json',
  '.roo/mcp.json',
  '.tool-versions',
  '.trae/mcp.json',
  '.venv/bin/activate',
  '.venv/lib/python3/site-packages/x.pth',
  '.vimrc',
  '.windsurf/hooks.json',
  '.yarnrc.yml',
  '.zed/tasks.json',
  'a.code-workspace',
  'a.sublime-project',
  'flake.nix',
  'gradle.properties',
  'opencode.json',
  'rust-toolchain.toml',
]

test('lists what acts when a project is opened', async () => {
  const box = makeSandbox()
  for (const path of ACTS_WHEN_OPENED) box.put(path, 'x')
  const { stdout } = await runCli(['audit', box.root, '--json'])
  expect((JSON.parse(stdout) as Audited).files.map(({ path }) => path)).toEqual([...ACTS_WHEN_OPENED].sort())
})

test('lists what has changed since the first call of a journal', async () => {
  const box = makeSandbox()
  box.put('Makefile', 'old')
  await new Promise((resolve) => setTimeout(resolve, 50))
  const file = `${box.outside}/runs.db`
  const journal = await openJournal(file)
  const { write } = createTools({ rootDir: box.root, journal })
  await runTask({ journal, runId: 'run', nodeId: 'node' }, async () => {
    await write.execute({ path: 'package.json', content: '{"scripts":{}}' })
  })
  await journal.close()
  const { stdout } = await runCli(['audit', box.root, '--journal', file, '--json'])
  const audited = JSON.parse(stdout) as Audited
  expect(audited.files.map(({ path }) => path)).toEqual(['package.json'])
  expect(audited.since).not.toBeNull()
})

test('a time that was set back does not hide a change', async () => {
  const box = makeSandbox()
  box.put('Makefile', 'new')
  utimesSync(`${box.root}/Makefile`, 1, 1)
  expect((await runCli(['audit', box.root, '--since', '1h'])).stdout).toContain('Makefile')
  expect((await runCli(['audit', box.root, '--since', '2100-01-01T00:00:00Z'])).stdout).toBe(
    'Nothing of what programs run or obey has changed.\n',
  )
})

test.each([
  [[], 'name a directory'],
  [['.', '..'], 'name one directory'],
  [['.', '--since', 'soon'], '--since is a time such as'],
  [['.', '--since', '1h', '--journal', 'x.db'], 'name either --journal or --since'],
])('refuses %j', async (args, message) => {
  const { code, stderr } = await runCli(['audit', ...args])
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining(message) as string })
})

test('says that a directory is none, and that a journal is not there', async () => {
  const box = makeSandbox()
  expect(await runCli(['audit', `${box.root}/none`])).toMatchObject({ code: 1 })
  expect(await runCli(['audit', box.root, '--journal', `${box.root}/none.db`])).toMatchObject({ code: 1 })
})
