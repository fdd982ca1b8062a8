/** The editor and the patches of providers do not undo what the model has not been shown. */
import { providerExecutors } from 'toolwright/providers'
import { describe, expect, test } from 'vitest'
import { refusal } from '../support/refusal.ts'
import { makeSandbox } from '../support/sandbox.ts'

function scene() {
  const fixture = makeSandbox()
  const { anthropic, openai } = providerExecutors({ rootDir: fixture.root, memoryDir: fixture.root })
  return {
    ...fixture,
    editor: (input: object) => anthropic.textEditor({ path: 'f', ...input } as never),
    memory: (input: object) => anthropic.memory({ path: '/memories/f', ...input } as never),
    patch: (operation: object) => openai.applyPatch({ callId: 'c', operation: { path: 'f', ...operation } as never }),
  }
}

const numbered = (count: number): string => Array.from({ length: count }, (_, index) => `line ${index}\n`).join('')

for (const door of ['editor', 'memory'] as const) {
  describe(door, () => {
    test('a replacement directly beside a change that was not shown is refused once', async () => {
      const { [door]: edit, put, text } = scene()
      put('f', 'a\nb\n')
      await edit({ command: 'view' })
      put('f', 'a\nUSER\nb\n')
      const change = { command: 'str_replace', old_str: 'b', new_str: 'c' }
      const error = await refusal(edit(change))
      expect(error.code).toBe('TOOL_FILE_CHANGED')
      expect(error.message).toContain('+USER')
      await edit(change)
      expect(text('f')).toBe('a\nUSER\nc\n')
    })

    test('a replacement near a change passes and tells of it, far away it passes', async () => {
      const { [door]: edit, put } = scene()
      put('f', numbered(40))
      await edit({ command: 'view' })
      put('f', numbered(40).replace('line 5\n', 'USER\n'))
      expect(await edit({ command: 'str_replace', old_str: 'line 30', new_str: 'c' })).not.toContain('USER')
      expect(await edit({ command: 'str_replace', old_str: 'line 8\n', new_str: 'c\n' })).toContain('+USER')
    })

    test('an insertion by number is refused below a change that moves the lines', async () => {
      const { [door]: edit, put, text } = scene()
      put('f', numbered(40))
      await edit({ command: 'view' })
      put('f', `USER\n${numbered(40)}`)
      const insert = { command: 'insert', insert_line: 30, insert_text: 'new\n' }
      expect((await refusal(edit(insert))).message).toContain('+USER')
      await edit({ ...insert, insert_line: 31 })
      expect(text('f')).toContain('line 29\nnew\nline 30\n')
    })

    test('what was not viewed, or only in part, is changed as before', async () => {
      const { [door]: edit, put } = scene()
      put('f', numbered(40))
      await edit({ command: 'str_replace', old_str: 'line 3\n', new_str: 'c\n' })
      await edit({ command: 'view', view_range: [20, 25] })
      put('f', `USER\n${numbered(40)}`)
      await edit({ command: 'str_replace', old_str: 'line 22', new_str: 'c' })
    })
  })
}

describe('patches', () => {
  test('a file that was changed since it was viewed is not deleted', async () => {
    const { editor, patch, put, text } = scene()
    put('f', 'a\n')
    await editor({ command: 'view' })
    put('f', 'a\nUSER\n')
    const refused = await patch({ type: 'delete_file' })
    expect(refused).toMatchObject({ status: 'failed', output: expect.stringContaining('+USER') as string })
    expect(text('f')).toBe('a\nUSER\n')
    expect(await patch({ type: 'delete_file' })).toMatchObject({ status: 'completed' })
  })

  test('a file that the model has created is known', async () => {
    const { editor, patch, put } = scene()
    await editor({ command: 'create', file_text: 'a\n' })
    put('f', 'a\nUSER\n')
    expect(await patch({ type: 'delete_file' })).toMatchObject({ status: 'failed' })
  })
})
