/** Arguments that a tool does not have: refused by `createTools`, dropped by the documents' tools. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTools, type ToolwrightTools } from 'toolwright'
import { tools as documented } from 'toolwright/tools'
import { afterAll, expect, test } from 'vitest'
import type { z } from 'zod'

const root = mkdtempSync(join(tmpdir(), 'toolwright-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))
const tools = createTools({ rootDir: root, extraTools: ['apply_patch'] })
const valid = {
  read: { path: 'a' },
  write: { path: 'a', content: 'a' },
  edit: { path: 'a', patch: '' },
  grep: { pattern: 'a' },
  bash: { cmd: 'true' },
  apply_patch: { patch: '' },
}

for (const [name, args] of Object.entries(valid)) {
  test(`${name} refuses what it does not take`, async () => {
    const { inputSchema, execute } = tools[name as keyof ToolwrightTools] as unknown as {
      inputSchema: z.ZodType
      execute: (args: object) => Promise<unknown>
    }
    expect(inputSchema.safeParse(args).success).toBe(true)
    const refused = inputSchema.safeParse({ ...args, pathh: 'x' })
    expect(refused.error?.issues[0]?.message).toMatch(
      new RegExp(`^Invalid arguments for ${name}: there is no \`/pathh\`; ${name} takes `, 'u'),
    )
    await expect(execute({ ...args, pathh: 'x' })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  })
}

test('the words name what was meant, and arguments of arguments', () => {
  const read = (tools.read as unknown as { inputSchema: z.ZodType }).inputSchema
  expect(read.safeParse({ path: 'a', ofset: 1 }).error?.issues[0]?.message).toBe(
    'Invalid arguments for read: there is no `/ofset`; read takes `path`, `offset`, `limit`. Did you mean `offset`? Correct them and call again.',
  )
  const odd = read.safeParse({ path: 'a', ['x`\n\u001B[2J\uD800']: 1 }).error?.issues[0]?.message
  expect(odd).toContain('there is no `/x?' + String.raw`\n\u001b[2J\ud800` + '`;')
  const bash = (tools.bash as unknown as { inputSchema: z.ZodType }).inputSchema
  expect(bash.safeParse({ cmd: 'true', opts: { cdw: '.' } }).error?.issues[0]?.message).toContain('there is no `/opts/cdw`')
})

test('the documents’ tools keep their schemas', () => {
  const schema = (documented.read as unknown as { inputSchema: z.ZodType }).inputSchema
  expect(schema.safeParse({ path: 'a', offset: 1 })).toMatchObject({ success: true, data: { path: 'a' } })
})
