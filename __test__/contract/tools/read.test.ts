import { mkdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { dataOf, failureOf, openScene } from '../scene.ts'

describe('read', () => {
  test('R24 missing, a directory and a binary file are errors of their own', async () => {
    const { call, put, root } = await openScene()
    mkdirSync(`${root}/dir`)
    put('bin', new Uint8Array([1, 0, 2]))
    const code = async (path: string) => failureOf(await call('read', { path })).code
    expect(await code('none')).toBe('not_found')
    expect(await code('dir')).toBe('not_a_file')
    expect(await code('bin')).toBe('binary_file')
    expect(await code('bin/x')).toBe('not_a_directory')
  })

  test('R24 invalid UTF-8 is shown with U+FFFD and told of', async () => {
    const { call, put } = await openScene()
    put('latin.txt', Buffer.from('caf\xe9\n', 'latin1'))
    expect(dataOf(await call('read', { path: 'latin.txt' }))).toEqual({ content: 'caf\ufffd\n', lossy: true })
  })

  test('R24 a range begins at a character, and its true place is told', async () => {
    const { call, put } = await openScene()
    put('a.txt', 'é€b')
    const data = dataOf(await call('read', { path: 'a.txt', offset: 3 }))
    expect(data).toMatchObject({ content: '€b', offset: 2 })
    expect(dataOf(await call('read', { path: 'a.txt', offset: 900 }))).toMatchObject({ content: '' })
  })
})
