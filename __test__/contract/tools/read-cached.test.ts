// A small text that the kernel has at hand is read on the JavaScript thread; everything else on another.
// An absolute path always takes the ordinary way: both have to say the same.
import { execFileSync } from 'node:child_process'
import { chmodSync, linkSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runs } from '../../support/randomised.ts'
import { makeSandbox, type Sandbox } from '../../support/sandbox.ts'
import { allowAll, manifest, openSession, rule } from '../scene.ts'

type Answer = { envelope: unknown }

/** What `read` says of a relative path, and of the same as an absolute one. */
async function bothWays(fixture: Sandbox, rules: Parameters<typeof manifest>[0] = allowAll) {
  const session = await openSession(fixture, manifest(rules))
  const answer = async (args: Record<string, unknown>): Promise<Answer> => {
    const { metadata, ...rest } = await session.call('read', args)
    // Only the words of a refusal are other ones.
    if (metadata.code === 'capability_refused') return { envelope: metadata.code }
    const told = JSON.stringify({ ...rest, metadata: { ...metadata, duration_ms: 0 } })
    return { envelope: JSON.parse(told.replaceAll(`${fixture.root}/`, '')) as unknown }
  }
  return async (path: string, args: Record<string, unknown> = {}): Promise<[Answer, Answer]> => [
    await answer({ path, ...args }),
    await answer({ path: `${fixture.root}/${path}`, ...args }),
  ]
}

const contents: Record<string, Buffer> = {
  empty: Buffer.from(''),
  'one byte': Buffer.from('a'),
  'lines of DOS': Buffer.from('a\r\nb\r\n'),
  'a byte order mark': Buffer.from('\uFEFFa'),
  'of two bytes': Buffer.from('\uFEFFa', 'utf16le'),
  'characters of four bytes': Buffer.from('🦀'.repeat(50)),
  'half a character at the end': Buffer.from('a🦀').subarray(0, 3),
  'no UTF-8': Buffer.from([0x61, 0xff, 0x62, 0xc3, 0x28]),
  'a surrogate': Buffer.from([0xed, 0xa0, 0x80]),
  'NUL at the beginning': Buffer.from('\0a'),
  'NUL as the last byte that is looked at': Buffer.concat([Buffer.alloc(8191, 'a'), Buffer.from('\0b')]),
  'NUL behind it': Buffer.concat([Buffer.alloc(8192, 'a'), Buffer.from('\0b')]),
  'the limit': Buffer.alloc(200_000, 'a'),
  'a byte more than the limit': Buffer.alloc(200_001, 'a'),
  'the limit within a character': Buffer.from(`${'a'.repeat(199_999)}é`),
  'more than is read at once': Buffer.alloc(300_000, 'é'),
}

describe('reading at once and in the ordinary way', () => {
  test.each(Object.entries(contents))('says the same of %s', async (_, content) => {
    const fixture = makeSandbox()
    writeFileSync(join(fixture.root, 'f'), content)
    const read = await bothWays(fixture)
    for (const args of [{}, { limit: 1 }, { limit: 3 }, { limit: content.length + 1 }, { offset: 1 }, { offset: 0, limit: 200_000 }]) {
      const [atOnce, ordinary] = await read('f', args)
      expect(atOnce, JSON.stringify(args)).toEqual(ordinary)
    }
  })

  test('says the same of whatever a path may lead to', async () => {
    const fixture = makeSandbox()
    const { at } = fixture
    mkdirSync(at('d/closed'), { recursive: true })
    writeFileSync(at('d/f'), 'text')
    writeFileSync(at('d/closed/f'), 'closed by a rule')
    writeFileSync(join(fixture.outside, 'f'), 'outside')
    linkSync(at('d/f'), at('hard'))
    symlinkSync('d/f', at('link'))
    symlinkSync('d', at('directory-link'))
    symlinkSync('d/closed/f', at('link-to-closed'))
    symlinkSync('nowhere', at('dangling'))
    symlinkSync('loop', at('loop'))
    symlinkSync(join(fixture.outside, 'f'), at('out'))
    writeFileSync(at('sparse'), '')
    truncateSync(at('sparse'), 10_000)
    writeFileSync(at('unreadable'), 'text')
    chmodSync(at('unreadable'), 0o200)
    writeFileSync(at('a\nb'), 'text')
    execFileSync('mkfifo', [at('fifo')])
    const read = await bothWays(fixture, [rule('* ** allow'), rule('read d/closed/** deny')])
    const paths = `d/f ./d/f d//f d/./f d/../d/f d/f/ d/f/. d/f/x d d/ . .. link link/ directory-link/f link-to-closed d/closed/f dangling
      loop out ../outside/f hard sparse unreadable fifo missing missing/f directory-link/../hard ~ d/%66`
    for (const path of [...paths.split(/\s+/u), 'a\nb', ' ', 'd/f\0', 'é'.repeat(130)]) {
      const [atOnce, ordinary] = await read(path)
      expect(atOnce, path).toEqual(ordinary)
    }
  })

  test('says the same of any bytes', { timeout: 120_000 }, async () => {
    const fixture = makeSandbox()
    const read = await bothWays(fixture)
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 6 }),
      fc.string({ unit: 'grapheme', maxLength: 6 }).map((text) => Buffer.from(text)),
    )
    const content = fc.array(piece, { maxLength: 6 }).map((pieces) => Buffer.concat(pieces))
    const property = fc.asyncProperty(content, fc.nat(40), async (bytes, limit) => {
      writeFileSync(join(fixture.root, 'f'), bytes)
      for (const args of [{}, { limit: limit + 1 }]) {
        const [atOnce, ordinary] = await read('f', args)
        expect(atOnce).toEqual(ordinary)
      }
    })
    await fc.assert(property, { numRuns: runs(150) })
  })
})
