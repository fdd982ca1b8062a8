import { asSchema, ToolLoopAgent } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { grep, read, readFileTool } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { expectReadable, refusal } from '../../support/refusal.ts'
import { makeSandbox } from '../../support/sandbox.ts'
import { script, seenBy } from '../../support/scripted-model.ts'

describe('000 read', () => {
  test('"Read a UTF-8 file from the sandbox."', async () => {
    const fixture = makeSandbox()
    fixture.put('src/ä.txt', 'Grüße, 世界 🌍\n')
    expect(await fixture.within(() => read.execute({ path: 'src/ä.txt' }))).toBe('Grüße, 世界 🌍\n')
  })

  test('"File path, relative to rootDir or absolute within it."', async () => {
    const fixture = makeSandbox()
    const path = fixture.put('a/b.txt', 'text')
    for (const name of ['a/b.txt', './a/b.txt', 'a/../a/b.txt', 'a//b.txt', path]) {
      expect(await fixture.within(() => readFileTool(name)), name).toBe('text')
    }
  })

  test('the limit is ctx.maxOutputBytes ("Output is truncated to ctx.maxOutputBytes (200KB)"; for read: throws, never truncated)', async () => {
    const fixture = makeSandbox()
    fixture.put('default', 'x'.repeat(200_000))
    fixture.put('over', 'x'.repeat(200_001))
    expect(await fixture.within(() => readFileTool('default'))).toHaveLength(200_000)
    expect((await refusal(fixture.within(() => readFileTool('over')))).code).toBe('TOOL_FILE_TOO_LARGE')
  })
})

describe('001 read', () => {
  test('"{ path: string }": the schema', async () => {
    const schema = await asSchema(read.inputSchema).jsonSchema
    expect(schema).toMatchObject({
      type: 'object',
      properties: { path: { type: 'string' } },
      required: ['path'],
      additionalProperties: false,
    })
    expect(Object.keys(schema.properties ?? {})).toEqual(['path'])
  })

  test('"Read a file from the sandbox.": an empty file is an empty string', async () => {
    const fixture = makeSandbox()
    fixture.put('empty', '')
    expect(await fixture.within(() => read.execute({ path: 'empty' }))).toBe('')
  })

  test('"Returns file contents as UTF-8."', async () => {
    const fixture = makeSandbox()
    fixture.put('bytes', Uint8Array.of(0xe2, 0x82, 0xac, 0x0d, 0x0a, 0x00, 0x41))
    expect(await fixture.within(() => readFileTool('bytes'))).toBe('€\r\n\0A')
  })

  test.each([1, 10, 1_000_000])(
    '"Throws "File too large" if size exceeds maxOutputBytes.": exactly %i bytes pass, one more does not',
    async (maxOutputBytes) => {
      const fixture = makeSandbox()
      fixture.put('exact', 'x'.repeat(maxOutputBytes))
      fixture.put('over', 'x'.repeat(maxOutputBytes + 1))
      const limited = (path: string) => fixture.within(() => readFileTool(path), { maxOutputBytes })
      expect(await limited('exact')).toHaveLength(maxOutputBytes)
      const error = await refusal(limited('over'))
      expect(error).toMatchObject({
        code: 'TOOL_FILE_TOO_LARGE',
        summary: `File too large (${maxOutputBytes + 1} bytes)`,
      })
      expectReadable(error)
      expect(error.message).toContain('over')
    },
  )

  test('the size is that of the file in bytes, not in characters', async () => {
    const fixture = makeSandbox()
    fixture.put('three', '€')
    const limited = (maxOutputBytes: number) => fixture.within(() => readFileTool('three'), { maxOutputBytes })
    expect(await limited(3)).toBe('€')
    expect((await refusal(limited(2))).summary).toBe('File too large (3 bytes)')
  })

  test('"tools: { read, grep }" given to a ToolLoopAgent, as in the example', async () => {
    const fixture = makeSandbox()
    fixture.put('src/auth.ts', 'export const secret = 1\n')
    const model = new MockLanguageModelV4({
      doGenerate: script(
        [
          { tool: 'read', input: { path: 'src/auth.ts' } },
          { tool: 'grep', input: { pattern: 'secret' } },
        ],
        'reviewed',
      ),
    })
    const agent = new ToolLoopAgent({ model, tools: { read, grep } })
    const { text } = await fixture.within(() => agent.generate({ prompt: 'Read the file src/auth.ts' }))
    expect(text).toBe('reviewed')
    expect(seenBy(model).map(({ output }) => output)).toEqual([
      { type: 'text', value: 'export const secret = 1\n' },
      { type: 'text', value: 'src/auth.ts:1:export const secret = 1\n' },
    ])
  })
})
