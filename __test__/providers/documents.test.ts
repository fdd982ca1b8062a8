import { providerExecutors, type ProviderExecutorsOptions, type TextEditorInput } from 'toolwright/providers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeSandbox } from '../support/sandbox.ts'
import { png } from '../support/pictures.ts'
import { notebook, pdf } from '../toolkit/read/made-documents.ts'

function editor(options: ProviderExecutorsOptions = {}) {
  const box = makeSandbox()
  const executors = providerExecutors({ rootDir: box.root, documents: true, ...options })
  onTestFinished(() => executors.close())
  const { textEditor, textEditorOutput } = executors.anthropic
  const call = async (input: TextEditorInput) => {
    const output = await textEditor(input, { toolCallId: 'call' })
    return { output, shown: textEditorOutput({ toolCallId: 'call', input, output }) as { type: string; value: unknown } }
  }
  return { ...box, call, executors }
}

describe.skipIf(process.platform !== 'linux')("Codex's view_image", () => {
  test('is there with documents and a limit for images, and shows images alone', async () => {
    const { put, executors } = editor({ limits: { image: 500_000 } })
    put('a.png', png(20, 10))
    put('wide.png', png(9_000, 90))
    put('a.txt', 'text\n')
    put('text.png', 'text\n')
    const { view_image: view } = executors.codex
    const call = async (path: string) => {
      const output = await view?.execute({ path }, { toolCallId: path })
      return view?.toModelOutput?.({ toolCallId: path, input: { path }, output: String(output) }) as unknown
    }
    expect(await call('a.png')).toMatchObject({ type: 'content', value: [{ type: 'text' }, { mediaType: 'image/png' }] })
    expect(JSON.stringify(await call('wide.png'))).toContain('scaled to 1568 × 16')
    for (const path of ['a.txt', 'text.png']) {
      // eslint-disable-next-line no-await-in-loop -- one after the other
      await expect(call(path)).rejects.toThrow(`No image of a kind that can be viewed: \`${path}\` [TOOL_FILE_BINARY]`)
    }
    await expect(call('none.png')).rejects.toThrow('TOOL_FILE_NOT_FOUND')
    expect(Object.keys(editor().executors.codex)).toEqual(['exec_command', 'write_stdin'])
  })
})

describe("documents in Anthropic's editor", () => {
  test('a notebook is viewed as cells, and str_replace and insert change cells alone', async () => {
    const { put, text, call } = editor()
    put('a.ipynb', notebook())
    const { output, shown } = await call({ command: 'view', path: 'a.ipynb' })
    expect(output).toContain('     5\tprice = 42\n')
    expect(output).toContain('(A notebook, as cells')
    expect(output).not.toContain('AAAA')
    expect(shown).toEqual({ type: 'text', value: output })
    await call({ command: 'str_replace', path: 'a.ipynb', old_str: 'price = 42', new_str: 'price = 43' })
    await call({ command: 'insert', path: 'a.ipynb', insert_line: 5, insert_text: 'tax = 1' })
    expect(text('a.ipynb')).toBe(notebook().replace(/"price = 42\\n",\n(\s*)/u, '"price = 43\\n",\n$1"tax = 1\\n",\n$1'))
    expect((await call({ command: 'view', path: 'a.ipynb', view_range: [5, 6] })).output).toContain('     6\ttax = 1\n')
    await expect(call({ command: 'create', path: 'b.ipynb', file_text: '# %% [code]\nx\n' })).rejects.toThrow('and no notebook: `b.ipynb`')
  })

  test('other tools of providers change notebooks as commands print them', async () => {
    const { put, text, executors } = editor()
    put('a.ipynb', '{"cells": [], "nbformat": 4}\n')
    const diff = '@@\n-{"cells": [], "nbformat": 4}\n+{"cells": [], "nbformat": 4, "metadata": {}}\n'
    const done = await executors.openai.applyPatch({ callId: '1', operation: { type: 'update_file', path: 'a.ipynb', diff } })
    expect(done.status).toBe('completed')
    expect(text('a.ipynb')).toContain('metadata')
  })

  test.skipIf(process.platform !== 'linux')('a PDF document is viewed as text, by lines', async () => {
    const { put, call } = editor()
    put('a.pdf', pdf('first page', 'second page'))
    expect((await call({ command: 'view', path: 'a.pdf' })).output).toContain('     2\tfirst page\n')
    expect((await call({ command: 'view', path: 'a.pdf', view_range: [4, 4] })).output).toContain('     4\tsecond page\n')
    await expect(call({ command: 'view', path: 'missing.pdf' })).rejects.toThrow('The path missing.pdf does not exist.')
  })

  test.skipIf(process.platform !== 'linux')(
    'an image reaches the model as an image, and never a larger one than providers take',
    async () => {
      const { put, call } = editor({ limits: { image: 500_000 } })
      put('a.png', png(20, 10))
      const { output, shown } = await call({ command: 'view', path: 'a.png' })
      expect(output).toBe(`image/png, 20 × 10, ${png(20, 10).length} bytes`)
      expect(shown).toMatchObject({ type: 'content', value: [{ type: 'text' }, { mediaType: 'image/png' }] })
      put('wide.png', png(9_000, 90))
      expect((await call({ command: 'view', path: 'wide.png' })).output).toMatch(/scaled to 1568 × 16$/u)
      const without = editor({ limits: { image: 0 } })
      without.put('a.png', png(20, 10))
      await expect(without.call({ command: 'view', path: 'a.png' })).rejects.toThrow('TOOL_FILE_BINARY')
    },
  )
})
