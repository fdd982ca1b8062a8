import { readFileSync, symlinkSync } from 'node:fs'
import { openJournal } from 'toolwright'
import { providerExecutors, type ProviderExecutorsOptions, type TextEditorInput } from 'toolwright/providers'
import { describe, expect, test } from 'vitest'
import { refusal } from '../support/refusal.ts'
import { makeSandbox } from '../support/sandbox.ts'

function editor(options: ProviderExecutorsOptions = {}) {
  const fixture = makeSandbox()
  const { anthropic } = providerExecutors({ rootDir: fixture.root, ...options })
  const edit = (input: TextEditorInput): Promise<string> =>
    anthropic.textEditor(input).catch((error: Error) => `Error: ${error.message.replaceAll(fixture.root, 'ROOT')}`)
  return { fixture, edit, textEditor: anthropic.textEditor }
}

const script: TextEditorInput[] = [
  { command: 'create', path: 'src/primes.py', file_text: 'def f(n):\n    return n\n\nprint(f(1))\nprint(f(2))\n' },
  { command: 'create', path: 'src/primes.py', file_text: 'again' },
  { command: 'create', path: 'empty', file_text: '' },
  { command: 'create', path: 'src', file_text: 'a directory' },
  { command: 'create', path: 'none' },
  { command: 'view', path: 'src/primes.py' },
  { command: 'view', path: 'src/primes.py', view_range: [2, 4] },
  { command: 'view', path: 'src/primes.py', view_range: [5, -1] },
  { command: 'view', path: 'src/primes.py', view_range: [0, 2] },
  { command: 'view', path: 'src/primes.py', view_range: [2, 99] },
  { command: 'view', path: 'src/primes.py', view_range: [3, 2] },
  { command: 'view', path: 'src/primes.py', view_range: [3] },
  { command: 'view', path: 'empty' },
  { command: 'view', path: 'missing' },
  { command: 'view', path: 'empty/below' },
  { command: 'view', path: '.' },
  { command: 'view', path: 'src/' },
  { command: 'view', path: 'src', view_range: [1, 2] },
  { command: 'str_replace', path: 'src/primes.py', old_str: 'return n', new_str: 'return n * 2\n    # twice' },
  { command: 'str_replace', path: 'src/primes.py', old_str: 'print(f(', new_str: 'x' },
  { command: 'str_replace', path: 'src/primes.py', old_str: 'absent', new_str: 'x' },
  { command: 'str_replace', path: 'src/primes.py', old_str: '', new_str: 'x' },
  { command: 'str_replace', path: 'src/primes.py', old_str: '\nprint(f(2))' },
  { command: 'str_replace', path: 'src/primes.py' },
  { command: 'str_replace', path: 'src', old_str: 'a', new_str: 'b' },
  { command: 'str_replace', path: 'missing', old_str: 'a', new_str: 'b' },
  { command: 'insert', path: 'src/primes.py', insert_line: 0, insert_text: '"""Primes."""\n' },
  { command: 'insert', path: 'src/primes.py', insert_line: 3, insert_text: 'a\nb' },
  { command: 'insert', path: 'src/primes.py', insert_line: 99, insert_text: 'x' },
  { command: 'insert', path: 'src/primes.py', insert_text: 'x' },
  { command: 'insert', path: 'src/primes.py', insert_line: 1 },
  { command: 'insert', path: 'missing', insert_line: 0, insert_text: 'x' },
  { command: 'view', path: 'src/primes.py' },
  { command: 'view', path: '../outside' },
  { command: 'view', path: '/etc/passwd' },
  { command: 'create', path: 'out/new', file_text: 'x' },
  { command: 'create', path: '.git/hooks/pre-commit', file_text: 'x' },
  { command: 'undo_edit' as 'view', path: 'src/primes.py' },
]

describe('textEditor', () => {
  test('R8: answers in the documented words', async () => {
    const { fixture, edit } = editor()
    symlinkSync('../outside', fixture.at('out'))
    const answers: string[] = []
    for (const input of script) answers.push(`${JSON.stringify(input)}\n${await edit(input)}`)
    expect(answers.join('\n\n')).toMatchSnapshot()
    expect(fixture.text('src/primes.py')).toBe('"""Primes."""\ndef f(n):\n    return n * 2\na\nb\n    # twice\n\nprint(f(1))\n')
  })

  test('a long file is clipped at maxCharacters, and its range is shown all the same', async () => {
    const { fixture, edit } = editor({ maxCharacters: 100 })
    fixture.put('long', Array.from({ length: 200_000 }, (_, index) => `line ${index + 1}\n`).join(''))
    const clipped = await edit({ command: 'view', path: 'long' })
    expect(clipped).toContain('<response clipped><NOTE>')
    expect(clipped.length).toBeLessThan(600)
    expect(await edit({ command: 'view', path: 'long', view_range: [150_000, 150_001] })).toBe(
      "Here's the result of running `cat -n` on long:\n150000\tline 150000\n150001\tline 150001\n",
    )
  })

  test('takes insert texts by either name, absolute paths, CRLF, and a byte order mark', async () => {
    const { fixture, edit } = editor()
    fixture.put('a.txt', '\uFEFFone\r\ntwo\r\n')
    await edit({ command: 'insert', path: fixture.at('a.txt'), insert_line: 1, new_str: 'between\r\n' })
    await edit({ command: 'str_replace', path: 'a.txt', old_str: 'two', new_str: '2 $& $1' })
    expect(fixture.bytes('a.txt').toString()).toBe('\uFEFFone\r\nbetween\r\n2 $& $1\r\n')
  })

  test('refuses to change what is no UTF-8, and changes nothing', async () => {
    const { fixture, textEditor } = editor()
    fixture.put('latin', Buffer.from([0x61, 0xe4, 0x62, 0x0a]))
    expect((await refusal(textEditor({ command: 'str_replace', path: 'latin', old_str: 'a', new_str: 'x' }))).code).toBe('TOOL_FILE_BINARY')
    expect([...fixture.bytes('latin')]).toEqual([0x61, 0xe4, 0x62, 0x0a])
  })

  test('two edits at the same time lose nothing: one of them may be refused', async () => {
    const { fixture, textEditor } = editor()
    fixture.put('a', 'one\ntwo\n')
    const results = await Promise.allSettled(
      ['one', 'two'].map((old) => textEditor({ command: 'str_replace', path: 'a', old_str: old, new_str: old.toUpperCase() })),
    )
    const text = fixture.text('a')
    for (const [index, result] of results.entries()) {
      if (result.status === 'fulfilled') expect(text).toContain(['ONE', 'TWO'][index])
      else expect((result.reason as { code: string }).code).toBe('TOOL_EDIT_CONFLICT')
    }
  })

  test('R13: is recorded without the texts of a change', async () => {
    const journal = await openJournal('memory:')
    const { edit } = editor({ journal, runId: 'run' })
    await edit({ command: 'create', path: 'a', file_text: 'secret text' })
    await edit({ command: 'view', path: 'a' })
    await edit({ command: 'str_replace', path: 'a', old_str: 'another secret', new_str: 'x' })
    await edit({ command: 'str_replace', path: 'a', old_str: 'secret', new_str: 'x' })
    const rows = await journal.listToolCalls('run', 'agent', 0)
    expect(rows.map(({ status, sideEffect }) => [status, sideEffect])).toEqual([
      ['success', true],
      ['success', false],
      ['error', true],
      ['success', true],
    ])
    expect(rows.map(({ inputJson }) => inputJson).join('')).not.toContain('secret')
    expect(rows[2]?.errorJson).not.toContain('secret')
    expect(JSON.parse(rows[0]?.inputJson ?? '')).toMatchObject({ command: 'create', path: 'a', contentBytes: 11 })
    await journal.close()
  })
})

test('a text of 300,000 lines is inserted', async () => {
  const { fixture, edit } = editor({ maxOutputBytes: 10_000_000 })
  fixture.put('a', 'one\ntwo\n')
  await edit({ command: 'insert', path: 'a', insert_line: 1, insert_text: 'x\n'.repeat(300_000) })
  expect(readFileSync(fixture.at('a'), 'utf8')).toBe(`one\n${'x\n'.repeat(300_000)}two\n`)
})

test('an error repeats the beginning of a long text, and lists the first of many lines', async () => {
  const { fixture, edit } = editor()
  fixture.put('a', 'x\n'.repeat(500))
  const absent = await edit({ command: 'str_replace', path: 'a', old_str: 'y'.repeat(9_000), new_str: '' })
  expect(absent).toBe(
    `Error: No replacement was performed, old_str \`${'y'.repeat(2_000)}… (9000 characters)\` did not appear verbatim in a.`,
  )
  const often = await edit({ command: 'str_replace', path: 'a', old_str: 'x', new_str: '' })
  expect(often).toMatch(/in lines \[1, 2, [\d, ]+, 20 and 480 more\]\. Please/u)
})
