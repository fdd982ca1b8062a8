import { chmodSync, readdirSync, statSync } from 'node:fs'
import { editFileTool } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { expectReadable, refusal } from '../../support/refusal.ts'
import { makeSandbox, type Sandbox } from '../../support/sandbox.ts'

/** Edits a file that holds `before` and gives what it holds then. */
async function edited(before: string | Uint8Array, patch: string): Promise<string> {
  const fixture = makeSandbox()
  fixture.put('f', before)
  expect(await fixture.within(() => editFileTool('f', patch))).toBe('ok')
  return fixture.text('f')
}

/** Edits a file in vain: the error, after checking that no byte has changed. */
async function refused(before: string | Uint8Array, patch: string, fixture: Sandbox = makeSandbox()) {
  fixture.put('f', before)
  const error = await refusal(fixture.within(() => editFileTool('f', patch)))
  expect(fixture.bytes('f').equals(Buffer.from(before))).toBe(true)
  expect(readdirSync(fixture.root)).toEqual(['f'])
  expectReadable(error)
  expect(error).toMatchObject({ code: 'TOOL_PATCH_FAILED', summary: 'Failed to apply patch' })
  return error
}

const swap = '@@ -1 +1 @@\n-x\n+y\n'

describe('edit: what is placed and where', () => {
  test('"exact context, nearest to the header line"', async () => {
    const before = 'x\n1\n2\nx\n3\n'
    expect(await edited(before, '@@ -5 +5 @@\n-x\n+y\n')).toBe('x\n1\n2\ny\n3\n')
    expect(await edited(before, '@@ -2 +2 @@\n-x\n+y\n')).toBe('y\n1\n2\nx\n3\n')
  })

  test('"an offset found for one hunk carried to the next"', async () => {
    const before = 'a\nb\nc\nx\nx\nx\nd\n'
    // The first hunk is 1 line off; with the same offset the second means line 5, not line 4.
    const patch = '@@ -1 +1 @@\n-b\n+B\n@@ -4 +4 @@\n-x\n+X\n'
    expect(await edited(before, patch)).toBe('a\nB\nc\nx\nX\nx\nd\n')
  })

  test('"never before the end of the previous hunk"', async () => {
    await refused('a\nb\nc\n', '@@ -3 +3 @@\n-c\n+C\n@@ -1 +1 @@\n-a\n+A\n')
  })

  test('"the file’s line endings kept"', async () => {
    expect(await edited('a\r\nx\r\nb\r\n', '@@ -1,3 +1,4 @@\n a\n-x\n+y\n+z\n b\n')).toBe('a\r\ny\r\nz\r\nb\r\n')
    expect(await edited('a\nx\r\nb\n', '@@ -1,3 +1,3 @@\n a\n-x\n+y\n b\n')).toBe('a\ny\r\nb\n')
  })

  test('a file without a final newline keeps that', async () => {
    expect(await edited('a\nx', '@@ -1,2 +1,2 @@\n-a\n+A\n x\n')).toBe('A\nx')
    expect(await edited('a\nx', '@@ -2 +2 @@\n-x\n\\ No newline at end of file\n+y\n\\ No newline at end of file\n')).toBe('a\ny')
  })

  test.each([
    ['a code fence', '```diff\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n+y\n```\n'],
    ['prose before the first header', `Here is the change:\n\n--- a/f\n+++ b/f\n${swap}`],
    ['a wrong file name', `--- a/other.ts\n+++ b/other.ts\n${swap}`],
    ['no file name', swap],
    ['git headers', `diff --git a/f b/f\nindex 587be6b..975fbec 100644\n--- a/f\n+++ b/f\n${swap}`],
    ['trailing blank lines', `${swap}\n\n\n`],
    ['no newline at the end of the patch', swap.trimEnd()],
  ])('"… are ignored": %s', async (_what, patch) => {
    expect(await edited('x\n', patch)).toBe('y\n')
  })

  test('"a last hunk whose header counts exceed its body equally on both sides is accepted when it fits"', async () => {
    expect(await edited('a\nx\nb\n', '@@ -1,5 +1,5 @@\n a\n-x\n+y\n b\n')).toBe('a\ny\nb\n')
  })

  test('"every other wrong count is refused and the message gives the right header"', async () => {
    const { message } = await refused('a\nx\nb\n', '@@ -1,3 +1,9 @@\n a\n-x\n+y\n b\n')
    expect(message).toContain('@@ -1,3 +1,3 @@')
  })
})

describe('edit: "Refused, with the reason, and the file byte-identical"', () => {
  const header = '--- a/f\n+++ b/f\n'
  const cases: [string, string, RegExp][] = [
    ['garbage', 'please change x to y', /not a unified diff/iu],
    ['an empty patch', '', /empty/iu],
    ['no hunks', header, /no hunk/iu],
    ['a bare @@', `${header}@@\n-x\n+y\n`, /line numbers/iu],
    ['a bare @@ @@', `${header}@@ @@\n-x\n+y\n`, /line numbers|hunk header/iu],
    ['several files', `${header}${swap}--- a/g\n+++ b/g\n${swap}`, /file/iu],
    ['a creation (the write tool is named)', `--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n`, /write tool/iu],
    ['a deletion (the bash tool is named)', `--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n`, /bash tool/iu],
    [
      'a rename (the bash tool is named)',
      `diff --git a/f b/g\nsimilarity index 90%\nrename from f\nrename to g\n--- a/f\n+++ b/g\n${swap}`,
      /bash tool/iu,
    ],
    ['stale context', '@@ -1 +1 @@\n-was\n+y\n', /was/u],
    ['nothing to change', '@@ -1 +1 @@\n x\n', /change/iu],
  ]
  test.each(cases)('%s', async (_what, patch, reason) => {
    expect((await refused('x\n', patch)).message).toMatch(reason)
  })

  test('"two places equally near"', async () => {
    const { message } = await refused('a\nx\nb\nx\nc\n', '@@ -3 +3 @@\n-x\n+y\n')
    expect(message).toMatch(/2/u)
    expect(message).toMatch(/4/u)
  })

  test('a failing second hunk undoes the first', async () => {
    await refused('x\nb\nc\n', '@@ -1 +1 @@\n-x\n+y\n@@ -3 +3 @@\n-other\n+C\n')
  })
})

describe('"Text that is not UTF-8"', () => {
  const latin1 = Uint8Array.of(0x63, 0x61, 0x66, 0xe9, 0x0a, 0x78, 0x0a, 0xff, 0x0a)

  test('"copies the file’s own bytes for every line not added or removed"', async () => {
    const fixture = makeSandbox()
    fixture.put('f', latin1)
    await fixture.within(() => editFileTool('f', '@@ -1,3 +1,3 @@\n caf\u{fffd}\n-x\n+y\n \u{fffd}\n'))
    const expected = Buffer.from(latin1)
    expected[5] = 0x79
    expect(fixture.bytes('f').equals(expected)).toBe(true)
  })

  test('"compares context and removed lines by their lossy decoding"', async () => {
    const fixture = makeSandbox()
    fixture.put('f', latin1)
    await fixture.within(() => editFileTool('f', '@@ -1,2 +1,2 @@\n-caf\u{fffd}\n+café\n x\n'))
    expect(fixture.bytes('f').subarray(0, 6).toString('utf8')).toBe('café\n')
    expect(fixture.bytes('f').at(-2)).toBe(0xff)
  })

  test('"an added line that holds U+FFFD is refused with the reason"', async () => {
    const { message } = await refused(latin1, '@@ -1,2 +1,3 @@\n caf\u{fffd}\n x\n+th\u{fffd}\n')
    expect(message).toContain('U+FFFD')
  })

  test('a byte order mark stays', async () => {
    expect(await edited('\u{feff}x\nb\n', swap)).toBe('\u{feff}y\nb\n')
  })
})

describe('"Atomic writes"', () => {
  test('"mode … kept"', async () => {
    const fixture = makeSandbox()
    chmodSync(fixture.put('f', 'x\n'), 0o751)
    await fixture.within(() => editFileTool('f', swap))
    expect(statSync(fixture.at('f')).mode & 0o7777).toBe(0o751)
  })

  test('no temporary file is left', async () => {
    const fixture = makeSandbox()
    fixture.put('f', 'x\n')
    await fixture.within(() => editFileTool('f', swap))
    expect(readdirSync(fixture.root)).toEqual(['f'])
  })
})
