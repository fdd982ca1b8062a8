import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { compileManifest, createSession, type RequirementSet } from 'toolwright/contract'
import { describe, expect, onTestFinished, test } from 'vitest'
import { runs } from '../../support/randomised.ts'
import { makeSandbox } from '../../support/sandbox.ts'
import { allowAll, dataOf, failureOf, openScene, openSession, testTool } from '../scene.ts'

const requiring = (requires: RequirementSet) => ({ manifest: { name: 'test', permissions: allowAll, requires } })
const at = { parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] } }

/** A tool that reads what it is told to, and requires no more than it says. */
const reader = (read: string[]) =>
  testTool('look', async ({ path }: { path: string }, { fs }) => (await fs.read(path)).content, { ...at, requires: { fs: { read } } })

describe('the requirement set', () => {
  test('R10 R16 a tool extends what is declared, without an edit of the manifest', async () => {
    const fixture = makeSandbox()
    writeFileSync(join(fixture.outside, 'a.txt'), 'outside')
    const path = join(fixture.outside, 'a.txt')
    const without = await openSession(fixture)
    expect(failureOf(await without.call('read', { path })).code).toBe('capability_refused')
    const session = await openSession(fixture, { tools: [reader([`${fixture.outside}/**`])] })
    expect(session.requirements.declared.fs?.read).toContain(`${fixture.outside}/**`)
    expect(dataOf(await session.call('look', { path }))).toBe('outside')
  })

  test('R10 R16 a ceiling narrower than what is declared refuses', async () => {
    const { call, put, session } = await openScene({ ceiling: { fs: { read: ['{workspace}/open/**'] }, shell: [{ cmd: 'ls' }] } })
    put('open/a.txt', 'a')
    put('closed/b.txt', 'b')
    expect(dataOf(await call('read', { path: 'open/a.txt' }))).toEqual({ content: 'a' })
    expect(failureOf(await call('read', { path: 'closed/b.txt' })).code).toBe('capability_refused')
    expect(failureOf(await call('write', { path: 'open/a.txt', content: 'x' })).code).toBe('capability_refused')
    expect(failureOf(await call('bash', { command: 'pwd' })).code).toBe('capability_refused')
    expect(session.requirements.effective).toHaveLength(2)
    expect(session.requirements.ceiling).toEqual({ fs: { read: ['{workspace}/open/**'] }, shell: [{ cmd: 'ls' }] })
  })

  test('R8 a named capability is refused where the ceiling lacks it', async () => {
    const tools = [testTool('shoots', () => 'flash', { requires: { capabilities: ['camera'] } })]
    const open = await openScene({ tools })
    expect(dataOf(await open.call('shoots', {}))).toBe('flash')
    const closed = await openScene({ tools, ceiling: { capabilities: ['microphone'] } })
    expect(failureOf(await closed.call('shoots', {})).code).toBe('capability_refused')
  })

  test('R11 R12 R16 with no open workspace every call that depends on it fails closed', async () => {
    const session = await createSession({ workspace: [], manifest: { name: 'test', permissions: allowAll } })
    for (const [id, args] of [
      ['read', { path: '/etc/hostname' }],
      ['write', { path: '/tmp/x', content: '' }],
      ['glob', { pattern: '*' }],
    ] as const) {
      expect(failureOf(await session.call(id, args)).code, id).toBe('capability_refused')
    }
    expect((await session.call('todo', { todos: [] })).type).toBe('output')
    await session.close()
  })

  test('R12 R16 an unknown variable throws when the manifest is compiled, with its place, not at the call', async () => {
    const requires = { fs: { read: ['{worksapce}/**'] } }
    const failure = { code: 'CONTRACT_MANIFEST_INVALID', message: expect.stringContaining('worksapce') }
    await expect(compileManifest({ name: 'x', requires }, { workspace: [], adHoc: [] })).rejects.toMatchObject(failure)
    await expect(openScene(requiring(requires))).rejects.toMatchObject(failure)
    await expect(openScene({ ceiling: requires })).rejects.toMatchObject(failure)
    await expect(openScene({ tools: [testTool('look', () => 1, { requires })] })).rejects.toMatchObject(failure)
  })

  test('R11 R13 two roots are both reached; ad-hoc directories and the data of the user by their variables', async () => {
    const [one, two, three, four] = [makeSandbox(), makeSandbox(), makeSandbox(), makeSandbox()]
    for (const fixture of [one, two, three, four]) fixture.put('a.txt', fixture.root)
    const session = await openSession(one, {
      workspace: [one.root, two.root],
      adHoc: [three.root],
      userData: four.root,
      ...requiring({ fs: { read: ['{user-data}/**'] } }),
    })
    for (const fixture of [one, two, three, four]) {
      expect(dataOf(await session.call('read', { path: fixture.at('a.txt') }))).toEqual({ content: fixture.root })
    }
    expect(dataOf(await session.call('read', { path: 'a.txt' }))).toEqual({ content: one.root })
    expect(failureOf(await session.call('write', { path: four.at('b.txt'), content: 'x' })).code).toBe('capability_refused')
  })

  test('R13 R11 compileManifest tells what the variables became', async () => {
    const { requires } = await compileManifest(
      { name: 'x', requires: { fs: { read: ['{workspace}/src/**'] } } },
      { workspace: ['/a', '/b'], adHoc: [] },
    )
    expect(requires.fs?.read).toEqual(['/a/src/**', '/b/src/**'])
  })

  test.each<[string, object]>([
    ['a misspelt field', { fs: { reads: [] } }],
    ['a text for a list', { fs: { read: '**' } }],
    ['an unknown group', { files: {} }],
  ])('R8 what is no requirement set is refused: %s', async (_what, requires) => {
    await expect(openScene(requiring(requires as RequirementSet))).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  })
})

describe('paths', () => {
  test('R14 R16 `..`, absolute paths and links do not lead out; refusals name the path as it was given', async () => {
    const { call, root, outside } = await openScene()
    writeFileSync(join(outside, 'secret.txt'), 'secret')
    symlinkSync(join(outside, 'secret.txt'), join(root, 'link.txt'))
    symlinkSync(outside, join(root, 'door'))
    mkdirSync(join(root, 'a'))
    for (const path of [
      '../outside/secret.txt',
      join(outside, 'secret.txt'),
      'link.txt',
      'door/secret.txt',
      'a/../../outside/secret.txt',
    ]) {
      for (const [id, args] of [
        ['read', { path }],
        ['edit', { path, old_string: 'secret', new_string: 'x' }],
        ['write', { path, content: 'x' }],
      ] as const) {
        const failed = failureOf(await call(id, args))
        expect(failed.code, `${id} ${path}`).toBe('capability_refused')
        expect(failed.text).toContain(path)
        if (!path.startsWith('/')) expect(failed.text).not.toContain(realpathSync(outside))
      }
    }
  })

  test('R14 a link that stays inside is its target, for the rules too', async () => {
    const { call, root, put } = await openScene({
      manifest: {
        name: 'x',
        permissions: [
          { permission: 'read', pattern: 'open/**', action: 'allow' },
          { permission: 'read', pattern: 'closed/**', action: 'deny' },
        ],
      },
    })
    put('closed/a.txt', 'a')
    mkdirSync(join(root, 'open'))
    symlinkSync('../closed/a.txt', join(root, 'open', 'link.txt'))
    expect(failureOf(await call('read', { path: 'open/link.txt' })).code).toBe('permission_denied')
  })

  test('R14 what is outside is refused alike, whether it exists or not', async () => {
    const { call, outside } = await openScene()
    writeFileSync(join(outside, 'there.txt'), 'x')
    const refusalOf = async (name: string) => failureOf(await call('read', { path: `../outside/${name}` })).text.replace(name, 'NAME')
    expect(await refusalOf('there.txt')).toBe(await refusalOf('none.txt'))
  })
})

describe('an attacker', () => {
  test('R14 who swaps a directory for a link to outside gains nothing', async () => {
    const { call, root, outside, put } = await openScene()
    put('door/a.txt', 'inside')
    writeFileSync(join(outside, 'a.txt'), 'secret')
    const script = `
      const { renameSync, symlinkSync } = require('node:fs')
      const [root, outside] = process.argv.slice(1)
      symlinkSync(outside, root + '/link')
      for (;;) {
        renameSync(root + '/door', root + '/kept'); renameSync(root + '/link', root + '/door')
        renameSync(root + '/door', root + '/link'); renameSync(root + '/kept', root + '/door')
      }
    `
    const attacker = spawn(process.execPath, ['-e', script, root, outside], { stdio: 'ignore' })
    onTestFinished(() => void attacker.kill('SIGKILL'))
    const seen = new Map<string, number>()
    for (let round = 0; round < runs(200); round += 1) {
      const reads = Array.from({ length: 8 }, () => call('read', { path: 'door/a.txt' }))
      const writes = [
        call('write', { path: 'door/b.txt', content: 'x' }),
        call('edit', { path: 'door/a.txt', old_string: 'secret', new_string: 'gone' }),
      ]
      for (const envelope of await Promise.all([...reads, ...writes])) {
        expect(JSON.stringify(envelope)).not.toContain('"secret"')
        seen.set(envelope.metadata.code, (seen.get(envelope.metadata.code) ?? 0) + 1)
      }
    }
    expect(readdirSync(outside)).toEqual(['a.txt'])
    expect(readFileSync(join(outside, 'a.txt'), 'utf8')).toBe('secret')
    expect(seen.get('ok')).toBeGreaterThan(0)
  })
})

describe('commands', () => {
  test('R9 R29 every simple command is checked against the programs and their arguments', async () => {
    const shell = [
      { cmd: 'git', args: ['status'] },
      { cmd: 'echo' },
      { cmd: 'ls', args: [{ prefix: '-' }, { wildcard: true as const }] },
      { cmd: 'pwd', args: [] },
    ]
    const { call } = await openScene({ ceiling: { fs: { read: ['{workspace}/**'] }, shell } })
    const code = async (command: string) => (await call('bash', { command })).metadata.code
    for (const command of ['echo a b', 'pwd', 'echo a; pwd', 'ls -a .']) expect(await code(command), command).toBe('ok')
    for (const command of [
      'git push',
      'git status -s',
      'pwd -P',
      'ls .',
      'ls -a . .',
      'echo a; rm x',
      'echo $(id)',
      'echo a | tee x',
      'cat a',
    ]) {
      expect(await code(command), command).toBe('capability_refused')
    }
  })
})
