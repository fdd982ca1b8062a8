import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { compileManifest, createSession, type AgentManifest, type SessionOptions } from 'toolwright/contract'
import { describe, expect, test } from 'vitest'
import { makeSandbox, type Sandbox } from '../../support/sandbox.ts'
import { allowAll, dataOf, failureOf, openSession, testTool } from '../scene.ts'

const declaring = (workspace: string[], more: Partial<AgentManifest> = {}) => ({
  manifest: { name: 'test', permissions: allowAll, workspace, ...more },
})

/** Two directories side by side, each with a file that holds its name. */
function twoRoots(): { fixture: Sandbox; other: Sandbox } {
  const [fixture, other] = [makeSandbox(), makeSandbox()]
  fixture.put('src/a.txt', 'first')
  other.put('src/b.txt', 'second')
  return { fixture, other }
}

const noSession = (options: Partial<SessionOptions> & Pick<SessionOptions, 'manifest'>, fixture: Sandbox) =>
  expect(createSession({ workspace: fixture.root, ...options })).rejects

describe('roots that the manifest declares', () => {
  test('R11 {workspace} stands for them too: for tools, for commands and in rules', async () => {
    const { fixture, other } = twoRoots()
    const rules = [
      { permission: '*', pattern: '**', action: 'allow' as const },
      { permission: 'fs.read', pattern: 'src/closed.txt', action: 'deny' as const },
    ]
    other.put('src/closed.txt', 'closed')
    const options = { ...declaring([other.root], { permissions: rules }), manifestRoots: [other.root] }
    const session = await openSession(fixture, options)
    expect(dataOf(await session.call('read', { path: other.at('src/b.txt') }))).toEqual({ content: 'second' })
    expect((await session.call('write', { path: other.at('src/c.txt'), content: 'c' })).type).toBe('output')
    expect(dataOf(await session.call('bash', { command: `cat ${other.at('src/b.txt')} && echo d > ${other.at('d.txt')}` }))).toMatchObject({
      exit_code: 0,
      stdout: 'second',
    })
    expect(other.text('d.txt')).toBe('d\n')
    expect(failureOf(await session.call('read', { path: other.at('src/closed.txt') })).code).toBe('permission_denied')
    // A relative path begins in the first root of the host.
    expect(dataOf(await session.call('read', { path: 'src/a.txt' }))).toEqual({ content: 'first' })
    expect(session.requirements.effective[0]?.fs?.read).toContain(`${other.root}/**`)
  })

  test('R11 a root within the workspace needs nothing from the host, and may be relative', async () => {
    const fixture = makeSandbox()
    fixture.put('packages/one/lib/a.txt', 'a')
    const tool = testTool('look', async (_args, { fs }) => (await fs.read(fixture.at('packages/one/lib/a.txt'))).content, {
      requires: { fs: { read: ['lib/**'] } },
    })
    const ceiling = { fs: { read: ['lib/**'] } }
    const without = await openSession(fixture, { tools: [tool], ceiling })
    expect(failureOf(await without.call('look', {})).code).toBe('capability_refused')
    const session = await openSession(fixture, { tools: [tool], ceiling, ...declaring(['packages/one']) })
    expect(dataOf(await session.call('look', {}))).toBe('a')
  })

  test('R11 one that the host has not given is refused when the session is opened, with its place', async () => {
    const { fixture, other } = twoRoots()
    mkdirSync(fixture.at('in'))
    symlinkSync(other.root, fixture.at('door'))
    writeFileSync(fixture.at('file'), '')
    const beside = `${fixture.root}-beside`
    mkdirSync(beside)
    for (const [path, why] of [
      [other.root, 'lies in none of the directories'],
      ['..', 'lies in none of the directories'],
      ['../outside', 'lies in none of the directories'],
      ['door', 'lies in none of the directories'],
      [beside, 'lies in none of the directories'],
      ['/', 'lies in none of the directories'],
      ['nowhere', 'there is no directory'],
      ['file', 'is no directory'],
    ] as const) {
      await noSession(declaring(['in', path]), fixture).toMatchObject({
        code: 'CONTRACT_MANIFEST_INVALID',
        message: expect.stringContaining(why),
        details: { source: 'manifest.workspace', place: 'manifest.workspace[1]' },
      })
    }
    await noSession({ ...declaring(['src']), workspace: [] }, fixture).toMatchObject({
      code: 'CONTRACT_MANIFEST_INVALID',
      message: expect.stringContaining('no workspace is open'),
    })
    await noSession(declaring('src' as unknown as string[]), fixture).toMatchObject({
      code: 'INVALID_INPUT',
      message: expect.stringContaining('manifest.workspace'),
    })
    await noSession({ ...declaring([]), manifestRoots: ['nowhere'] }, fixture).toMatchObject({
      code: 'INVALID_INPUT',
      message: expect.stringContaining('manifestRoots'),
    })
  })

  test('R11 without a workspace the manifest may declare one where the host allows it', async () => {
    const { fixture, other } = twoRoots()
    const session = await openSession(fixture, { workspace: [], manifestRoots: [other.root], ...declaring([other.at('src')]) })
    expect(dataOf(await session.call('read', { path: 'b.txt' }))).toEqual({ content: 'second' })
  })

  test('R52 R53 a subagent has the roots of its parent, and its own only within them, never more than its parent may', async () => {
    const { fixture, other } = twoRoots()
    fixture.put('packages/one/src/c.txt', 'third')
    const seen: unknown[] = []
    const agents = [
      { name: 'same', tools: ['read'] },
      { name: 'deeper', tools: ['read'], workspace: ['packages/one'] },
    ]
    const host = {
      spawn: async ({ session }: { session: { call: (id: string, args: unknown) => Promise<{ type: string }> } }) => {
        for (const path of ['src/a.txt', other.at('src/b.txt'), 'packages/one/src/c.txt'])
          seen.push((await session.call('read', { path })).type)
        return 'done'
      },
    }
    const ceiling = { fs: { read: ['src/**'] } }
    const options = { ...declaring([other.root], { agents }), manifestRoots: [other.root], host, ceiling }
    const session = await openSession(fixture, options)
    for (const { name } of agents) await session.call('task', { subagent_type: name, prompt: 'x' })
    // The relative pattern of the ceiling is meant from the roots of its author, and not from the child's.
    expect(seen).toEqual(['output', 'output', 'error', 'output', 'output', 'error'])
    await noSession(
      declaring([], {
        agents: [
          { name: 'a', workspace: ['src'] },
          { name: 'b', workspace: [other.root] },
        ],
      }),
      fixture,
    ).toMatchObject({
      code: 'CONTRACT_MANIFEST_INVALID',
      details: { place: 'manifest.agents[1].workspace[0]' },
    })
  })

  test('R13 compileManifest takes them as a session does, also where there are no such directories', async () => {
    const manifest = { name: 'x', workspace: ['b'], requires: { fs: { read: ['{workspace}/src/**'] } } }
    const { workspace, requires } = await compileManifest(manifest, { workspace: ['/nowhere/a'], adHoc: [] })
    expect(workspace).toEqual(['/nowhere/a', '/nowhere/a/b'])
    expect(requires.fs?.read).toEqual(['/nowhere/a/src/**', '/nowhere/a/b/src/**'])
    const outside = { ...manifest, workspace: ['/elsewhere/c'] }
    await expect(compileManifest(outside, { workspace: ['/nowhere/a'], adHoc: [] })).rejects.toMatchObject({
      code: 'CONTRACT_MANIFEST_INVALID',
      details: { place: 'manifest.workspace[0]' },
    })
    const given = await compileManifest(outside, { workspace: ['/nowhere/a'], adHoc: [], manifestRoots: ['/elsewhere'] })
    expect(given.workspace).toEqual(['/nowhere/a', '/elsewhere/c'])
    expect(join(...given.workspace)).not.toBe('')
  })
})
