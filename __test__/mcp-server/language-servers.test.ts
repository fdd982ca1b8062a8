import { chmodSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { makeSandbox } from '../support/sandbox.ts'
import { connectTo } from './mcp-client.ts'

const script = resolve(import.meta.dirname, '../toolkit/language-servers/scripted-server.mjs')

describe.skipIf(process.platform !== 'linux')('toolwright mcp --language-servers', () => {
  test('results of changes have new problems, and lsp is a tool that reads', async () => {
    const { root, put } = makeSandbox()
    // A server of a session reads the system and the workspace alone.
    const server = put('server.mjs', readFileSync(script))
    const program = put('node_modules/.bin/typescript-language-server', `#!/bin/sh\nexec ${process.execPath} ${server} pull\n`)
    chmodSync(program, 0o755)
    put('a.ts', 'BAD old\n')
    const { client } = await connectTo(root, '2025', { args: ['--language-servers', '--allow', 'write'] })
    const { tools } = await client.listTools()
    expect(tools.find(({ name }) => name === 'lsp')?.annotations).toMatchObject({ readOnlyHint: true })
    const written = await client.callTool({ name: 'write', arguments: { path: 'a.ts', content: 'BAD old\nBAD new\n' } })
    expect(JSON.stringify(written)).toMatch(/typescript language server/u)
    const asked = await client.callTool({ name: 'lsp', arguments: { action: 'diagnostics', path: 'a.ts' } })
    expect(JSON.stringify(asked)).toContain('a.ts:2: error S1: bad: BAD new')
  })
})
