import { symlinkSync } from 'node:fs'
import { createSession, type SessionOptions } from 'toolwright/contract'
import { describe, expect, test } from 'vitest'
import { makeSandbox } from '../../support/sandbox.ts'
import { openScene } from '../scene.ts'

/** Options and arguments of `toolwright` that a session does not have. */
const foreign = /maxOutputBytes|toolTimeoutMs|timeoutMs|rootDir|allowInPlace|allowNetwork|opts\.|`cmd`|\bpatch\b/u

const failing: [string, string, Record<string, unknown>, string][] = [
  ['a text that is too long', 'write', { path: 'new', content: 'x'.repeat(101) }, 'too_large'],
  ['a file that is too long', 'edit', { path: 'long', old_string: 'x', new_string: 'y' }, 'too_large'],
  ['a result that is too long', 'edit', { path: 'short', old_string: 'a', new_string: 'x'.repeat(100) }, 'too_large'],
  ['a text that is not there', 'edit', { path: 'short', old_string: 'z', new_string: 'y' }, 'conflict'],
  ['a text that is there twice', 'edit', { path: 'short', old_string: 'b', new_string: 'y' }, 'ambiguous'],
  ['a file to edit that is not there', 'edit', { path: 'none', old_string: 'z', new_string: 'y' }, 'not_found'],
  ['a file that is not there', 'read', { path: 'none' }, 'not_found'],
  ['a directory', 'read', { path: 'folder' }, 'not_a_file'],
  ['a file as a directory', 'read', { path: 'short/x' }, 'not_a_directory'],
  ['a binary file', 'read', { path: 'binary' }, 'binary_file'],
  ['a path outside', 'read', { path: '../x' }, 'capability_refused'],
  ['a link that leads outside', 'read', { path: 'out' }, 'capability_refused'],
  ['a protected path', 'write', { path: '.git/config', content: '' }, 'sandbox_refused'],
  ['a pattern that is none', 'grep', { pattern: '(' }, 'invalid_pattern'],
  ['a directory to search that is not there', 'grep', { pattern: 'a', path: 'none' }, 'not_found'],
  ['a glob that is none', 'glob', { pattern: '[' }, 'invalid_pattern'],
  ['a working directory that is not there', 'bash', { command: 'true', workdir: 'none' }, 'not_found'],
  ['a working directory that is a file', 'bash', { command: 'true', workdir: 'short' }, 'not_a_directory'],
]

describe('what went wrong is told in the words of a session: what a model is advised to do, it can do', () => {
  test.each(failing)('%s', async (_, id, args, code) => {
    const { call, put, at } = await openScene({ limits: { textBytes: 100 } })
    put('long', 'x'.repeat(101))
    put('short', 'abb\n')
    put('binary', 'x\0y')
    put('folder/file', '')
    symlinkSync('/etc/hostname', at('out'))
    const envelope = await call(id, args)
    expect(envelope).toMatchObject({ type: 'error', metadata: { code } })
    expect(envelope).toMatchObject({ error_text: expect.not.stringMatching(foreign) })
  })

  test('what is too long for edit can be read and searched, and the host knows the limit by its name', async () => {
    const { call, put } = await openScene({ limits: { textBytes: 100 } })
    put('long', 'x'.repeat(101))
    const refused = await call('edit', { path: 'long', old_string: 'x', new_string: 'y' })
    expect(refused).toMatchObject({
      error_text: expect.stringMatching(
        /^File too large \(101 bytes\): `long`, limit 100 bytes \[TOOL_FILE_TOO_LARGE\] Read it in parts .*limits\.textBytes\.$/u,
      ),
    })
    expect(await call('read', { path: 'long', offset: 0, limit: 50 })).toMatchObject({ type: 'output', data: { next_offset: 50 } })
  })

  // A command is refused by the kernel, and prints it in words of its own.
  test.skipIf(process.platform !== 'linux').each<[string, string, RegExp]>([
    ['a host', `node -e "require('node:dns').lookup('example.org', (e) => { console.error(e.code); process.exit(1) })"`, /net\.hosts/u],
    ['a file outside', 'echo x > /etc/toolwright-test', /fs\.write/u],
    ['a place that acts when a project is opened', 'echo x > .vscode/tasks.json', /sandbox\.denyWrite/u],
    ['such a place that is moved', 'mv .vscode old', /`\.vscode` is protected; .*sandbox\.denyWrite/u],
  ])('what a command was refused: %s', async (_, command, remedy) => {
    const { call, put } = await openScene()
    put('.vscode/settings.json', '{}')
    const answer = JSON.stringify(await call('bash', { command }))
    expect(answer).toMatch(/may be the sandbox/u)
    expect(answer).toMatch(remedy)
    expect(answer).not.toMatch(/allowNetwork|writableRoots|sandbox\.readable|sandbox\.limits/u)
  })
})

const good = { permission: 'read', pattern: '*', action: 'allow' } as const
const broken = { permission: 'read', pattern: '[', action: 'deny' } as const

describe('a rule that cannot be used is called by the list that it stands in', () => {
  test.each<[string, unknown]>([
    ['manifest.permissions[1]', { manifest: { name: 'test', permissions: [good, broken] }, permissions: { session: [good] } }],
    ['permissions.session[0]', { manifest: { name: 'test', permissions: [good] }, permissions: { session: [broken], project: [good] } }],
    [
      'permissions.project[1]',
      { manifest: { name: 'test', permissions: [good] }, permissions: { session: [good], project: [good, broken] } },
    ],
  ])('%s', async (place, options) => {
    const opening = createSession({ workspace: makeSandbox().root, ...(options as Pick<SessionOptions, 'manifest'>) })
    await expect(opening).rejects.toMatchObject({
      code: 'CONTRACT_RULE_INVALID',
      message: expect.stringContaining(`${place}: pattern: `),
      details: { source: place, place: 'pattern', problem: expect.any(String) },
    })
  })
})
