import { chmodSync, existsSync, statSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { dataOf, failureOf, openScene } from '../scene.ts'

describe('edit', () => {
  const edit = (path: string, old_string: string, new_string: string, more: object = {}) => ({ path, old_string, new_string, ...more })

  test('R26a what was written can be edited without being read', async () => {
    const { call, text } = await openScene()
    await call('write', { path: 'a.txt', content: 'one two' })
    expect(dataOf(await call('edit', edit('a.txt', 'two', 'three')))).toEqual({ path: 'a.txt', replacements: 1 })
    expect(text('a.txt')).toBe('one three')
  })

  test('R26b R26c no place, several places, overlapping ones, nothing to change: errors, and the file stays', async () => {
    const { call, put, text } = await openScene()
    put('a.txt', 'aaa\nline one\nline two\n')
    const failed = async (old: string, next: string) => failureOf(await call('edit', edit('a.txt', old, next)))
    expect(await failed('line onne', 'x')).toMatchObject({ code: 'conflict' })
    expect((await failed('line onne', 'x')).text).toMatch(/\b2\b/u)
    expect(await failed('line', 'x')).toMatchObject({ code: 'ambiguous', text: expect.stringMatching(/2/u) })
    expect((await failed('aa', 'x')).code).toBe('ambiguous')
    expect((await failed('', 'x')).code).toBe('invalid_arguments')
    expect((await failed('line one', 'line one')).code).toBe('invalid_arguments')
    expect(text('a.txt')).toBe('aaa\nline one\nline two\n')
  })

  test('R26c literal: no template, no white space guessed; BOM, CRLF, mode and the last line stay', async () => {
    const { call, put, at, bytes } = await openScene()
    put('a.txt', '\ufeffone\r\ntwo (x)\r\nlast')
    chmodSync(at('a.txt'), 0o640)
    await call('edit', edit('a.txt', 'two (x)', "$& $1 $` $' \\n"))
    expect(bytes('a.txt').toString('utf8')).toBe("\ufeffone\r\n$& $1 $` $' \\n\r\nlast")
    expect(statSync(at('a.txt')).mode & 0o777).toBe(0o640)
    // A line feed stands for the line ending of such a file, so that none is left alone in it.
    await call('edit', edit('a.txt', 'one\n', 'uno\n'))
    expect(bytes('a.txt').toString('utf8')).toBe("\ufeffuno\r\n$& $1 $` $' \\n\r\nlast")
    expect(failureOf(await call('edit', edit('a.txt', 'uno ', 'x'))).code).toBe('conflict')
  })

  test('R26 all places with replace_all; a missing file is not made', async () => {
    const { call, put, text, at } = await openScene()
    put('a.txt', 'a b a b a')
    expect(dataOf(await call('edit', edit('a.txt', 'a', 'aa', { replace_all: true })))).toEqual({ path: 'a.txt', replacements: 3 })
    expect(text('a.txt')).toBe('aa b aa b aa')
    expect(failureOf(await call('edit', edit('none.txt', 'a', 'b'))).code).toBe('not_found')
    expect(existsSync(at('none.txt'))).toBe(false)
  })

  test('R26d 50 parallel edits of one file all land', async () => {
    const { call, put, text } = await openScene()
    put('a.txt', Array.from({ length: 50 }, (_, n) => `line ${n};\n`).join(''))
    const made = await Promise.all(Array.from({ length: 50 }, (_, n) => call('edit', edit('a.txt', `line ${n};`, `done ${n};`))))
    expect(made.map((envelope) => envelope.metadata.code)).toEqual(Array.from({ length: 50 }, () => 'ok'))
    expect(text('a.txt')).toBe(Array.from({ length: 50 }, (_, n) => `done ${n};\n`).join(''))
  })
})
