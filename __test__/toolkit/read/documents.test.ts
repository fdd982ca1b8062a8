import { createTools, type CreateToolsOptions } from 'toolwright'
import { randomBytes } from 'node:crypto'
import sharp from 'sharp'
import { describe, expect, test } from 'vitest'
import { makeSandbox } from '../../support/sandbox.ts'
import { notebook, pdf } from './made-documents.ts'

/** A set that shows documents, and a call that gives the model's form of a result. */
function scene(options: CreateToolsOptions = {}) {
  const box = makeSandbox()
  const tools = createTools({ rootDir: box.root, documents: true, ...options })
  let calls = 0
  const read = async (input: { path: string; pages?: string; offset?: number; limit?: number }) => {
    const toolCallId = `call-${(calls += 1)}`
    const output = await tools.read.execute(input, { toolCallId })
    const shown = tools.read.toModelOutput?.({ toolCallId, input, output }) as unknown
    return { output, shown: shown as { type: string; value: string & { data: unknown; mediaType: string }[] } }
  }
  const edit = (path: string, patch: string) => tools.edit.execute({ path, patch }, { toolCallId: 'edit' })
  return { ...box, tools, read, edit }
}

const CELLS =
  '# %% [markdown] 1\n# Prices\nof fruit\n# %% [code] 2\nprice = 42\nprint(price)\n# %% [output] 2\n42\n<Figure>\n(image/png, 300000 bytes, left out)\n'

describe('notebooks', () => {
  test('read shows cells and text outputs without media, and edit patches these lines: nothing else of the file changes', async () => {
    const { put, text, read, edit } = scene()
    put('a.ipynb', notebook())
    const { output, shown } = await read({ path: 'a.ipynb' })
    expect(output).toBe(CELLS)
    expect(shown.value).toBe(
      `${CELLS}(A notebook, as cells: edit patches these lines. Outputs are shown and cannot be changed; pictures are left out.)`,
    )
    await edit('a.ipynb', '@@ -5,2 +5,4 @@\n-price = 42\n+price = 43\n print(price)\n+# %% [markdown]\n+The end\n')
    const expected = notebook()
      .replace('"price = 42\\n"', '"price = 43\\n"')
      .replace(
        /\n {2}\}\n \],/u,
        '\n  },\n  {\n   "cell_type": "markdown",\n   "id": "ID",\n   "metadata": {},\n   "source": [\n    "The end"\n   ]\n  }\n ],',
      )
    expect(text('a.ipynb').replace(/"id": "[0-9a-f]{8}"/u, '"id": "ID"')).toBe(expected)
  })

  test('what cannot be put back is refused, and the file is as it was', async () => {
    const { put, text, edit, tools } = scene()
    put('a.ipynb', notebook())
    await expect(edit('a.ipynb', '@@ -4 +4 @@\n-# %% [code] 2\n+# %% [code] 7\n')).rejects.toThrow(
      'line 4 of the cells names cell 7, and the notebook has 2; a new cell has no number [TOOL_PATCH_FAILED] No file was changed.',
    )
    await expect(edit('a.ipynb', '@@ -1 +1 @@\n-nothing\n+x\n')).rejects.toThrow('TOOL_PATCH_FAILED')
    await expect(edit('a.ipynb', '@@ -8 +8 @@\n-42\n+43\n')).rejects.toThrow(
      'it changes outputs alone [TOOL_PATCH_FAILED] No file was changed. Outputs are what cells have printed',
    )
    await expect(tools.write.execute({ path: 'a.ipynb', content: CELLS }, { toolCallId: 'write' })).rejects.toThrow(
      'The text is cells as read shows them, and no notebook: `a.ipynb` [INVALID_INPUT] No file was changed. Change cells',
    )
    expect(text('a.ipynb')).toBe(notebook())
  })

  test('apply_patch changes cells too, and names them to a model that patches the JSON', async () => {
    const { put, text, tools } = scene({ extraTools: ['apply_patch'] })
    const { apply_patch: patch } = tools as unknown as { apply_patch: { execute(input: object): Promise<string> } }
    put('a.ipynb', notebook())
    const of = (hunk: string) => patch.execute({ patch: `*** Begin Patch\n*** Update File: a.ipynb\n@@\n${hunk}*** End Patch` })
    expect(await of('-price = 42\n+price = 43\n')).toContain('M a.ipynb')
    expect(text('a.ipynb')).toBe(notebook().replace('price = 42\\n', 'price = 43\\n'))
    await expect(of('-    "price = 43\\n",\n+    "price = 44\\n",\n')).rejects.toThrow(
      'The patch changes the JSON of the notebook. Patch the cells instead',
    )
  })

  test('pages of what has none are told to be left out', async () => {
    const { put, read } = scene()
    put('a.ipynb', notebook())
    put('a.md', 'text\n')
    for (const path of ['a.ipynb', 'a.md']) {
      // eslint-disable-next-line no-await-in-loop -- one after the other
      expect((await read({ path, pages: '1-2' })).shown.value).toContain(
        '(`pages` is for PDF documents and was left out: this is the whole file.',
      )
    }
  })

  test('a file of that name that is no notebook is text', async () => {
    const { put, text, read, edit } = scene()
    put('a.ipynb', '{"cells": [}\n')
    expect((await read({ path: 'a.ipynb' })).output).toBe('{"cells": [}\n')
    await edit('a.ipynb', '@@ -1 +1 @@\n-{"cells": [}\n+{"cells": []}\n')
    expect(text('a.ipynb')).toBe('{"cells": []}\n')
  })

  test('without the option, a notebook is its JSON', async () => {
    const { put, read } = scene({ documents: false })
    put('a.ipynb', '{"cells":[],"nbformat":4}\n')
    expect((await read({ path: 'a.ipynb' })).output).toBe('{"cells":[],"nbformat":4}\n')
  })
})

describe.skipIf(process.platform !== 'linux')('PDF documents', () => {
  test('read gives the text of pages, and says which there are', async () => {
    const { put, read } = scene()
    put('a.pdf', pdf('first page', 'second page', 'third page'))
    expect((await read({ path: 'a.pdf' })).output).toBe(
      '--- page 1 ---\nfirst page\n--- page 2 ---\nsecond page\n--- page 3 ---\nthird page\n',
    )
    expect((await read({ path: 'a.pdf', pages: '2' })).shown.value).toBe('--- page 2 ---\nsecond page\n(The document has 3 pages.)')
    expect((await read({ path: 'a.pdf', pages: '2-' })).output).toContain('third page')
    expect((await read({ path: 'a.pdf', pages: '4' })).shown.value).toBe('(There is no page 4: the document has 3.)')
    await expect(read({ path: 'a.pdf', pages: 'all' })).rejects.toThrow('pages must be a page or a range from 1')
  })

  test('a long document is given in parts, which say how to go on', async () => {
    const { put, read } = scene({ limits: { read: 250 } })
    put('a.pdf', pdf(...Array.from({ length: 5 }, (_, index) => `${index} ${'x'.repeat(80)}`)))
    expect((await read({ path: 'a.pdf' })).shown.value).toMatch(
      /\(Pages 1 to 2 of 5: go on with pages "3-"\.\)\n\(The document has 5 pages\.\)$/u,
    )
  })

  test('a page without text says so', async () => {
    const { put, read } = scene()
    put('a.pdf', pdf(''))
    expect((await read({ path: 'a.pdf' })).shown.value).toContain('(These pages have no text: they may be pictures of it.)')
  })

  test('a broken one is refused with the reason, and one that is none is read as what it is', async () => {
    const { put, read } = scene()
    put('broken.pdf', Buffer.concat([Buffer.from('%PDF-1.4\n'), randomBytes(1_000)]))
    await expect(read({ path: 'broken.pdf' })).rejects.toThrow(
      /^PDF document \(1009 bytes\) cannot be shown: .*`broken\.pdf` \[TOOL_FILE_BINARY\]/u,
    )
    put('text.pdf', 'no document\n')
    expect((await read({ path: 'text.pdf' })).output).toBe('no document\n')
  })
})

describe.skipIf(process.platform !== 'linux')('images', () => {
  const picture = (width: number, height: number): Promise<Buffer> =>
    sharp(randomBytes(width * height * 3), { raw: { width, height, channels: 3 } })
      .png()
      .toBuffer()

  test('a small one is shown as it is', async () => {
    const { put, read } = scene({ limits: { image: 1_000_000 } })
    const bytes = await picture(20, 10)
    put('a.png', bytes)
    const { output, shown } = await read({ path: 'a.png' })
    expect(output).toBe(`image/png, 20 × 10, ${bytes.length} bytes`)
    expect(shown.value[1]).toMatchObject({ mediaType: 'image/png', data: { data: bytes.toString('base64') } })
  })

  test('one with too many pixels or bytes is scaled', async () => {
    const { put, read } = scene({ limits: { image: 300_000 } })
    put('wide.png', await picture(4_000, 500))
    const { output, shown } = await read({ path: 'wide.png' })
    expect(output).toMatch(/^image\/png, 4000 × 500, \d+ bytes; scaled to (?:1568 × 196|784 × 98)$/u)
    const { data } = (shown.value[1] as unknown as { data: { data: string } }).data
    const scaled = Buffer.from(data, 'base64')
    expect(scaled.length).toBeLessThanOrEqual(300_000)
    const { width, format } = await sharp(scaled).metadata()
    expect([format, width! <= 1_568]).toEqual(['webp', true])
  })

  test('a bomb and a broken one are refused', async () => {
    const { put, read } = scene({ limits: { image: 300_000 } })
    const bytes = await picture(20, 10)
    bytes.writeUInt32BE(60_000, 16)
    bytes.writeUInt32BE(60_000, 20)
    put('bomb.png', bytes)
    await expect(read({ path: 'bomb.png' })).rejects.toThrow(
      /^Image \(image\/png, 60000 × 60000, \d+ bytes\) cannot be shown: .* \[TOOL_FILE_BINARY\]/u,
    )
  })
})
