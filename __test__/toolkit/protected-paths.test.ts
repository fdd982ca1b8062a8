import { mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { createTools, type SandboxOptions } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { refusal } from '../support/refusal.ts'
import { makeSandbox } from '../support/sandbox.ts'

function repository(sandbox?: SandboxOptions) {
  const fixture = makeSandbox()
  fixture.put('.git/config', '[core]\n')
  fixture.put('.git/hooks/sample', 'old\n')
  fixture.put('src/a', 'old\n')
  return { fixture, ...createTools({ rootDir: fixture.root, networkGuard: 'off', sandbox }) }
}

const patch = '--- a\n+++ a\n@@ -1 +1 @@\n-old\n+new\n'

describe('sandbox.denyWrite binds write and edit: TOOL_PATH_PROTECTED', () => {
  test.each(['.git/config', '.git/hooks/post-checkout', '.git/hooks/new/deep', 'src/../.git/config', '.git'])(
    'write to %s is refused and changes nothing',
    async (path) => {
      const { fixture, write } = repository()
      const before = readdirSync(fixture.root, { recursive: true }).sort()
      const error = await refusal(write.execute({ path, content: 'evil' }))
      expect(error.code).toBe('TOOL_PATH_PROTECTED')
      expect(readdirSync(fixture.root, { recursive: true }).sort()).toEqual(before)
      expect(fixture.text('.git/config')).toBe('[core]\n')
    },
  )

  test('edit of a protected file is refused, and the message names what protects it', async () => {
    const { fixture, edit } = repository()
    const error = await refusal(edit.execute({ path: '.git/hooks/sample', patch }))
    expect(error).toMatchObject({ code: 'TOOL_PATH_PROTECTED', details: { protected: '.git/hooks' } })
    expect(error.message).toContain('sandbox.denyWrite')
    expect(fixture.text('.git/hooks/sample')).toBe('old\n')
  })

  test('through links too, and where there is no repository yet', async () => {
    const { fixture, write } = repository()
    symlinkSync('.git', fixture.at('link'))
    expect((await refusal(write.execute({ path: 'link/config', content: 'x' }))).code).toBe('TOOL_PATH_PROTECTED')
    const bare = makeSandbox()
    const { write: writeBare } = createTools({ rootDir: bare.root })
    for (const path of ['.git/hooks/pre-commit', '.git/config', '.git']) {
      expect((await refusal(writeBare.execute({ path, content: 'x' }))).code).toBe('TOOL_PATH_PROTECTED')
    }
    expect(readdirSync(bare.root)).toEqual([])
  })

  test('what only looks like it is not protected', async () => {
    const { fixture, write } = repository()
    mkdirSync(fixture.at('vendor'))
    for (const path of ['.github/hooks/a', 'vendor/HEAD', 'vendor/git/config', '.gitignore']) {
      expect(await write.execute({ path, content: 'x' })).toBe('ok')
    }
  })

  test('nothing of a git directory is written, whatever its name, and nothing becomes one', async () => {
    const { fixture, write, edit } = repository()
    fixture.put('store/HEAD', 'ref: refs/heads/main\n')
    fixture.put('store/objects/x', '')
    fixture.put('.git/description', 'old\n')
    for (const path of ['.git/description', 'vendor/.git/info/exclude', '.GIT/x', 'git~1/x', '.git\u200c/x', 'store/refs/heads/x']) {
      const error = await refusal(write.execute({ path, content: 'x' }))
      expect({ path, code: error.code }).toEqual({ path, code: 'TOOL_PATH_PROTECTED' })
      expect(error.message).toMatch(/git/u)
    }
    expect((await refusal(edit.execute({ path: '.git/description', patch }))).code).toBe('TOOL_PATH_PROTECTED')
    // All at once, in every order.
    const parts = ['z/HEAD', 'z/objects/x', 'z/refs/x', 'z/commondir']
    await Promise.allSettled(
      Array.from({ length: 100 }, (_, index) => write.execute({ path: parts[index % 4]!, content: 'ref: refs/heads/x' })),
    )
    const names = readdirSync(fixture.at('z'))
    expect(names.includes('HEAD') && (names.includes('commondir') || (names.includes('objects') && names.includes('refs')))).toBe(false)
  })

  test('denyWrite replaces the default, for commands and file tools alike', async () => {
    const { fixture, write, edit, bash } = repository({ denyWrite: ['src'] })
    expect(await write.execute({ path: '.git/config', content: '[user]\n' })).toBe('ok')
    expect((await refusal(edit.execute({ path: 'src/a', patch }))).code).toBe('TOOL_PATH_PROTECTED')
    const error = await refusal(bash.execute({ cmd: 'sh', args: ['-c', 'echo evil > src/a'] }))
    expect(error.code).toBe('TOOL_COMMAND_FAILED')
    expect(fixture.text('src/a')).toBe('old\n')
    await bash.execute({ cmd: 'sh', args: ['-c', 'echo "[x]" > .git/config'] })
    expect(fixture.text('.git/config')).toBe('[x]\n')
  })
})
