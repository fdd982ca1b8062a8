import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { dataOf, openScene } from '../../scene.ts'

const patch = '*** Begin Patch\n*** Update File: a.txt\n@@\n-1\n+2\n*** Add File: b.txt\n+b\n*** End Patch\n'
const success = 'Success. Updated the following files:\nM a.txt\nA b.txt\n'

describe.skipIf(process.platform !== 'linux')('apply_patch as a program', () => {
  test('a here-document, an argument and another directory', async () => {
    for (const [below, command] of [
      ['', `apply_patch <<'EOF'\n${patch}EOF`],
      ['', `apply_patch '${patch}'`],
      ['sub/', `cd sub && apply_patch <<'EOF'\n${patch}EOF`],
    ] as const) {
      const { call, put, text } = await openScene()
      put(`${below}a.txt`, '1\n')
      expect(dataOf(await call('bash', { command }))).toMatchObject({ stdout: success, exit_code: 0 })
      expect([text(`${below}a.txt`), text(`${below}b.txt`)]).toEqual(['2\n', 'b\n'])
    }
  })

  test('what the sandbox protects refuses the whole patch', async () => {
    const { call, put, text, at } = await openScene()
    put('a.txt', '1\n')
    put('.git/HEAD', 'ref: refs/heads/main\n')
    const command = `apply_patch '${patch.replace('b.txt', '.git/hooks/pre-commit')}'`
    const { exit_code, stderr } = dataOf(await call('bash', { command }))
    expect(exit_code).toBe(1)
    expect(stderr).toContain('.git/hooks')
    expect(text('a.txt')).toBe('1\n')
    expect(existsSync(at('.git/hooks/pre-commit'))).toBe(false)
  })
})
