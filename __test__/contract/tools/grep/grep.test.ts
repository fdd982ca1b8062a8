import { describe, expect, test } from 'vitest'
import { dataOf, failureOf, openScene } from '../../scene.ts'

describe('grep', () => {
  test('R28 matches with path, line and text; none is no error; a bad pattern names its place', async () => {
    const { call, put } = await openScene()
    put('a.ts', 'one\nTwo\n')
    put('b.js', 'two\n')
    put('bin', new Uint8Array([0x74, 0x77, 0x6f, 0, 1]))
    expect(dataOf(await call('grep', { pattern: 'two' }))).toMatchObject({ matches: [{ path: 'b.js', line: 1, text: 'two' }] })
    expect(dataOf(await call('grep', { pattern: 'two', case_insensitive: true })).matches).toHaveLength(2)
    expect(dataOf(await call('grep', { pattern: 'two', case_insensitive: true, glob: '*.ts' })).matches).toEqual([
      { path: 'a.ts', line: 2, text: 'Two' },
    ])
    expect(dataOf(await call('grep', { pattern: 'none' }))).toMatchObject({ matches: [], files_scanned: expect.any(Number) })
    expect(failureOf(await call('grep', { pattern: 'a(b' })).code).toBe('invalid_pattern')
  })

  test('R28 a long line is clipped', async () => {
    const { call, put } = await openScene()
    put('a.txt', `hit${'x'.repeat(100_000)}\n`)
    expect(dataOf(await call('grep', { pattern: 'hit' })).matches[0].text.length).toBeLessThan(3_000)
  })

  test('R28 files that a rule denies are not searched', async () => {
    const { call, put } = await openScene({
      manifest: {
        name: 'x',
        permissions: [
          { permission: '*', pattern: '**', action: 'allow' },
          { permission: 'fs.read', pattern: 'secret/**', action: 'deny' },
        ],
      },
    })
    put('open.txt', 'hit')
    put('secret/closed.txt', 'hit')
    expect(dataOf(await call('grep', { pattern: 'hit' })).matches).toEqual([{ path: 'open.txt', line: 1, text: 'hit' }])
    expect(dataOf(await call('glob', { pattern: '**' })).entries).toEqual(['open.txt'])
  })
})
