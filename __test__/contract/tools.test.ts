import { chmodSync, existsSync, mkdirSync, statSync, symlinkSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { dataOf, failureOf, openScene } from './scene.ts'

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

describe('bash', () => {
  test('R29 both outputs, the exit code; a failure of the command is an output', async () => {
    const { call } = await openScene()
    expect(dataOf(await call('bash', { command: 'echo out; echo err >&2; exit 3' }))).toEqual({
      stdout: 'out\n',
      stderr: 'err\n',
      exit_code: 3,
      signal: null,
      timed_out: false,
    })
  })

  test('R29 nothing carries over; the directory can be chosen; stdin is closed', async () => {
    const { call, root } = await openScene()
    mkdirSync(`${root}/sub`)
    await call('bash', { command: 'cd sub; export X=1' })
    expect(dataOf(await call('bash', { command: 'pwd; echo "[$X]"' })).stdout).toBe(`${root}\n[]\n`)
    expect(dataOf(await call('bash', { command: 'pwd', workdir: 'sub' })).stdout).toBe(`${root}/sub\n`)
    expect(dataOf(await call('bash', { command: 'cat; echo end' })).stdout).toBe('end\n')
    expect(failureOf(await call('bash', { command: 'pwd', workdir: 'none' })).code).toBe('not_found')
    expect(failureOf(await call('bash', { command: 'pwd', workdir: '/' })).code).toBe('capability_refused')
  })

  test('R29 the timeout ends it, with what it had printed', async () => {
    const { call } = await openScene()
    const data = dataOf(await call('bash', { command: 'echo before; sleep 60', timeout_ms: 300 }))
    expect(data).toMatchObject({ stdout: 'before\n', timed_out: true, exit_code: null })
  })

  test('R29 it resolves when the command ends, not when a child lets go of a pipe', async () => {
    const { call } = await openScene()
    const start = performance.now()
    expect(dataOf(await call('bash', { command: 'sleep 30 & echo done' }))).toMatchObject({ stdout: 'done\n', exit_code: 0 })
    expect(performance.now() - start).toBeLessThan(5_000)
  })

  test('R29 secrets of the environment are not passed', async () => {
    process.env['MY_API_KEY'] = 'hush'
    const { call } = await openScene()
    expect(dataOf(await call('bash', { command: 'env' })).stdout).not.toContain('hush')
    delete process.env['MY_API_KEY']
  })

  test('R29 the session grants its process what whole subtrees say; the network is closed unless all of it is open', async () => {
    const { call, outside, text } = await openScene()
    expect(dataOf(await call('bash', { command: 'echo x > inside.txt' })).exit_code).toBe(0)
    expect(text('inside.txt')).toBe('x\n')
    expect(dataOf(await call('bash', { command: `echo x > '${outside}/x.txt'` })).exit_code).not.toBe(0)
    expect(existsSync(`${outside}/x.txt`)).toBe(false)
    const connect = `node -e "require('net').connect(9,'192.0.2.1').on('error',e=>console.log(e.code))"`
    expect(dataOf(await call('bash', { command: connect, timeout_ms: 8_000 })).stdout).toMatch(
      // The last is Bun's word for all of them, where it stands in for node.
      /ENETUNREACH|EPERM|EACCES|EHOSTUNREACH|ECONNREFUSED/u,
    )
  })
})
