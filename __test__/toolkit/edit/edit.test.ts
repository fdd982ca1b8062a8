import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { asSchema, ToolLoopAgent } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { applyPatch, createTwoFilesPatch } from 'diff'
import fc from 'fast-check'
import { edit, editFileTool } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { expectReadable, refusal } from '../../support/refusal.ts'
import { makeSandbox } from '../../support/sandbox.ts'
import { script, seenBy } from '../../support/scripted-model.ts'
import { runs, seed } from '../../support/randomised.ts'

const lines = (count: number): string => Array.from({ length: count }, (_, index) => `line ${index + 1}\n`).join('')

describe('000 edit', () => {
  test('"Apply a unified-diff patch to an existing file."', async () => {
    const fixture = makeSandbox()
    fixture.put('a.txt', 'one\ntwo\nthree\n')
    const patch = '--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n+2.5\n three\n'
    expect(await fixture.within(() => edit.execute({ path: 'a.txt', patch }))).toBe('ok')
    expect(fixture.text('a.txt')).toBe('one\n2\n2.5\nthree\n')
  })

  test('"File to patch. Must already exist."', async () => {
    const fixture = makeSandbox()
    const error = await refusal(fixture.within(() => editFileTool('none.txt', '@@ -1 +1 @@\n-a\n+b\n')))
    expect(error).toMatchObject({ code: 'TOOL_FILE_NOT_FOUND' })
    expectReadable(error)
    expect(existsSync(fixture.at('none.txt'))).toBe(false)
  })

  test('"A unified diff. Applied against the current contents."', async () => {
    const fixture = makeSandbox()
    fixture.put('a', '1\n')
    const step = (from: number) => fixture.within(() => editFileTool('a', `@@ -1 +1 @@\n-${from}\n+${from + 1}\n`))
    await step(1)
    await step(2)
    expect(fixture.text('a')).toBe('3\n')
    await refusal(step(2))
    expect(fixture.text('a')).toBe('3\n')
  })

  test('"Throws TOOL_PATCH_TOO_LARGE (patch over maxOutputBytes)": exactly the limit passes, one more does not', async () => {
    const fixture = makeSandbox()
    fixture.put('a', 'x\n')
    const patch = '@@ -1 +1 @@\n-x\n+é\n'
    const bytes = Buffer.byteLength(patch)
    const limited = (maxOutputBytes: number) => fixture.within(() => editFileTool('a', patch), { maxOutputBytes })
    const error = await refusal(limited(bytes - 1))
    expect(error).toMatchObject({
      code: 'TOOL_PATCH_TOO_LARGE',
      summary: `Patch too large (${bytes} bytes)`,
      details: { patchBytes: bytes, patchHash: createHash('sha256').update(patch).digest('hex') },
    })
    expectReadable(error)
    expect(await limited(bytes)).toBe('ok')
  })

  test('"… or TOOL_PATCH_FAILED (the patch context does not match the file)."', async () => {
    const fixture = makeSandbox()
    fixture.put('a', 'one\ntwo\n')
    const error = await refusal(fixture.within(() => editFileTool('a', '@@ -1,2 +1,2 @@\n one\n-zwei\n+2\n')))
    expect(error).toMatchObject({ code: 'TOOL_PATCH_FAILED', summary: 'Failed to apply patch' })
    expectReadable(error)
    expect(fixture.text('a')).toBe('one\ntwo\n')
  })
})

describe('001 edit', () => {
  test('"{ path: string, patch: string }": the schema', async () => {
    const schema = await asSchema(edit.inputSchema).jsonSchema
    expect(schema).toMatchObject({
      properties: { path: { type: 'string' }, patch: { type: 'string' } },
      required: ['path', 'patch'],
      additionalProperties: false,
    })
    expect(Object.keys(schema.properties ?? {})).toEqual(['path', 'patch'])
  })

  test('"Returns "ok". The file must exist.": a directory is none', async () => {
    const fixture = makeSandbox()
    fixture.put('dir/a', 'x\n')
    const error = await refusal(fixture.within(() => editFileTool('dir', '@@ -1 +1 @@\n-x\n+y\n')))
    expect(error.code).toBe('TOOL_NOT_A_FILE')
    expect(await fixture.within(() => editFileTool('dir/a', '@@ -1 +1 @@\n-x\n+y\n'))).toBe('ok')
  })

  test('"Reads current contents, applies the patch via applyPatch, writes back.": what jsdiff makes of its own patches, so do we', async () => {
    const fixture = makeSandbox()
    const text = fc
      .array(fc.constantFrom('a', 'b', 'c', '', '  x', '-', '+', '@@', '\\', 'ü'), { maxLength: 12 })
      .chain((all) => fc.constantFrom('\n', '').map((end) => (all.length === 0 ? '' : all.join('\n') + end)))
    await fc.assert(
      fc.asyncProperty(text, text, fc.integer({ min: 0, max: 4 }), async (before, after, context) => {
        const patch = createTwoFilesPatch('a/f', 'b/f', before, after, '', '', { context })
        fc.pre(before !== after && applyPatch(before, patch) === after)
        fixture.put('f', before)
        expect(await fixture.within(() => editFileTool('f', patch))).toBe('ok')
        expect(fixture.text('f')).toBe(after)
      }),
      { seed, numRuns: runs(200) },
    )
  })

  test('"Throws on size limits ("Patch too large", "File too large")": the file as it is', async () => {
    const fixture = makeSandbox()
    fixture.put('big', lines(100))
    const patch = '@@ -1 +1 @@\n-line 1\n+line one\n'
    const error = await refusal(fixture.within(() => editFileTool('big', patch), { maxOutputBytes: 100 }))
    expect(error).toMatchObject({
      code: 'TOOL_FILE_TOO_LARGE',
      summary: `File too large (${Buffer.byteLength(lines(100))} bytes)`,
    })
    expect(fixture.text('big')).toBe(lines(100))
  })

  test('"A result over maxOutputBytes is TOOL_FILE_TOO_LARGE.", exactly at the limit it is none', async () => {
    const fixture = makeSandbox()
    const patch = '@@ -1 +1,2 @@\n 1\n+23\n'
    fixture.put('a', '1\n'.padEnd(40, '_'))
    const limited = (maxOutputBytes: number) => fixture.within(() => editFileTool('a', patch), { maxOutputBytes })
    const error = await refusal(limited(42))
    expect(error).toMatchObject({ code: 'TOOL_FILE_TOO_LARGE', summary: 'File too large (43 bytes)' })
    expect(fixture.bytes('a')).toHaveLength(40)
    expect(await limited(43)).toBe('ok')
  })

  test('"… or mismatched context ("Failed to apply patch").": the message says hunk, line, expected and found', async () => {
    const fixture = makeSandbox()
    fixture.put('a', lines(20))
    const patch = '@@ -2,2 +2,2 @@\n line 2\n-line 3\n+drei\n@@ -11,2 +11,2 @@\n line 11\n-line zwölf\n+12\n'
    const { message } = await refusal(fixture.within(() => editFileTool('a', patch)))
    expect(message).toMatch(/^Failed to apply patch/u)
    expect(message).toMatch(/hunk 2/iu)
    expect(message).toContain('12')
    expect(message).toContain('line zwölf')
    expect(message).toContain('line 12')
    expect(fixture.text('a')).toBe(lines(20))
  })

  test('"Logs patch hash and byte size.": the patch itself is in no error', async () => {
    const fixture = makeSandbox()
    fixture.put('a', 'x\n')
    const error = await refusal(fixture.within(() => editFileTool('a', '@@ -1 +1 @@\n-x\n+geheim\n'), { maxOutputBytes: 10 }))
    expect(`${error.message} ${JSON.stringify(error.details)}`).not.toContain('geheim')
  })

  test('the example patch of the document (its counts are one too high on both sides) applies', async () => {
    const fixture = makeSandbox()
    const body = '  const token = jwt.sign(payload, secret);\n  return token;\n'
    fixture.put('src/auth.ts', `${lines(9)}${body}}\n`)
    const patch = `--- a/src/auth.ts
+++ b/src/auth.ts
@@ -10,3 +10,4 @@
   const token = jwt.sign(payload, secret);
+  logger.info("Token issued", { userId: payload.sub });
   return token;
`
    expect(await fixture.within(() => editFileTool('src/auth.ts', patch))).toBe('ok')
    expect(fixture.text('src/auth.ts')).toBe(
      `${lines(9)}  const token = jwt.sign(payload, secret);\n  logger.info("Token issued", { userId: payload.sub });\n  return token;\n}\n`,
    )
  })

  test('given to a ToolLoopAgent, a stale patch reaches the model as an error it can act upon', async () => {
    const fixture = makeSandbox()
    fixture.put('a', 'one\n')
    const call = (text: string) => [{ tool: 'edit', input: { path: 'a', patch: `@@ -1 +1 @@\n-${text}\n+1\n` } }]
    const model = new MockLanguageModelV4({ doGenerate: script(call('eins'), call('one'), 'done') })
    await fixture.within(() => new ToolLoopAgent({ model, tools: { edit } }).generate({ prompt: 'go' }))
    const [stale, fresh] = seenBy(model)
    expect(stale?.output.type).toBe('error-text')
    expect(stale?.output.value).toMatch(/Failed to apply patch.*\[TOOL_PATCH_FAILED\]/su)
    expect(fresh?.output).toEqual({ type: 'text', value: 'ok' })
  })
})
