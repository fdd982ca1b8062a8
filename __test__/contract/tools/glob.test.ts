import { symlinkSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { dataOf, failureOf, openScene } from '../scene.ts'

describe('glob', () => {
  test('R27 sorted, inside, links to directories not followed', async () => {
    const { call, put, root, outside } = await openScene()
    for (const name of ['b.ts', 'a.ts', 'src/c.ts', 'src/d.js']) put(name, '')
    symlinkSync(outside, `${root}/away`)
    symlinkSync('src', `${root}/again`)
    expect(dataOf(await call('glob', { pattern: '**/*.ts' }))).toEqual({ entries: ['a.ts', 'b.ts', 'src/c.ts'] })
    expect(dataOf(await call('glob', { pattern: '*.{ts,js}', path: 'src' })).entries).toHaveLength(2)
    expect(dataOf(await call('glob', { pattern: '*.none' }))).toEqual({ entries: [] })
    expect(failureOf(await call('glob', { pattern: '*', path: 'away' })).code).toBe('capability_refused')
    expect(failureOf(await call('glob', { pattern: '*', path: 'none' })).code).toBe('not_found')
  })
})
