import { providerExecutors, type ProviderExecutorsOptions } from 'toolwright/providers'
import { chmodSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeSandbox } from '../support/sandbox.ts'

const script = resolve(import.meta.dirname, '../toolkit/language-servers/scripted-server.mjs')
const tidy = `
let text = ''
process.stdin.on('data', (piece) => (text += piece)).on('end', () => process.stdout.write(text.replaceAll('  ', ' ').trimEnd() + '\\n'))
`

function scene(options: ProviderExecutorsOptions) {
  const box = makeSandbox()
  box.put('package.json', JSON.stringify({ devDependencies: { prettier: '3' } }))
  chmodSync(box.put('node_modules/.bin/prettier', `#!${process.execPath}\n${tidy}`), 0o755)
  const executors = providerExecutors({ rootDir: box.root, ...options })
  onTestFinished(() => executors.close())
  return { ...box, ...executors }
}

describe.skipIf(process.platform !== 'linux')('changes by the editors of providers', () => {
  test('answers end with new problems', async () => {
    const servers = { typescript: { command: [process.execPath, script, 'pull', ''], languages: { '.ts': 'typescript' } } }
    const { anthropic, openai } = scene({ languageServers: { servers, waitMs: 10_000 } })
    const problems = 'New problems by the typescript language server'
    expect(await anthropic.textEditor({ command: 'create', path: 'a.ts', file_text: 'BAD\nfine\n' })).toContain(problems)
    const replaced = await anthropic.textEditor({ command: 'str_replace', path: 'a.ts', old_str: 'fine', new_str: 'BAD too' })
    expect(replaced).toContain('a.ts:2: error S1: bad: BAD too')
    expect(await anthropic.textEditor({ command: 'insert', path: 'a.ts', insert_line: 0, insert_text: 'BAD first' })).toContain(problems)
    expect(await anthropic.textEditor({ command: 'view', path: 'a.ts' })).not.toContain(problems)
    const diff = '@@\n-BAD\n+fine\n'
    const { output } = await openai.applyPatch({ callId: '1', operation: { type: 'update_file', path: 'a.ts', diff } })
    expect(output).toContain('(No new problems by the typescript language server')
    const failed = await openai.applyPatch({ callId: '1', operation: { type: 'update_file', path: 'a.ts', diff: '@@\n-none\n+x\n' } })
    expect(failed.status).toBe('failed')
  })

  test('answers have the lines that a formatter has changed', async () => {
    const { anthropic, openai, text } = scene({ formatOnEdit: 'project' })
    const created = await anthropic.textEditor({ command: 'create', path: 'a.ts', file_text: 'one  1\n' })
    expect(created).toBe('File created successfully at: a.ts\n(prettier has formatted a.ts. Line 1 is now:)\none 1')
    expect(text('a.ts')).toBe('one 1\n')
    const operation = { type: 'create_file', path: 'b.ts', diff: '+b  b\n' } as const
    expect((await openai.applyPatch({ callId: '1', operation })).output).toContain('prettier has formatted b.ts')
  })
})
