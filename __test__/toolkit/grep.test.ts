import { chmodSync } from 'node:fs'
import { asSchema } from 'ai'
import { grep, grepTool } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { expectReadable, refusal } from '../support/refusal.ts'
import { makeSandbox, type Sandbox } from '../support/sandbox.ts'

function auth(): Sandbox {
  const fixture = makeSandbox()
  fixture.put('src/auth.ts', `${'//\n'.repeat(14)}  if (token.expired()) {\n  }\n  validateToken(token);\n`)
  fixture.put('tests/auth.test.ts', '  const token = createTestToken();\n')
  fixture.put('README.md', 'nothing here\n')
  return fixture
}

describe('000 grep', () => {
  test('"Search for a pattern with ripgrep (rg -n)." "Requires rg on PATH": not here: in process', async () => {
    const fixture = auth()
    const path = process.env['PATH']
    process.env['PATH'] = ''
    try {
      expect(await fixture.within(() => grep.execute({ pattern: 'validateToken' }))).toBe('src/auth.ts:17:  validateToken(token);\n')
    } finally {
      process.env['PATH'] = path
    }
  })

  test.each([
    ['token\\.expired', 1],
    ['^  (if|const) ', 2],
    ['(?i)TOKEN', 3],
    ['\\btoken\\b', 3],
    ['t.ken;', 0],
  ])('"Regex to search for.": %s', async (pattern, count) => {
    const fixture = auth()
    const output = await fixture.within(() => grepTool(pattern))
    expect(output.split('\n').filter((line) => line !== '')).toHaveLength(count)
  })

  test('"Directory or file to search, relative to rootDir."', async () => {
    const fixture = auth()
    const search = (path: string) => fixture.within(() => grepTool('token', path))
    expect(await search('tests')).toBe('tests/auth.test.ts:1:  const token = createTestToken();\n')
    expect(await search('tests/auth.test.ts')).toBe(await search('tests'))
    expect(await search(fixture.at('tests'))).toBe(await search('tests'))
    expect(await search('README.md')).toBe('')
  })

  test('"file:line:text."', async () => {
    const fixture = makeSandbox()
    fixture.put('a b/c.txt', 'one\ntwo: 2\n')
    expect(await fixture.within(() => grepTool('two'))).toBe('a b/c.txt:2:two: 2\n')
  })

  test('"No matches returns an empty string"', async () => {
    expect(await auth().within(() => grepTool('no such text'))).toBe('')
  })

  test('"an rg error (exit code 2) throws TOOL_GREP_FAILED": a bad regex, in ripgrep’s words', async () => {
    const error = await refusal(auth().within(() => grepTool('(unclosed')))
    expect(error.code).toBe('TOOL_GREP_FAILED')
    expect(error.message).toContain('regex parse error')
    expect(error.message).toContain('unclosed group')
    expectReadable(error)
  })

  test('"an rg error (exit code 2) throws TOOL_GREP_FAILED": a missing path, in ripgrep’s words', async () => {
    const error = await refusal(auth().within(() => grepTool('x', 'no/such')))
    expect(error.code).toBe('TOOL_GREP_FAILED')
    expect(error.message).toContain('No such file or directory')
    expect(error.message).toContain('no/such')
    expectReadable(error)
  })
})

describe('001 grep', () => {
  test('"{ pattern: string, path?: string }": the schema', async () => {
    const schema = await asSchema(grep.inputSchema).jsonSchema
    expect(schema).toMatchObject({
      properties: { pattern: { type: 'string' }, path: { type: 'string' } },
      required: ['pattern'],
      additionalProperties: false,
    })
    expect(Object.keys(schema.properties ?? {})).toEqual(['pattern', 'path'])
  })

  test('"path?: directory or file (default: rootDir)"', async () => {
    const fixture = auth()
    const all = await fixture.within(() => grepTool('token'))
    expect(await fixture.within(() => grepTool('token', '.'))).toBe(all)
    expect(await fixture.within(() => grepTool('token', fixture.root))).toBe(all)
  })

  test('"Returns matching lines with file paths and line numbers (rg -n format).": the example of the document', async () => {
    expect(await auth().within(() => grepTool('[tT]oken'))).toBe(
      `src/auth.ts:15:  if (token.expired()) {
src/auth.ts:17:  validateToken(token);
tests/auth.test.ts:1:  const token = createTestToken();
`,
    )
  })

  test('"Exit code 1 (no matches) returns empty string.": also for an empty directory and an empty file', async () => {
    const fixture = makeSandbox()
    expect(await fixture.within(() => grepTool('x'))).toBe('')
    fixture.put('empty', '')
    expect(await fixture.within(() => grepTool('x', 'empty'))).toBe('')
  })

  test('"Exit code 2 throws stderr as error."', async () => {
    await expect(auth().within(() => grepTool('a{2,1}'))).rejects.toThrow(/repetition/u)
  })

  test('001 Sandboxing: "Process output is truncated to maxOutputBytes": on a line boundary, with a last line that says so', async () => {
    const fixture = makeSandbox()
    fixture.put('many.txt', 'a matching line\n'.repeat(1000))
    for (const maxOutputBytes of [1024, 4096, 10_000]) {
      const output = await fixture.within(() => grepTool('matching'), { maxOutputBytes })
      expect(Buffer.byteLength(output)).toBeLessThanOrEqual(maxOutputBytes)
      const lines = output.trimEnd().split('\n')
      const marker = lines.pop()
      expect(lines.length).toBeGreaterThan(5)
      for (const [index, line] of lines.entries()) expect(line).toBe(`many.txt:${index + 1}:a matching line`)
      expect(marker).toMatch(/cut/u)
      expect(marker).toMatch(/pattern|path/u)
    }
  })

  test('under 1,024 bytes the cut has no closing line, but ends on a line boundary', async () => {
    const fixture = makeSandbox()
    fixture.put('m', 'abc\n'.repeat(100))
    expect(await fixture.within(() => grepTool('b'), { maxOutputBytes: 20 })).toBe('m:1:abc\nm:2:abc\n')
  })

  test('output that fits exactly is whole', async () => {
    const fixture = makeSandbox()
    fixture.put('m', 'abc\n'.repeat(500))
    const whole = await fixture.within(() => grepTool('b'))
    const bytes = Buffer.byteLength(whole)
    expect(whole.split('\n')).toHaveLength(501)
    expect(await fixture.within(() => grepTool('b'), { maxOutputBytes: bytes })).toBe(whole)
  })

  test('001 Sandboxing: "bash and grep default to 60s": at the timeout, PROCESS_TIMEOUT and the lines so far in details.output', async () => {
    const fixture = makeSandbox()
    for (let index = 0; index < 300; index += 1) fixture.put(`d/${index}`, 'some text\n'.repeat(8_000))
    const error = await refusal(fixture.within(() => grepTool('(s.*){8}x'), { timeoutMs: 1 }))
    expect(error).toMatchObject({ code: 'PROCESS_TIMEOUT', summary: 'Command timed out after 1ms' })
    expect(error.details).toMatchObject({ timeoutMs: 1 })
    expect(error.details['output']).toBeTypeOf('string')
    expectReadable(error)
  })
})

describe('grep', () => {
  test('"files in a stable sorted order"', async () => {
    const fixture = makeSandbox()
    for (const name of ['b', 'a/z', 'a-b', 'c/1', 'a/b/c', 'B']) fixture.put(name, 'x\n')
    const output = await fixture.within(() => grepTool('x'))
    for (let again = 0; again < 5; again += 1) expect(await fixture.within(() => grepTool('x'))).toBe(output)
    expect(output.trim().split('\n').sort()).toEqual(['B:1:x', 'a-b:1:x', 'a/b/c:1:x', 'a/z:1:x', 'b:1:x', 'c/1:1:x'].sort())
  })

  test('"otherwise what rg 15 prints": .gitignore honoured, hidden files and binary files left out', async () => {
    const fixture = makeSandbox()
    for (const part of ['HEAD', 'objects/x', 'refs/x']) fixture.put(`.git/${part}`, 'x\n')
    fixture.put('.gitignore', 'ignored\n')
    fixture.put('ignored', 'x\n')
    fixture.put('.hidden', 'x\n')
    fixture.put('binary', 'x\0\nx\n')
    fixture.put('seen', 'x\n')
    const output = await fixture.within(() => grepTool('x'))
    expect(output).toContain('seen:1:x\n')
    expect(output).not.toMatch(/^(?:ignored|\.hidden|\.git)/mu)
    expect(output).not.toContain('\0')
  })

  test('a RIPGREP_CONFIG_PATH of the host changes nothing ("--no-config")', async () => {
    const fixture = auth()
    fixture.put('rc', '--files-with-matches\n--hidden\n')
    const before = await fixture.within(() => grepTool('token'))
    process.env['RIPGREP_CONFIG_PATH'] = fixture.at('rc')
    try {
      expect(await fixture.within(() => grepTool('token'))).toBe(before)
    } finally {
      delete process.env['RIPGREP_CONFIG_PATH']
    }
  })

  test.skipIf(process.getuid?.() === 0)('"Unreadable files met on the walk are named at the end, and the matches stay."', async () => {
    const fixture = auth()
    chmodSync(fixture.put('closed', 'token\n'), 0)
    const output = await fixture.within(() => grepTool('createTestToken'))
    expect(output).toMatch(/^tests\/auth\.test\.ts:1:/u)
    expect(output).toContain('closed')
  })
})
