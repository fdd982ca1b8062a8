import { rmSync } from 'node:fs'
import { ToolLoopAgent } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { createTools, read } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { refusal } from '../../support/refusal.ts'
import { png as picture } from '../../support/pictures.ts'
import { makeSandbox } from '../../support/sandbox.ts'
import { script, seenBy } from '../../support/scripted-model.ts'

const png = picture(20, 10)
const about = `image/png, 20 × 10, ${png.length} bytes`

/** What the model is sent as the result of one read. */
async function sent(options: Parameters<typeof createTools>[0], input: object): Promise<{ type: string; value?: unknown }> {
  const model = new MockLanguageModelV4({ doGenerate: script([{ tool: 'read', input }], 'done') })
  await new ToolLoopAgent({ model, tools: createTools(options) }).generate({ prompt: 'go' })
  return seenBy(model)[0]?.output ?? { type: 'nothing' }
}

describe('read of createTools', () => {
  test('offset and limit count lines, in a file of any size', async () => {
    const fixture = makeSandbox()
    fixture.put('log', Array.from({ length: 200_000 }, (_, index) => `line ${index + 1}\n`).join(''))
    const tools = createTools({ rootDir: fixture.root, maxOutputBytes: 1_000 })
    expect(await tools.read.execute({ path: 'log', offset: 150_000, limit: 2 })).toBe('line 150000\nline 150001\n')
    expect(await tools.read.execute({ path: 'log', offset: 199_999 })).toBe('line 199999\nline 200000\n')
    expect(await tools.read.execute({ path: 'log', offset: 200_001 })).toBe('')
    // Whole lines, within the limit.
    const part = await tools.read.execute({ path: 'log', offset: 1 })
    expect(Buffer.byteLength(part)).toBeLessThanOrEqual(1_000)
    expect(part).toMatch(/^line 1\n(?:line \d+\n)+$/u)
  })

  test('a line longer than the limit is cut, and the model is told', async () => {
    const fixture = makeSandbox()
    fixture.put('long', `${'é'.repeat(600)}\nb\n`)
    const options = { rootDir: fixture.root, maxOutputBytes: 101 }
    expect(await createTools(options).read.execute({ path: 'long', offset: 1 })).toBe('é'.repeat(50))
    expect((await sent(options, { path: 'long', offset: 1 })).value).toMatch(/Line 1 is longer than 101 bytes.*go on with offset 2/su)
  })

  test.each([-1, 1.5, Number.NaN, '3', 2 ** 60])('offset %s is refused', async (offset) => {
    const tools = createTools({ rootDir: makeSandbox().root })
    expect(await refusal(tools.read.execute({ path: 'x', offset: offset as number }))).toMatchObject({ code: 'INVALID_INPUT' })
  })

  test('lineNumbers numbers what the model reads, and not the result', async () => {
    const fixture = makeSandbox()
    fixture.put('a', 'one\ntwo\nthree\n')
    const options = { rootDir: fixture.root, lineNumbers: true }
    expect(await createTools(options).read.execute({ path: 'a' })).toBe('one\ntwo\nthree\n')
    expect((await sent(options, { path: 'a' })).value).toBe('     1\tone\n     2\ttwo\n     3\tthree\n')
    expect((await sent(options, { path: 'a', offset: 2, limit: 1 })).value).toMatch(
      /^ {5}2\ttwo\n\(There are more lines: go on with offset 3\.\)$/u,
    )
  })

  test('a binary file is refused; the tool of the documents gives it as text', async () => {
    const fixture = makeSandbox()
    fixture.put('x.bin', 'a\0b')
    const tools = createTools({ rootDir: fixture.root })
    for (const input of [{ path: 'x.bin' }, { path: 'x.bin', offset: 1 }]) {
      // The second time the file is read at once.
      for (let count = 0; count < 3; count += 1) {
        expect(await refusal(tools.read.execute(input))).toMatchObject({ code: 'TOOL_FILE_BINARY', details: { path: 'x.bin', bytes: 3 } })
      }
    }
    expect(await fixture.within(() => read.execute({ path: 'x.bin' }))).toBe('a\0b')
  })

  test('limits.image shows a model an image, up to its size', async () => {
    const fixture = makeSandbox()
    fixture.put('img.png', png)
    fixture.put('text.png', 'no image\n')
    const options = { rootDir: fixture.root, limits: { image: 1_000 } }
    expect(await createTools(options).read.execute({ path: 'img.png' })).toBe(about)
    const { type, value } = await sent(options, { path: 'img.png' })
    expect(type).toBe('content')
    expect(value).toMatchObject([
      { type: 'text', text: about },
      { type: 'file', mediaType: 'image/png' },
    ])
    expect(JSON.stringify(value)).toContain(png.toString('base64'))
    expect((await sent(options, { path: 'text.png' })).value).toBe('no image\n')
    expect(await refusal(createTools({ rootDir: fixture.root }).read.execute({ path: 'img.png' }))).toMatchObject({
      code: 'TOOL_FILE_BINARY',
    })
    const small = createTools({ rootDir: fixture.root, limits: { image: 50 } })
    expect(await refusal(small.read.execute({ path: 'img.png' }))).toMatchObject({ code: 'TOOL_FILE_TOO_LARGE' })
  })

  test('an image that providers refuse is refused here, however few bytes it has', async () => {
    const fixture = makeSandbox()
    fixture.put('img.png', png)
    const { read } = createTools({ rootDir: fixture.root, limits: { image: 10_000_000 } })
    for (const bytes of [
      picture(2_001, 3),
      picture(3, 2_001),
      picture(0, 9),
      png.subarray(0, -12),
      picture(2_000, 2_000).subarray(0, 100),
    ]) {
      fixture.put('img.png', bytes)
      // eslint-disable-next-line no-await-in-loop -- one after the other
      expect(await refusal(read.execute({ path: 'img.png' }))).toMatchObject({ code: 'TOOL_FILE_BINARY' })
    }
    fixture.put('img.png', picture(2_000, 2_000))
    expect(await read.execute({ path: 'img.png' })).toMatch(/^image\/png, 2000 × 2000/u)
    fixture.put('img.png', Buffer.concat([png, Buffer.alloc(4_000_000)]))
    expect(await refusal(read.execute({ path: 'img.png' }))).toMatchObject({ code: 'TOOL_FILE_BINARY' })
  })
})

describe('notes of calls, where a provider uses an id again', () => {
  const shown = async (tool: unknown, input: object, output: string): Promise<unknown> =>
    (tool as { toModelOutput(request: object): { value: unknown } }).toModelOutput({ toolCallId: 'call_0', input, output }).value
  const options = { toolCallId: 'call_0' }

  test('another path shows neither the image nor the sentence of the first', async () => {
    const fixture = makeSandbox()
    fixture.put('img.png', png)
    fixture.put('a', 'one\ntwo\n')
    const tools = createTools({ rootDir: fixture.root, limits: { image: 1_000 } })
    const image = await tools.read.execute({ path: 'img.png' }, options)
    const text = await tools.read.execute({ path: 'a' }, options)
    expect(await shown(tools.read, { path: 'a' }, text)).toBe('one\ntwo\n')
    // The messages of the conversation may be built again: the first call still has its image.
    expect(await shown(tools.read, { path: 'img.png' }, image)).toMatchObject([{ type: 'text' }, { type: 'file' }])
    const printed = await tools.bash.execute({ cmd: 'cat', args: ['a'] }, options)
    expect(await shown(tools.bash, { cmd: 'cat', args: ['a'] }, printed)).toBe('one\ntwo\n')
  })

  test('a second call of the same path begins without the note of the first', async () => {
    const fixture = makeSandbox()
    fixture.put('img.png', png)
    const tools = createTools({ rootDir: fixture.root, limits: { image: 1_000 } })
    await tools.read.execute({ path: 'img.png' }, options)
    fixture.put('img.png', 'no image any more\n')
    const text = await tools.read.execute({ path: 'img.png' }, options)
    expect(await shown(tools.read, { path: 'img.png' }, text)).toBe('no image any more\n')
    fixture.put('img.png', png)
    await tools.read.execute({ path: 'img.png' }, options)
    rmSync(`${fixture.root}/img.png`)
    expect(await refusal(tools.read.execute({ path: 'img.png' }, options))).toMatchObject({ code: 'TOOL_FILE_NOT_FOUND' })
    expect(await shown(tools.read, { path: 'img.png' }, 'as before')).toBe('as before')
  })
})

describe('limits by kind', () => {
  test('each kind has its own, and maxOutputBytes is that of the others', async () => {
    const fixture = makeSandbox()
    fixture.put('a', 'x'.repeat(50))
    const tools = createTools({ rootDir: fixture.root, maxOutputBytes: 20, limits: { read: 100, write: 5 } })
    expect(await tools.read.execute({ path: 'a' })).toHaveLength(50)
    expect(await refusal(tools.write.execute({ path: 'b', content: '123456' }))).toMatchObject({ code: 'TOOL_CONTENT_TOO_LARGE' })
    expect(Buffer.byteLength(await tools.bash.execute({ cmd: 'cat', args: ['a'] }))).toBeLessThanOrEqual(20)
  })
})
