import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { readFileTool, writeFileTool } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { refusal } from '../support/refusal.ts'
import { runs, seed } from '../support/randomised.ts'
import { makeSandbox } from '../support/sandbox.ts'

const decode = (bytes: Uint8Array): string => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)

/** Byte sequences around the rules of UTF-8, with how many U+FFFD a WHATWG decoder makes of them. */
const sequences: [string, number[], number][] = [
  ['a lone continuation byte', [0x80], 1],
  ['two of them', [0x80, 0xbf], 2],
  ['an overlong slash', [0xc0, 0xaf], 2],
  ['an overlong three-byte form', [0xe0, 0x80, 0xaf], 3],
  ['a surrogate', [0xed, 0xa0, 0x80], 3],
  ['over U+10FFFF', [0xf4, 0x90, 0x80, 0x80], 4],
  ['a byte that is never used', [0xff], 1],
  ['five-byte form', [0xf8, 0x88, 0x80, 0x80, 0x80], 5],
  ['a character cut after one byte', [0xe2], 1],
  ['a character cut after two bytes', [0xe2, 0x82], 1],
  ['a character cut after three bytes', [0xf0, 0x9f, 0x8e], 1],
  ['a cut character before ASCII', [0xe2, 0x82, 0x41], 1],
  ['a cut character before another one', [0xe2, 0x82, 0xe2, 0x82, 0xac], 1],
]

describe('"read decodes as UTF-8 with U+FFFD for invalid bytes, BOM kept, never an error for it"', () => {
  test.each(sequences)('%s', async (_what, bytes, replaced) => {
    const fixture = makeSandbox()
    for (const around of [[], [0x61], [0xc3, 0xa9]]) {
      const all = Uint8Array.from([...around, ...bytes, ...around])
      fixture.put('f', all)
      const text = await fixture.within(() => readFileTool('f'))
      expect(text).toBe(decode(all))
      expect([...text].filter((character) => character === '\u{fffd}')).toHaveLength(replaced)
    }
  })

  test('a byte order mark is kept, also in front of ASCII alone, and only one', async () => {
    const fixture = makeSandbox()
    for (const text of ['\u{feff}', '\u{feff}ascii', '\u{feff}\u{feff}ü', 'a\u{feff}b']) {
      fixture.put('f', text)
      expect(await fixture.within(() => readFileTool('f'))).toBe(text)
    }
  })

  test('ASCII and other text are the same string, at every length around a block', async () => {
    const fixture = makeSandbox()
    for (const length of [0, 1, 7, 8, 15, 16, 17, 4095, 4096, 4097, 8191, 8192, 8193, 65_535, 65_536, 65_537]) {
      for (const end of ['', 'é', '🎈', '\u{fffd}']) {
        const text = 'x'.repeat(length) + end
        fixture.put('f', text)
        expect(await fixture.within(() => readFileTool('f'))).toBe(text)
      }
    }
  })

  test('any bytes are read as a WHATWG decoder reads them', async () => {
    const fixture = makeSandbox()
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 12 }),
      fc.string({ unit: 'binary', maxLength: 6 }).map((text) => new TextEncoder().encode(text)),
      fc.constantFrom(...sequences.map(([, bytes]) => Uint8Array.from(bytes)), Uint8Array.of(0xef, 0xbb, 0xbf)),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 6 }), async (pieces) => {
        const bytes = Uint8Array.from(pieces.flatMap((one) => [...one]))
        fixture.put('f', bytes)
        expect(await fixture.within(() => readFileTool('f'))).toBe(decode(bytes))
      }),
      { seed, numRuns: runs(400) },
    )
  })
})

describe('write, then read', () => {
  test('gives the same string for every well-formed string', async () => {
    const fixture = makeSandbox()
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 200 }), async (text) => {
        fc.pre(!/\p{Surrogate}/u.test(text))
        expect(await fixture.within(() => writeFileTool('f', text))).toBe('ok')
        expect(await fixture.within(() => readFileTool('f'))).toBe(text)
        expect(fixture.bytes('f').equals(Buffer.from(text, 'utf8'))).toBe(true)
      }),
      { seed, numRuns: runs(400) },
    )
  })

  test('a lone surrogate is written as U+FFFD, as every encoder does', async () => {
    const fixture = makeSandbox()
    for (const text of ['\u{d800}', 'a\u{dc00}b', '\u{dfff}\u{d800}', '\u{d83c}']) {
      await fixture.within(() => writeFileTool('f', text))
      expect(fixture.bytes('f').equals(Buffer.from(text, 'utf8'))).toBe(true)
    }
  })

  test('a text is the same bytes whether it is encoded where it comes in or, a longer one, where it is used', async () => {
    const fixture = makeSandbox()
    const limit = 64 * 1024
    for (const length of [limit - 1, limit, limit + 1]) {
      for (const part of ['x', 'é', '\u{d800}', '🎈', 'x\0']) {
        const text = part.repeat(length).slice(0, length)
        await fixture.within(() => writeFileTool('f', text), { maxOutputBytes: 1_000_000 })
        expect(fixture.bytes('f').equals(Buffer.from(text, 'utf8'))).toBe(true)
      }
    }
  })

  test('NUL characters and long lines pass', async () => {
    const fixture = makeSandbox()
    const text = `\0${'long line '.repeat(15_000)}\0`
    await fixture.within(() => writeFileTool('f', text))
    expect(await fixture.within(() => readFileTool('f'))).toBe(text)
  })
})

describe('limits count bytes', () => {
  test('of any text: exactly its bytes pass, one less does not', async () => {
    const fixture = makeSandbox()
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }), async (text) => {
        const bytes = Buffer.byteLength(text)
        fc.pre(bytes > 1)
        const within = (maxOutputBytes: number, call: () => Promise<unknown>) => fixture.within(call, { maxOutputBytes })
        expect(await within(bytes, () => writeFileTool('f', text))).toBe('ok')
        expect(await within(bytes, () => readFileTool('f'))).toBe(text)
        const errors = [() => writeFileTool('f', text), () => readFileTool('f')]
        const codes = await Promise.all(errors.map(async (call) => (await refusal(within(bytes - 1, call))).code))
        expect(codes).toEqual(['TOOL_CONTENT_TOO_LARGE', 'TOOL_FILE_TOO_LARGE'])
      }),
      { seed, numRuns: runs(100) },
    )
  })

  test('a limit with a fraction is no way around it', async () => {
    const fixture = makeSandbox()
    fixture.put('f', '12345')
    const read = (maxOutputBytes: number) => fixture.within(() => readFileTool('f'), { maxOutputBytes })
    expect(await read(5.9)).toBe('12345')
    expect((await refusal(read(4.9))).code).toBe('TOOL_FILE_TOO_LARGE')
  })
})

describe.runIf(process.platform === 'linux')('files of procfs, whose size is said to be zero', () => {
  const rootDir = '/proc/self'

  test('are read whole', async () => {
    const fixture = makeSandbox()
    const text = await fixture.within(() => readFileTool('status'), { rootDir })
    expect(text).toContain(`Pid:\t${process.pid}\n`)
    const { version } = { version: readFileSync('/proc/version', 'utf8') }
    expect(await fixture.within(() => readFileTool('version'), { rootDir: '/proc' })).toBe(version)
  })

  test('are held to the limit, and never cut', async () => {
    const fixture = makeSandbox()
    const bytes = readFileSync('/proc/version').length
    const read = (maxOutputBytes: number) => fixture.within(() => readFileTool('version'), { rootDir: '/proc', maxOutputBytes })
    expect(await read(bytes)).toHaveLength(bytes)
    expect((await refusal(read(bytes - 1))).code).toBe('TOOL_FILE_TOO_LARGE')
    expect((await refusal(read(1))).code).toBe('TOOL_FILE_TOO_LARGE')
  })
})
