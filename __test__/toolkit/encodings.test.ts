/** Files in other encodings than UTF-8, through every door that reads or changes text. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { createTools } from 'toolwright'
import { applyPatchTool, createSession, type Session } from 'toolwright/contract'
import { providerExecutors } from 'toolwright/providers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const root = mkdtempSync(join(tmpdir(), 'toolwright-'))
const file = join(root, 'file')
const tools = createTools({ rootDir: root, extraTools: ['apply_patch'] })
const run = providerExecutors({ rootDir: root, memoryDir: root })
let session: Session
beforeAll(async () => {
  session = await createSession({
    workspace: root,
    headless: true,
    tools: [applyPatchTool],
    manifest: { name: 'm', permissions: [{ permission: '*', pattern: '**', action: 'allow' }] },
  })
})
afterAll(async () => {
  await session.close()
  rmSync(root, { recursive: true, force: true })
})

const options = { toolCallId: 'c', messages: [] }
/** What a model reads of a call. */
async function told(name: 'read' | 'write' | 'edit' | 'apply_patch' | 'grep', input: object): Promise<string> {
  const tool = tools[name] as never as {
    execute: (input: object, options: object) => Promise<unknown>
    toModelOutput?: (request: object) => { value: unknown }
  }
  const output = await tool.execute(input, options)
  return String(tool.toModelOutput?.({ toolCallId: 'c', input, output }).value ?? output)
}
async function called(name: string, input: object): Promise<string> {
  const result = await session.call(name, input)
  if (result.type !== 'output') throw new Error(JSON.stringify(result))
  return JSON.stringify(result)
}

const envelope = (old: string, by: string) => `*** Begin Patch\n*** Update File: file\n@@\n-${old}\n+${by}\n*** End Patch\n`
const unified = (old: string, by: string) => `--- a/file\n+++ b/file\n@@ -2,1 +2,1 @@\n-${old}\n+${by}\n`
/** Doors that change line 2, from `old` to `by`. */
const changes: Record<string, (old: string, by: string) => Promise<unknown>> = {
  edit: (old, by) => told('edit', { path: 'file', patch: `@@ -2,1 +2,1 @@\n-${old}\n+${by}\n` }),
  'apply_patch, envelope': (old, by) => told('apply_patch', { patch: envelope(old, by) }),
  'apply_patch, diff': (old, by) => told('apply_patch', { patch: unified(old, by) }),
  'edit of a session': (old, by) => called('edit', { path: 'file', old_string: old, new_string: by }),
  'apply_patch of a session': (old, by) => called('apply_patch', { patch: envelope(old, by) }),
  'apply_patch of OpenAI': async (old, by) => {
    const operation = { type: 'update_file', path: 'file', diff: `@@\n-${old}\n+${by}` } as const
    const done = await run.openai.applyPatch({ callId: 'c', operation })
    if (done.status !== 'completed') throw new Error(done.output)
  },
  'editor of Anthropic': (old, by) => run.anthropic.textEditor({ command: 'str_replace', path: 'file', old_str: old, new_str: by }),
  'memory of Anthropic': (old, by) => run.anthropic.memory({ command: 'str_replace', path: '/memories/file', old_str: old, new_str: by }),
}
/** Doors that show the file. */
const views: Record<string, () => Promise<string>> = {
  read: () => told('read', { path: 'file' }),
  'read of lines': () => told('read', { path: 'file', offset: 1, limit: 9 }),
  'read of a session': () => called('read', { path: 'file' }),
  'read of a part': () => called('read', { path: 'file', offset: 2, limit: 200 }),
  grep: () => told('grep', { pattern: 'caf.', path: '.' }),
  'grep of a session': () => called('grep', { pattern: 'caf.' }),
  'editor of Anthropic': () => run.anthropic.textEditor({ command: 'view', path: 'file' }),
  'memory of Anthropic': () => run.anthropic.memory({ command: 'view', path: '/memories/file' }),
}

const littleEndian = (text: string): Buffer => Buffer.from(`\uFEFF${text}`, 'utf16le')
const bigEndian = (text: string): Buffer => littleEndian(text).swap16()

describe.each([
  ['little-endian', littleEndian],
  ['big-endian', bigEndian],
] as const)('UTF-16, %s', (order, encoded) => {
  const text = 'first\r\ncafé\r\n日本 🎈\r\n'

  test.each(Object.keys(views))('%s shows it as text', async (name) => {
    writeFileSync(file, encoded(text))
    expect(await views[name]?.()).toContain('café')
  })

  test.each(Object.keys(changes))('%s changes a line and keeps the encoding, the mark and the line endings', async (name) => {
    writeFileSync(file, encoded(text))
    await changes[name]?.('café', 'thé 🎈')
    expect(readFileSync(file)).toEqual(encoded('first\r\nthé 🎈\r\n日本 🎈\r\n'))
  })

  test('write keeps it, and says so', async () => {
    const kept = `encoding, UTF-16, ${order}`
    for (const write of [told, called]) {
      writeFileSync(file, encoded(text))
      const words = await write('write', { path: 'file', content: 'new\ncafé\n' })
      expect(readFileSync(file)).toEqual(encoded('new\r\ncafé\r\n'))
      expect(words).toContain(kept)
      expect(words).toContain('CRLF')
    }
  })

  test('a session reads it in parts that are joined to the whole', async () => {
    writeFileSync(file, encoded(text))
    for (const limit of [1, 3, 5, 8, 100]) {
      let [joined, offset] = ['', 0]
      while (true) {
        const part = JSON.parse(await called('read', { path: 'file', offset, limit })) as { data: Record<string, unknown> }
        const { content, head, next_offset: next } = part.data
        joined += (content ?? head) as string
        if (typeof next !== 'number') break
        expect(next).toBeGreaterThan(offset)
        offset = next
      }
      expect(joined).toBe(`\uFEFF${text}`)
    }
  })
})

describe('other encodings', () => {
  const latin = (text: string): Buffer => Buffer.from(text, 'latin1')

  test.each(Object.keys(changes))('%s mixes nothing into a file that does not say which it has', async (name) => {
    const old = latin('first\nx = 1\ncafé\n')
    writeFileSync(file, old)
    await expect(changes[name]?.('x = 1', 'x = "é"')).rejects.toThrow(/UTF-8/u)
    expect(readFileSync(file)).toEqual(old)
  })

  const unable = new Set(['editor of Anthropic', 'memory of Anthropic'])
  test.each(Object.keys(changes).filter((name) => !unable.has(name)))(
    '%s writes letters in the encoding that a file names',
    async (name) => {
      writeFileSync(file, latin('# coding: latin-1\nx = 1\ncafé\n'))
      await changes[name]?.('x = 1', 'x = "é"')
      expect(readFileSync(file)).toEqual(latin('# coding: latin-1\nx = "é"\ncafé\n'))
      await expect(changes[name]?.('x = "\uFFFD"', 'x = "日"')).rejects.toThrow()
      expect(readFileSync(file)).toEqual(latin('# coding: latin-1\nx = "é"\ncafé\n'))
    },
  )

  test('write keeps the encoding that both the file and the content name', async () => {
    for (const write of [told, called]) {
      writeFileSync(file, latin('# coding: latin-1\ncafé\n'))
      expect(await write('write', { path: 'file', content: '# coding: latin-1\nthé\n' })).toContain('windows-1252')
      expect(readFileSync(file)).toEqual(latin('# coding: latin-1\nthé\n'))
      await write('write', { path: 'file', content: 'thé\n' })
      expect(readFileSync(file, 'utf8')).toBe('thé\n')
    }
  })
})

test('write keeps the form of a file that is longer than what is looked at', async () => {
  for (const write of [told, called]) {
    // A file that the model has not seen: it is told of changes to others.
    const long = join(dirname(file), `long-${write === told}`)
    writeFileSync(long, `\uFEFF${'line\r\n'.repeat(300_000)}`)
    expect(await write('write', { path: basename(long), content: 'a\nb\n' })).toContain('CRLF')
    expect(readFileSync(long, 'utf8')).toBe('\uFEFFa\r\nb\r\n')
  }
})
