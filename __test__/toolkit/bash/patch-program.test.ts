import { createTools } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { refusal } from '../../support/refusal.ts'
import { makeSandbox } from '../../support/sandbox.ts'

const patch = '*** Begin Patch\n*** Update File: a.txt\n@@\n-1\n+2\n*** Add File: b.txt\n+b\n*** End Patch\n'
const success = 'Success. Updated the following files:\nM a.txt\nA b.txt\n'

describe.skipIf(process.platform !== 'linux')('apply_patch as a program', () => {
  test('the program itself, a here-document and another directory', async () => {
    const forms = [
      ['', { cmd: 'apply_patch', args: [patch] }],
      ['', { cmd: 'sh', args: ['-c', `apply_patch <<'EOF'\n${patch}EOF`] }],
      ['sub/', { cmd: 'sh', args: ['-c', 'cd sub && apply_patch "$0"', patch] }],
      ['sub/', { cmd: 'apply_patch', args: [patch], opts: { cwd: 'sub' } }],
    ] as const
    for (const [below, call] of forms) {
      const box = makeSandbox()
      box.put(`${below}a.txt`, '1\n')
      const { bash } = createTools({ rootDir: box.root })
      expect(await bash.execute({ ...call, args: [...call.args] })).toBe(success)
      expect([box.text(`${below}a.txt`), box.text(`${below}b.txt`)]).toEqual(['2\n', 'b\n'])
    }
  })

  test('a refusal has the words of the tool, and nothing is changed', async () => {
    const box = makeSandbox()
    box.put('a.txt', 'other\n')
    const { bash, apply_patch } = createTools({ rootDir: box.root, extraTools: ['apply_patch'] })
    const [ofTool, ofProgram] = [
      await refusal(apply_patch.execute({ patch })),
      await refusal(bash.execute({ cmd: 'apply_patch', args: [patch] })),
    ]
    const [what, hint] = ofTool.message.split(' [TOOL_PATCH_FAILED] ')
    expect(ofProgram.message).toContain(`${what}\n${hint}`)
    expect(box.text('a.txt')).toBe('other\n')
    const hooks = patch.replace('b.txt', '.git/hooks/pre-commit').replace('-1', '-other')
    await refusal(bash.execute({ cmd: 'apply_patch', args: [hooks] }))
    expect(box.text('a.txt')).toBe('other\n')
  })
})
