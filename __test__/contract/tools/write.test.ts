import { chmodSync, existsSync, mkdirSync, statSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { dataOf, failureOf, openScene } from '../scene.ts'

describe('write', () => {
  test('R25 R23 creates with parents, overwrites, and acknowledges without an echo', async () => {
    const { call, text } = await openScene()
    const first = await call('write', { path: 'a/b/c.txt', content: 'größe' })
    expect(dataOf(first)).toEqual({ path: 'a/b/c.txt', bytes: 7, created: true })
    expect(dataOf(await call('write', { path: 'a/b/c.txt', content: '' }))).toEqual({ path: 'a/b/c.txt', bytes: 0, created: false })
    expect(text('a/b/c.txt')).toBe('')
  })

  test('R25 the mode is kept; a directory is refused; too much text is told as such', async () => {
    const { call, put, at, root } = await openScene({ limits: { textBytes: 10 } })
    put('run.sh', 'x')
    chmodSync(at('run.sh'), 0o755)
    await call('write', { path: 'run.sh', content: 'y' })
    expect(statSync(at('run.sh')).mode & 0o777).toBe(0o755)
    mkdirSync(`${root}/dir`)
    expect(failureOf(await call('write', { path: 'dir', content: 'y' })).code).toBe('not_a_file')
    expect(failureOf(await call('write', { path: 'b.txt', content: 'x'.repeat(11) })).code).toBe('too_large')
    expect(existsSync(at('b.txt'))).toBe(false)
  })
})
