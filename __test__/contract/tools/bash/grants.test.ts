import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { refusal } from '../../../support/refusal.ts'
import { replacements } from '../../../support/replaced-directories.ts'
import { makeSandbox } from '../../../support/sandbox.ts'
import { allowAll, dataOf, failureOf, openSession } from '../../scene.ts'

const kinds = ['workspace', 'adHoc', 'userData', 'scratch'] as const
const cases = kinds.flatMap((kind) => Object.keys(replacements).map((replacement) => ({ kind, replacement })))

const requires = {
  fs: { read: ['{workspace}/**', '{ad-hoc}/**', '{user-data}/**'], write: ['{workspace}/**', '{ad-hoc}/**', '{user-data}/**'] },
  shell: [{ cmd: '*' }],
}

async function scene() {
  const fixture = makeSandbox()
  const beside = (name: string): string => join(dirname(fixture.root), name)
  for (const name of ['notes', 'data']) mkdirSync(beside(name))
  mkdirSync(join(fixture.outside, '.ssh'))
  writeFileSync(join(fixture.outside, 'secret'), 'SECRET')
  const manifest = { name: 'test', permissions: allowAll, requires }
  const session = await openSession(fixture, { adHoc: [beside('notes')], userData: beside('data'), manifest })
  const paths = { workspace: fixture.root, adHoc: beside('notes'), userData: beside('data'), scratch: session.scratch }
  return { fixture, session, paths }
}

describe.skipIf(process.platform !== 'linux')('a granted directory of a session', () => {
  test.each(cases)('$kind, replaced by $replacement, is refused by every tool', async ({ kind, replacement }) => {
    const { fixture, session, paths } = await scene()
    const path = paths[kind]
    const command = `cat '${path}/secret'; echo x > '${path}/planted'`
    dataOf(await session.call('bash', { command: 'true' }))
    renameSync(path, `${path}-moved`)
    replacements[replacement]?.(path, fixture)
    const calls = [
      ['bash', { command }],
      ['read', { path: join(path, 'secret') }],
      ['write', { path: join(path, 'planted'), content: 'x' }],
      ['edit', { path: join(path, 'secret'), old_string: 'S', new_string: 'x' }],
      ['glob', { pattern: '*', path }],
      ['grep', { pattern: 'SECRET', path }],
    ] as const
    for (const [tool, args] of calls) {
      const { code, text } = failureOf(await session.call(tool, args))
      expect(code, `${tool}: ${text}`).toBe('unavailable')
      expect(text).toContain('TOOL_ROOT_CHANGED')
    }
    expect(readFileSync(join(fixture.outside, 'secret'), 'utf8')).toBe('SECRET')
    expect(existsSync(join(fixture.outside, 'planted')) || existsSync(join(fixture.outside, '.ssh', 'planted'))).toBe(false)
    rmSync(path, { recursive: true, force: true })
    renameSync(`${path}-moved`, path)
    dataOf(await session.call('bash', { command: `echo x > '${path}/file'` }))
  })

  test('an ad-hoc directory in the workspace cannot be replaced by a command, and a link in its place opens no session', async () => {
    const fixture = makeSandbox()
    mkdirSync(fixture.at('notes'))
    const open = () => openSession(fixture, { adHoc: [fixture.at('notes')], manifest: { name: 'test', permissions: allowAll, requires } })
    const session = await open()
    expect(dataOf(await session.call('bash', { command: 'rm -rf notes; mv notes away' }))).not.toMatchObject({ exit_code: 0 })
    rmSync(fixture.at('notes'), { recursive: true, force: true })
    symlinkSync(fixture.outside, fixture.at('notes'))
    const error = await refusal(open())
    expect(error).toMatchObject({ code: 'INVALID_INPUT', details: { option: 'adHoc' } })
  })

  test('a directory that a pattern names is not followed by a link', async () => {
    const fixture = makeSandbox()
    writeFileSync(join(fixture.outside, 'secret'), 'SECRET')
    symlinkSync(fixture.outside, fixture.at('docs'))
    const ceiling = { fs: { read: ['docs/**'], write: ['docs/**'] }, shell: [{ cmd: '*' }] }
    const session = await openSession(fixture, { ceiling, manifest: { name: 'test', permissions: allowAll, requires } })
    const { stdout } = dataOf(
      await session.call('bash', { command: `cat '${fixture.outside}/secret' docs/secret; echo x > '${fixture.outside}/planted'` }),
    )
    expect(stdout).toBe('')
    expect(existsSync(join(fixture.outside, 'planted'))).toBe(false)
  })
})

describe.skipIf(process.platform !== 'linux')('workspaces that a user would have', () => {
  test.each(['/tmp', '/var/tmp', '/dev/shm'])('two roots and an ad-hoc directory beside each other in %s', async (base) => {
    const parent = mkdtempSync(join(base, 'toolwright-grants-'))
    try {
      const [a, b, c] = ['a', 'b', 'c'].map((name) => join(parent, name)) as [string, string, string]
      for (const path of [a, b, c]) mkdirSync(path)
      const manifest = { name: 'test', permissions: allowAll, requires }
      const session = await openSession(makeSandbox(), { workspace: [a, b], adHoc: [c], manifest })
      const command = `for d in '${a}' '${b}' '${c}'; do echo 1 > $d/f || exit 1; done`
      expect(dataOf(await session.call('bash', { command }))).toMatchObject({ exit_code: 0 })
    } finally {
      rmSync(parent, { recursive: true, force: true })
    }
  })

  test('below a TMPDIR that the session’s own directory lies in too', async () => {
    const temporary = mkdtempSync(join('/tmp', 'toolwright-grants-'))
    const before = process.env['TMPDIR']
    process.env['TMPDIR'] = temporary
    try {
      const workspace = join(temporary, 'deep', 'ws')
      mkdirSync(workspace, { recursive: true })
      const session = await openSession(makeSandbox(), { workspace })
      const command = `echo 1 > f && echo 2 > '${session.scratch}/f'`
      expect(dataOf(await session.call('bash', { command }))).toMatchObject({ exit_code: 0 })
    } finally {
      if (before === undefined) delete process.env['TMPDIR']
      else process.env['TMPDIR'] = before
      rmSync(temporary, { recursive: true, force: true })
    }
  })

  test('a link that names the workspace: absolute paths in its spelling', async () => {
    const fixture = makeSandbox()
    fixture.put('a.txt', 'text')
    const alias = join(dirname(fixture.root), 'alias')
    symlinkSync(fixture.root, alias)
    const session = await openSession(fixture, { workspace: alias })
    for (const path of ['a.txt', join(alias, 'a.txt'), fixture.at('a.txt')]) {
      expect(dataOf(await session.call('read', { path }))).toMatchObject({ content: 'text' })
    }
    dataOf(await session.call('write', { path: join(alias, 'b.txt'), content: 'b' }))
    expect(dataOf(await session.call('bash', { command: 'cat b.txt', workdir: alias }))).toMatchObject({ stdout: 'b' })
  })

  test('a ceiling of directories that do not exist yet leaves bash, and they are open once they are there', async () => {
    const fixture = makeSandbox()
    fixture.put('closed.txt', 'CLOSED')
    const ceiling = { fs: { read: ['docs/**', 'out/**'], write: ['out/**'] }, shell: [{ cmd: '*' }] }
    const session = await openSession(fixture, {
      ceiling,
      manifest: { name: 'test', permissions: allowAll, requires: { fs: { read: ['**'], write: ['**'] }, shell: [{ cmd: '*' }] } },
    })
    const bash = async (command: string) => dataOf(await session.call('bash', { command }))
    expect(await bash('echo works')).toMatchObject({ stdout: 'works\n', exit_code: 0 })
    const missed = await session.call('bash', { command: `cat '${fixture.at('docs/a')}'` })
    expect(JSON.stringify(missed)).toContain(`The capabilities open \`${fixture.at('docs')}\``)
    dataOf(await session.call('write', { path: 'out/a.txt', content: 'a' }))
    expect(await bash(`cd '${fixture.root}' && cat out/a.txt && echo b > out/b.txt && ls`)).toMatchObject({
      stdout: 'aout\n',
      exit_code: 0,
    })
    expect((await bash(`cat '${fixture.at('closed.txt')}'`)).exit_code).not.toBe(0)
    expect(fixture.text('out/b.txt')).toBe('b\n')
    fixture.put('docs/a', 'DOCS')
    expect(await bash(`cat '${fixture.at('docs/a')}'`)).toMatchObject({ stdout: 'DOCS' })
  })
})
