import { chmodSync, existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { openFork } from 'toolwright'
import { type AgentDefinition, createSession, type Envelope, type SessionOptions } from 'toolwright/contract'
import { describe, expect, onTestFinished, test } from 'vitest'
import { node, ofProject, step } from '../mcp/servers.ts'
import { makeSandbox } from '../../support/sandbox.ts'
import { allowAll, openSession } from '../scene.ts'

// Needs overlays: see docs/guides/forks.md.
const here = process.platform === 'linux' ? describe : describe.skip

const lsp = resolve(import.meta.dirname, '../../toolkit/language-servers/scripted-server.mjs')
const rawServer = resolve(import.meta.dirname, '../mcp/raw-server.mjs')

/** Prints a text with one blank where there were two, and its directory. */
const formatter = `#!${process.execPath}
const { appendFileSync } = require('node:fs')
try { appendFileSync('seen.txt', 'x') } catch {}
let text = ''
process.stdin.on('data', (piece) => (text += piece)).on('end', () => process.stdout.write(text.replaceAll('  ', ' ')))
`

async function scene(more: (box: ReturnType<typeof makeSandbox>) => Partial<SessionOptions>) {
  const box = makeSandbox()
  box.put('package.json', JSON.stringify({ devDependencies: { prettier: '3' } }))
  chmodSync(box.put('node_modules/.bin/prettier', formatter), 0o755)
  box.put('a.ts', 'BAD old\n')
  const fork = await openFork({ rootDir: box.root, store: join(box.outside, 'forks') })
  onTestFinished(() => fork.close())
  return { ...box, fork, session: await openSession(box, { fork, ...more(box) }) }
}

const notesOf = (envelope: Envelope): string => JSON.stringify(envelope)

here('what runs beside a session in a fork', () => {
  test('language servers see what was changed in the fork', async () => {
    const command = [process.execPath, lsp, 'pull', '']
    const servers = { typescript: { command, languages: { '.ts': 'typescript' } } }
    const { session, text } = await scene(() => ({ languageServers: { servers, waitMs: 10_000 } }))
    expect(notesOf(await session.call('write', { path: 'a.ts', content: 'BAD old\nBAD new\n' }))).toContain(
      'a.ts:2: error S1: bad: BAD new',
    )
    expect(text('a.ts')).toBe('BAD old\n')
    const other = notesOf(await session.call('lsp', { action: 'diagnostics', path: 'a.ts' }))
    expect(other).toContain('BAD new')
  })

  test('formatters format the file of the fork, and write nothing of either', async () => {
    const { session, fork, text, at } = await scene(() => ({ formatOnEdit: 'project' }))
    expect(notesOf(await session.call('write', { path: 'b.ts', content: 'b  b\n' }))).toContain('prettier has formatted b.ts')
    expect(notesOf(await session.call('read', { path: 'b.ts' }))).toContain('b b')
    expect((await fork.status()).changes.map(({ path }) => path)).toEqual(['b.ts'])
    expect([existsSync(at('b.ts')), existsSync(at('seen.txt')), text('a.ts')]).toEqual([false, false, 'BAD old\n'])
  })

  test('sandboxed servers of MCP write the fork where they may, and a home of theirs in the directory is refused', async () => {
    const server = (sandbox: object) => ofProject({ command: node, args: [rawServer], cwd: '{workspace}', sandbox })
    const { session, fork, text } = await scene(() => ({
      manifest: {
        name: 'test',
        permissions: allowAll,
        mcpServers: {
          writes: server({ writableRoots: ['{workspace}'] }),
          reads: server({}),
        },
      },
      enabledMcpServers: ['writes', 'reads'],
      toolSearch: { enabled: false },
    }))
    await session.prepareStep(step)
    const line = `echo two > a.ts && cat "$PWD/a.ts"`
    expect(notesOf(await session.call('writes_sh', { line }))).toContain('two')
    expect(notesOf(await session.call('reads_sh', { line: `cat a.ts; echo three > a.ts` }))).toMatch(
      /two.*(?:Read-only|Permission denied)/su,
    )
    expect([text('a.ts'), (await fork.status()).changes.map(({ path }) => path)]).toEqual(['BAD old\n', ['a.ts']])
    for (const home of ['{workspace}/home', join(fork.base, 'home'), 'home']) {
      const mcpServers = { inside: server({ home }) }
      const opened = createSession({ workspace: fork.base, fork, manifest: { name: 'test', mcpServers }, enabledMcpServers: ['inside'] })
      await expect(opened).rejects.toMatchObject({ code: 'INVALID_INPUT', message: expect.stringContaining('name a directory elsewhere') })
    }
  })

  test('a subagent in a fork of its own has language servers that see that fork', async () => {
    const box = makeSandbox()
    box.put('a.ts', 'BAD old\n')
    const servers = { typescript: { command: [process.execPath, lsp, 'pull', ''], languages: { '.ts': 'typescript' } } }
    const agents: AgentDefinition[] = [{ name: 'apart', isolation: 'fork' }]
    const session = await openSession(box, {
      languageServers: { servers, waitMs: 10_000 },
      manifest: { name: 'root', permissions: allowAll, agents },
      host: {
        spawn: async ({ session: child }) => {
          await child.call('write', { path: 'a.ts', content: 'BAD old\nBAD apart\n' })
          return notesOf(await child.call('lsp', { action: 'diagnostics', path: 'a.ts' }))
        },
      },
    })
    expect(notesOf(await session.call('task', { subagent_type: 'apart', prompt: 'Look.' }))).toContain('BAD apart')
    expect(notesOf(await session.call('lsp', { action: 'diagnostics', path: 'a.ts' }))).not.toContain('BAD apart')
    for (const { id } of session.forks.all) await session.forks.discard(id)
  })
})
