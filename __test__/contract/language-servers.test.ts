import { applyPatchTool, createSession, type Envelope, type SessionOptions } from 'toolwright/contract'
import { readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { running, sleepingMark } from '../support/processes.ts'
import { makeSandbox } from '../support/sandbox.ts'

/** Waits until something holds, also on a busy machine. */
const eventually = (holds: () => unknown): Promise<unknown> => vi.waitFor(holds, { timeout: 20_000, interval: 50 })

const script = resolve(import.meta.dirname, '../toolkit/language-servers/scripted-server.mjs')

async function scene(kind: string, argument = '', options: Partial<SessionOptions> = {}) {
  const box = makeSandbox()
  const command = [process.execPath, script, kind, argument]
  const session = await createSession({
    workspace: box.root,
    manifest: { name: 'coder', permissions: [{ permission: '*', pattern: '*', action: 'allow' }] },
    skills: { project: false, home: false },
    tools: [applyPatchTool],
    languageServers: { servers: { typescript: { command, languages: { '.ts': 'typescript' } } }, waitMs: 10_000 },
    ...options,
  })
  onTestFinished(() => session.close())
  return { ...box, session, write: (path: string, content: string) => session.call('write', { path, content }) }
}

const notesOf = (envelope: Envelope): string[] => (envelope.metadata as { notes?: string[] }).notes ?? []

describe.skipIf(process.platform !== 'linux')('createSession({ languageServers })', () => {
  test('results of changes have new problems as notes, and their data is as ever', async () => {
    const { put, session, write } = await scene('pull')
    put('a.ts', 'BAD old\n')
    const written = await write('a.ts', 'BAD old\nBAD new\n')
    expect(written).toMatchObject({ type: 'output', data: { path: 'a.ts', created: false } })
    expect(notesOf(written)).toEqual(['New problems by the typescript language server (1 file checked):\na.ts:2: error S1: bad: BAD new'])
    const edited = await session.call('edit', { path: 'a.ts', old_string: 'BAD new', new_string: 'fine' })
    expect(notesOf(edited)).toContain('(No new problems by the typescript language server in 1 file.)')
    const patch = '*** Begin Patch\n*** Add File: b.ts\n+BAD too\n*** End Patch'
    const patched = await session.call('apply_patch', { patch })
    expect(patched).toMatchObject({ type: 'output' })
    expect(notesOf(patched).join('\n')).toContain('b.ts:1: error S1: bad: BAD too')
    const failed = await session.call('edit', { path: 'c.ts', old_string: 'x', new_string: 'y' })
    expect([failed.type, notesOf(failed)]).toEqual(['error', []])
  })

  test('what comes late is a note of the next result', async () => {
    const servers = { typescript: { command: [process.execPath, script, 'late', '200'], languages: { '.ts': 'typescript' } } }
    const { session, write } = await scene('late', '200', { languageServers: { servers, waitMs: 20 } })
    expect(notesOf(await write('a.ts', 'BAD\n')).join()).toContain('(Not checked yet')
    await eventually(async () => {
      const next = await session.call('glob', { pattern: '*.ts' })
      expect(notesOf(next).join()).toContain('New problems since the edit of a.ts')
    })
  })

  test('the tool lsp reads: it is judged like a read, and its failures have codes', async () => {
    const { put, session } = await scene('pull')
    put('a.ts', 'BAD\n')
    expect(await session.call('lsp', { action: 'diagnostics', path: 'a.ts' })).toMatchObject({
      type: 'output',
      data: { text: 'a.ts:1: error S1: bad: BAD' },
    })
    expect(await session.call('lsp', { action: 'hover', path: 'a.ts', symbol: 'none' })).toMatchObject({
      metadata: { code: 'invalid_arguments' },
      error_text: expect.stringContaining('symbol: "none" is not in a.ts.'),
    })
    expect(await session.call('lsp', { action: 'rename', path: 'a.ts' })).toMatchObject({ metadata: { code: 'invalid_arguments' } })
    expect((await session.judge('lsp', { action: 'symbols', path: '/etc/passwd' })).action).not.toBe('allow')
    const dies = await scene('dies')
    dies.put('a.ts', 'x')
    expect(await dies.session.call('lsp', { action: 'symbols', path: 'a.ts' })).toMatchObject({
      metadata: { code: 'unavailable' },
      error_text: expect.stringContaining('The language server has failed: it ended with exit code 3'),
    })
  })

  test('without the option, there is no such tool', async () => {
    const { session } = await scene('pull', '', { languageServers: undefined })
    expect(await session.call('lsp', { action: 'symbols', path: 'a.ts' })).toMatchObject({ metadata: { code: 'unknown_tool' } })
  })

  test('a server writes nothing of the workspace, and ends with the session', async () => {
    const mark = sleepingMark()
    const reads = await scene('reads', '/etc/hostname')
    await reads.write('a.ts', 'fine\n')
    expect(readdirSync(reads.root)).toEqual(['a.ts'])
    // What it reads of the rest of the machine is the system, and what the host names in its command.
    const outside = makeSandbox().put('of-another', 'secret')
    const told = await scene('tells', `at:${outside}`)
    expect(notesOf(await told.write('a.ts', 'BAD\n')).join()).toMatch(/bad: (?:ENOENT|EACCES)/u)
    const system = await scene('tells', 'at:/etc/hostname')
    expect(notesOf(await system.write('a.ts', 'BAD\n')).join()).toMatch(/bad: read/u)
    const forks = await scene('forks', mark)
    await forks.write('a.ts', 'fine\n')
    expect(running(mark)).not.toEqual([])
    await forks.session.close()
    await eventually(() => expect(running(mark)).toEqual([]))
  })
})
