import { createHash } from 'node:crypto'
import { mkdirSync, statSync } from 'node:fs'
import { asSchema, ToolLoopAgent } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { read, write, writeFileTool, type ToolCallRecord } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { expectReadable, refusal } from '../support/refusal.ts'
import { makeSandbox } from '../support/sandbox.ts'
import { script, seenBy } from '../support/scripted-model.ts'

describe('000 write', () => {
  test('"Write content to a file, creating parent directories as needed."', async () => {
    const fixture = makeSandbox()
    expect(await fixture.within(() => write.execute({ path: 'a/b/c/d.txt', content: 'deep' }))).toBe('ok')
    expect(fixture.text('a/b/c/d.txt')).toBe('deep')
    expect(await fixture.within(() => writeFileTool('top.txt', 'x'))).toBe('ok')
    expect(fixture.text('top.txt')).toBe('x')
  })

  test('"Destination path, relative to rootDir or absolute within it."', async () => {
    const fixture = makeSandbox()
    await fixture.within(() => writeFileTool('relative.txt', '1'))
    await fixture.within(() => writeFileTool(fixture.at('new/absolute.txt'), '2'))
    expect([fixture.text('relative.txt'), fixture.text('new/absolute.txt')]).toEqual(['1', '2'])
  })

  test('"File contents.": exactly what was given, empty and with every line ending', async () => {
    const fixture = makeSandbox()
    for (const content of ['', '\n', 'a\r\nb\rc\n', '\u{feff}bom', 'nul\0', 'ünï 🎈']) {
      await fixture.within(() => writeFileTool('same.txt', content))
      expect(fixture.text('same.txt')).toBe(content)
    }
  })

  test('an existing file gets the content as its whole content', async () => {
    const fixture = makeSandbox()
    fixture.put('a.txt', 'a longer text than the new one')
    await fixture.within(() => writeFileTool('a.txt', 'short'))
    expect(fixture.text('a.txt')).toBe('short')
  })

  test('"Throws TOOL_CONTENT_TOO_LARGE if content exceeds maxOutputBytes"', async () => {
    const fixture = makeSandbox()
    expect(await fixture.within(() => writeFileTool('default', 'x'.repeat(200_000)))).toBe('ok')
    const error = await refusal(fixture.within(() => writeFileTool('over', 'x'.repeat(200_001))))
    expect(error).toMatchObject({ code: 'TOOL_CONTENT_TOO_LARGE', summary: 'Content too large (200001 bytes)' })
    expectReadable(error)
  })

  test('"only the content’s byte size and SHA-256 hash are logged, never the content itself": the error', async () => {
    const fixture = makeSandbox()
    const content = 'sécret '.repeat(3)
    const error = await refusal(fixture.within(() => writeFileTool('x', content), { maxOutputBytes: 8 }))
    expect(error.details).toMatchObject({
      contentBytes: Buffer.byteLength(content),
      contentHash: createHash('sha256').update(content).digest('hex'),
    })
    expect(`${error.message} ${error.stack} ${JSON.stringify(error.details)}`).not.toContain('sécret')
  })
})

describe('001 write', () => {
  test('"{ path: string, content: string }": the schema', async () => {
    const schema = await asSchema(write.inputSchema).jsonSchema
    expect(schema).toMatchObject({
      properties: { path: { type: 'string' }, content: { type: 'string' } },
      required: ['path', 'content'],
      additionalProperties: false,
    })
    expect(Object.keys(schema.properties ?? {})).toEqual(['path', 'content'])
  })

  test('"Write content to a file. Creates parent directories as needed.": also where some of them exist', async () => {
    const fixture = makeSandbox()
    mkdirSync(fixture.at('a/b'), { recursive: true })
    await fixture.within(() => writeFileTool('a/b/c/d', 'x'))
    expect(statSync(fixture.at('a/b/c')).isDirectory()).toBe(true)
    expect(fixture.text('a/b/c/d')).toBe('x')
  })

  test.each([1, 10, 100_000])(
    '"Returns "ok". Throws "Content too large" if content exceeds maxOutputBytes.": %i bytes pass, one more does not',
    async (maxOutputBytes) => {
      const fixture = makeSandbox()
      const limited = (content: string) => fixture.within(() => writeFileTool('dir/file', content), { maxOutputBytes })
      const error = await refusal(limited('x'.repeat(maxOutputBytes + 1)))
      expect(error.message).toMatch(/^Content too large/u)
      expect(error.code).toBe('TOOL_CONTENT_TOO_LARGE')
      expect(() => statSync(fixture.at('dir')), 'nothing is left behind').toThrow('ENOENT')
      expect(await limited('x'.repeat(maxOutputBytes))).toBe('ok')
    },
  )

  test('the size is counted in bytes of UTF-8', async () => {
    const fixture = makeSandbox()
    const limited = (maxOutputBytes: number) => fixture.within(() => writeFileTool('a', '€'), { maxOutputBytes })
    expect(await limited(3)).toBe('ok')
    expect((await refusal(limited(2))).summary).toBe('Content too large (3 bytes)')
  })

  test('a refused write leaves the old content', async () => {
    const fixture = makeSandbox()
    fixture.put('a', 'old')
    await refusal(fixture.within(() => writeFileTool('a', 'too long'), { maxOutputBytes: 3 }))
    expect(fixture.text('a')).toBe('old')
  })

  test('"Logs content hash (SHA-256) and byte size; full content is not stored.": what a host is given to record', async () => {
    const fixture = makeSandbox()
    const records: ToolCallRecord[] = []
    const recordToolCall = (record: ToolCallRecord) => records.push(record)
    await fixture.within(() => write.execute({ path: 'a', content: 'text é' }), { recordToolCall })
    const contentHash = createHash('sha256').update('text é').digest('hex')
    expect(records.map(({ input }) => input)).toEqual([
      { path: 'a', contentBytes: 7, contentHash },
      { path: 'a', contentBytes: 7, contentHash },
    ])
    expect(JSON.stringify(records)).not.toContain('text')
    expect(records[1]?.output).toBe('ok')
  })

  test('"tools: { write, read }" given to a ToolLoopAgent, as in the example', async () => {
    const fixture = makeSandbox()
    const model = new MockLanguageModelV4({
      doGenerate: script(
        [{ tool: 'write', input: { path: 'notes/a.md', content: '# A\n' } }],
        [{ tool: 'read', input: { path: 'notes/a.md' } }],
        'written',
      ),
    })
    const agent = new ToolLoopAgent({ model, tools: { write, read } })
    await fixture.within(() => agent.generate({ prompt: 'Write notes' }))
    expect(seenBy(model).map(({ output }) => output)).toEqual([
      { type: 'text', value: 'ok' },
      { type: 'text', value: '# A\n' },
    ])
  })
})
