/** Documents that were made to harm their reader. A tenth of them in an ordinary run; `TOOLWRIGHT_SOAK_FACTOR=10` makes 500. */
import { createTools, ToolError } from 'toolwright'
import sharp from 'sharp'
import { describe, expect, test } from 'vitest'
import { isImageAnswer, isPdfAnswer, parseAnswer } from '../../../ts/documents/programs.ts'
import { numbers } from '../../support/numbers.ts'
import { makeSandbox } from '../../support/sandbox.ts'
import { notebook, pdf } from './made-documents.ts'

const COUNT = 50 * Number(process.env['TOOLWRIGHT_SOAK_FACTOR'] ?? 1)
const SEED = Number(process.env['TOOLWRIGHT_SEED'] ?? 1)

/** A document with bytes changed, cut off, doubled or moved. */
function spoiled(document: Buffer, pick: (end: number) => number): Buffer {
  const bytes = Buffer.from(document)
  const at = pick(bytes.length)
  switch (pick(4)) {
    case 0:
      for (let turn = 0; turn < 20; turn += 1) bytes[pick(bytes.length)] = pick(256)
      return bytes
    case 1:
      return bytes.subarray(0, at)
    case 2:
      return Buffer.concat([bytes.subarray(0, at), bytes])
    default:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(Math.min(at + pick(200), bytes.length))])
  }
}

/** Documents that are wrong in a way of their own. */
function special(): [string, Buffer][] {
  const loop = pdf('one').toString('latin1').replace('/Kids[4 0 R]', '/Kids[2 0 R]')
  const many = pdf('one').toString('latin1').replace('/Count 1', '/Count 999999999')
  const deep = `{"cells":[{"cell_type":"code","metadata":{},"outputs":${'['.repeat(50_000)}${']'.repeat(50_000)},"source":""}],"nbformat":4}`
  return [
    ['loop.pdf', Buffer.from(loop, 'latin1')],
    ['many.pdf', Buffer.from(many, 'latin1')],
    ['deep.ipynb', Buffer.from(deep)],
    ['empty.pdf', Buffer.from('%PDF-1.7')],
    ['empty.png', Buffer.from('89504e470d0a1a0a', 'hex')],
    ['nothing.ipynb', Buffer.alloc(0)],
  ]
}

describe.skipIf(process.platform !== 'linux')('hostile documents', () => {
  test(
    `${COUNT} of them: each has a text or a typed refusal, in its time, and no picture is above the limit`,
    { timeout: 1_800_000 },
    async () => {
      const box = makeSandbox()
      const tools = createTools({ rootDir: box.root, documents: true, limits: { image: 100_000 } })
      const pick = numbers(SEED)
      const picture = await sharp({ create: { width: 1_700, height: 300, channels: 3, background: '#123456' } })
        .png()
        .toBuffer()
      const jpeg = await sharp(picture).jpeg().toBuffer()
      const made: [string, Buffer][] = [
        ['a.pdf', pdf('one', 'two')],
        ['a.png', picture],
        ['a.jpg', jpeg],
        ['a.ipynb', Buffer.from(notebook().replaceAll(/A{1000,}/gu, 'AAAA'))],
      ]
      const all = [
        ...special(),
        ...Array.from({ length: COUNT }, (): [string, Buffer] => {
          const [name, bytes] = made[pick(made.length)] as [string, Buffer]
          return [name, spoiled(bytes, pick)]
        }),
      ]
      for (const [index, [name, bytes]] of all.entries()) {
        const path = `${index}-${name}`
        box.put(path, bytes)
        const began = performance.now()
        const toolCallId = `call-${index}`
        try {
          // eslint-disable-next-line no-await-in-loop -- one after the other
          const output = await tools.read.execute({ path }, { toolCallId })
          const shown = tools.read.toModelOutput?.({ toolCallId, input: { path }, output })
          expect(JSON.stringify(shown).length, path).toBeLessThan(400_000)
        } catch (error) {
          expect(ToolError.isInstance(error), `${path}: ${String(error)}`).toBe(true)
        }
        expect(performance.now() - began, path).toBeLessThan(40_000)
      }
    },
  )
})

describe('what the reader of a document says', () => {
  // A document that takes its reader over can have it say anything.
  test.each([
    '',
    '5',
    'null',
    '[]',
    '"failed"',
    '{}',
    '{"failed":5}',
    '{"total":1}',
    '{"total":1,"pages":"x"}',
    '{"total":1,"pages":[5]}',
    '{"total":1e400,"pages":["x"]}',
    '{"total":1.5,"pages":["x"]}',
    '{"total":1,"pages":{"length":9,"0":"x"}}',
    '{"failed":null,"total":1,"pages":[]',
  ])('%s is no answer', (line) => {
    expect(() => parseAnswer(Buffer.from(`${line}\nrest`), isPdfAnswer)).toThrow(SyntaxError)
  })

  test('a failure and pages are answers, and the bytes after the line stay whole', () => {
    const rest = Buffer.from([0, 10, 255])
    const withRest = (value: unknown) => Buffer.concat([Buffer.from(`${JSON.stringify(value)}\n`), rest])
    expect(parseAnswer(withRest({ failed: 'x' }), isPdfAnswer)).toEqual({ answer: { failed: 'x' }, rest })
    expect(parseAnswer(withRest({ total: 2, pages: ['a'] }), isPdfAnswer)).toEqual({ answer: { total: 2, pages: ['a'] }, rest })
    expect(parseAnswer(withRest({}), isImageAnswer)).toEqual({ answer: {}, rest })
  })
})
