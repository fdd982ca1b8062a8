import { openJournal } from 'toolwright'
import { applyPatchTool, type Envelope, replaySession, type SessionOptions, toAcpToolCall } from 'toolwright/contract'
import { describe, expect, onTestFinished, test } from 'vitest'
import { png } from '../support/pictures.ts'
import { notebook, pdf } from '../toolkit/read/made-documents.ts'
import { openScene } from './scene.ts'

const scene = (options: Partial<SessionOptions> = {}) =>
  openScene({ documents: true, limits: { imageBytes: 500_000 }, tools: [applyPatchTool], ...options })

const dataOf = (envelope: Envelope): Record<string, unknown> => {
  expect(envelope).toMatchObject({ type: 'output' })
  return (envelope as { data: Record<string, unknown> }).data
}

const CELLS =
  '# %% [markdown] 1\n# Prices\nof fruit\n# %% [code] 2\nprice = 42\nprint(price)\n# %% [output] 2\n42\n<Figure>\n(image/png, 300000 bytes, left out)\n'

/** The form of a result for the model. */
function shown(tools: unknown, input: unknown, output: Envelope) {
  const { read } = tools as { read: { toModelOutput(request: object): { type: string; value: unknown } } }
  return read.toModelOutput({ toolCallId: 'call', input, output })
}

describe('notebooks in a session', () => {
  test('read gives cells, and every tool changes cells alone', async () => {
    const { put, text, call } = await scene()
    put('a.ipynb', notebook())
    const read = await call('read', { path: 'a.ipynb' })
    expect(dataOf(read)).toEqual({ content: CELLS })
    expect(read.metadata).toMatchObject({ notes: [expect.stringContaining('A notebook, as cells')] })
    const edited = await call('edit', { path: 'a.ipynb', old_string: 'price = 42', new_string: 'price = 43' })
    expect(dataOf(edited)).toMatchObject({ replacements: 1 })
    const patch = '*** Begin Patch\n*** Update File: a.ipynb\n@@\n-of fruit\n+of tea\n*** End Patch'
    expect(dataOf(await call('apply_patch', { patch }))).toMatchObject({ files: [{ path: 'a.ipynb', change: 'update' }] })
    expect(text('a.ipynb')).toBe(notebook().replace('price = 42\\n', 'price = 43\\n').replace('of fruit', 'of tea'))
  })

  test('cells in place of the JSON are refused with the move that works', async () => {
    const { put, text, call } = await scene()
    put('a.ipynb', notebook())
    const move = 'The text is cells as read shows them, and no notebook: `a.ipynb` [INVALID_INPUT] No file was changed. Change cells'
    await call('read', { path: 'a.ipynb' })
    const written = await call('write', { path: 'a.ipynb', content: CELLS })
    expect(written).toMatchObject({ metadata: { code: 'invalid_arguments' }, error_text: expect.stringContaining(move) })
    const json = await call('edit', { path: 'a.ipynb', old_string: '"nbformat": 4', new_string: '"nbformat": 3' })
    expect(json).toMatchObject({ type: 'error' })
    expect(text('a.ipynb')).toBe(notebook())
    expect(await call('write', { path: 'a.ipynb', content: '{"cells": [], "nbformat": 4}\n' })).toMatchObject({ type: 'output' })
  })

  test('long ones are read in parts, by bytes of the cells', async () => {
    const { put, call } = await scene({ limits: { readBytes: 50 } })
    put('a.ipynb', notebook())
    let all = ''
    let offset: number | undefined = 0
    while (offset !== undefined) {
      // eslint-disable-next-line no-await-in-loop -- one part after the other
      const data = dataOf(await call('read', { path: 'a.ipynb', offset }))
      all += String(data['content'] ?? data['head'])
      offset = data['next_offset'] as number | undefined
    }
    expect(all).toBe(CELLS)
  })

  test('without the option, a notebook is its JSON', async () => {
    const { put, call } = await openScene()
    put('a.ipynb', '{"cells":[],"nbformat":4}')
    expect(dataOf(await call('read', { path: 'a.ipynb' }))).toEqual({ content: '{"cells":[],"nbformat":4}' })
  })
})

describe.skipIf(process.platform !== 'linux')('PDF documents and images in a session', () => {
  test('the text of pages, in parts by bytes of the text', async () => {
    const { put, call } = await scene({ limits: { readBytes: 60 } })
    put('a.pdf', pdf('first page', 'second page', 'third page'))
    const text = '--- page 1 ---\nfirst page\n--- page 2 ---\nsecond page\n--- page 3 ---\nthird page\n'
    const first = await call('read', { path: 'a.pdf' })
    expect(dataOf(first)).toEqual({ head: text.slice(0, 60), next_offset: 60 })
    expect(first.metadata).toMatchObject({ truncated: true, notes: [expect.stringContaining('a PDF document of 3 pages')] })
    expect(dataOf(await call('read', { path: 'a.pdf', offset: 60 }))).toEqual({ content: text.slice(60), offset: 60 })
    put('no.pdf', 'no document\n')
    expect(dataOf(await call('read', { path: 'no.pdf' }))).toEqual({ content: 'no document\n' })
  })

  test('an image is in the envelope, and reaches models and clients as an image', async () => {
    const journal = await openJournal('memory:')
    onTestFinished(() => journal.close())
    const { put, call, session } = await scene({ journal })
    const bytes = put('a.png', png(20, 10)) && png(20, 10)
    const envelope = await call('read', { path: 'a.png' })
    const content = `image/png, 20 × 10, ${bytes.length} bytes`
    const data = bytes.toString('base64')
    expect(dataOf(envelope)).toEqual({ content, image: { media_type: 'image/png', data } })
    const output = shown(session.tools, { path: 'a.png' }, envelope)
    expect(output).toMatchObject({ type: 'content', value: [{ type: 'text' }, { mediaType: 'image/png', data: { data } }] })
    const [text] = output.value as { text: string }[]
    expect(text?.text).toContain(content)
    expect(text?.text).not.toContain(data)
    const acp = toAcpToolCall({ id: '1', tool: 'read', args: { path: 'a.png' } }, envelope)
    expect(acp.content).toEqual([
      { type: 'content', content: { type: 'text', text: content } },
      { type: 'content', content: { type: 'image', data, mimeType: 'image/png' } },
    ])
    expect(JSON.stringify(acp.rawOutput)).not.toContain(data)
    await session.close()
    const replay = await replaySession(journal, session.id)
    expect(await replay.call('read', { path: 'a.png' })).toMatchObject({ data: { image: { data } } })
  })

  test('one with too many pixels is scaled, and one that is cut off is refused', async () => {
    const { put, call } = await scene()
    put('wide.png', png(6_000, 300))
    const { content, image } = dataOf(await call('read', { path: 'wide.png' })) as { content: string; image: { media_type: string } }
    expect([content, image.media_type]).toEqual([
      expect.stringMatching(/^image\/png, 6000 × 300, \d+ bytes; scaled to 1568 × 78$/u),
      'image/webp',
    ])
    put('cut.png', png(2_000, 2_000).subarray(0, 60))
    expect(await call('read', { path: 'cut.png' })).toMatchObject({
      metadata: { code: 'binary_file' },
      error_text: expect.stringContaining('Image (image/png, 2000 × 2000, 60 bytes) cannot be shown'),
    })
  })

  test('without a limit for images, an image is refused as binary', async () => {
    const { put, call } = await scene({ limits: {} })
    put('a.png', png(20, 10))
    expect(await call('read', { path: 'a.png' })).toMatchObject({ type: 'error', metadata: { code: 'binary_file' } })
  })
})
