import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { dataOf, failureOf, manifest, noRules, openScene, openSession, rule } from '../scene.ts'

describe('R63 the scratch directory', () => {
  test('R63 is private, and the agent is told where it is', async () => {
    const { session } = await openScene()
    expect(statSync(session.scratch).mode & 0o777).toBe(0o700)
    expect(session.scratchPrompt()).toContain(session.scratch)
  })

  test('R63 of two sessions, neither reaches that of the other, by tools or by processes', async () => {
    const fixture = await openScene()
    const other = await openSession(fixture)
    writeFileSync(join(other.scratch, 'secret.txt'), 'secret')
    const path = join(other.scratch, 'secret.txt')
    expect(failureOf(await fixture.call('read', { path })).code).toBe('capability_refused')
    expect(failureOf(await fixture.call('write', { path, content: 'x' })).code).toBe('capability_refused')
    const ended = dataOf(
      await fixture.call('bash', { command: `cat '${path}'; echo x > '${path}'; ls '${join(other.scratch, '..', '..')}'` }),
    )
    expect(ended.stdout).not.toContain('secret')
    expect(readFileSync(path, 'utf8')).toBe('secret')
  })

  test('R63 goes with the session, and what links in it lead to stays', async () => {
    const { session, outside } = await openScene()
    writeFileSync(join(outside, 'kept.txt'), 'kept')
    symlinkSync(outside, join(session.scratch, 'link'))
    await session.close()
    expect(existsSync(session.scratch)).toBe(false)
    expect(readFileSync(join(outside, 'kept.txt'), 'utf8')).toBe('kept')
  })
})

/** Opens sessions with this directory in place of the system's for what is temporary. */
async function withTemporary<T>(directory: string, work: () => Promise<T>): Promise<T> {
  const before = process.env['TMPDIR']
  process.env['TMPDIR'] = directory
  try {
    return await work()
  } finally {
    if (before === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = before
  }
}

describe('R63 the directory of all sessions', () => {
  const baseOf = (fixture: { at(path: string): string }) => fixture.at(`toolwright-sessions-${process.getuid?.() ?? 0}`)
  const make: [string, (fixture: Awaited<ReturnType<typeof openScene>>) => void, boolean][] = [
    ['is a link', (fixture) => symlinkSync(fixture.outside, baseOf(fixture)), true],
    ['is a file', (fixture) => writeFileSync(baseOf(fixture), 'x'), true],
    ['is open to others', (fixture) => (mkdirSync(baseOf(fixture)), chmodSync(baseOf(fixture), 0o777)), true],
    [
      'belongs to another user',
      (fixture) => (mkdirSync(baseOf(fixture), { mode: 0o700 }), chownSync(baseOf(fixture), 65_533, 65_533)),
      process.getuid?.() === 0,
    ],
  ]

  test.each(make.filter(([, , canBeMade]) => canBeMade))('R63 that %s is neither used nor cleaned', async (_what, spoil) => {
    const fixture = await openScene()
    // What a cleaner that trusts the name would take for the leavings of a dead process.
    const [namespace = ''] = basename(join(fixture.session.scratch, '..')).split('-')
    const dead = `${namespace}-3ffffc-0-x`
    mkdirSync(join(fixture.outside, dead))
    writeFileSync(join(fixture.outside, dead, 'kept'), 'kept')
    spoil(fixture)
    await withTemporary(fixture.root, async () => {
      const session = await openSession(fixture)
      expect(session.scratch.startsWith(`${baseOf(fixture)}/`)).toBe(false)
      expect(session.scratch.startsWith(fixture.outside)).toBe(false)
      expect(statSync(session.scratch).mode & 0o777).toBe(0o700)
      await session.close()
      expect(existsSync(session.scratch)).toBe(false)
    })
    expect(readFileSync(join(fixture.outside, dead, 'kept'), 'utf8')).toBe('kept')
    expect(lstatSync(baseOf(fixture)).isDirectory() ? readdirSync(baseOf(fixture)) : []).toEqual([])
  })

  test('R63 what a process that was killed has left is removed by a later session, and what a living one has is not', async () => {
    const fixture = await openScene()
    await withTemporary(fixture.root, async () => {
      const first = await openSession(fixture)
      const base = join(first.scratch, '..', '..')
      const [namespace = ''] = basename(join(first.scratch, '..')).split('-')
      const [dead, alive, foreign] = [`${namespace}-3ffffc-0-x`, `${namespace}-${process.ppid.toString(16)}-0-x`, `1-3ffffc-0-x`].map(
        (name) => join(base, name),
      ) as [string, string, string]
      for (const directory of [dead, alive, foreign]) mkdirSync(directory)
      symlinkSync(fixture.outside, join(dead, 'link'))
      writeFileSync(join(fixture.outside, 'kept'), 'kept')
      // On a thread of its own, behind the session; one that meets another one at work leaves it to that.
      const next = async (): Promise<boolean> => {
        await (await openSession(fixture)).close()
        return existsSync(dead)
      }
      await expect.poll(next, { timeout: 10_000 }).toBe(false)
      expect([dead, alive, foreign, first.scratch].map((path) => existsSync(path))).toEqual([false, true, true, true])
      expect(readFileSync(join(fixture.outside, 'kept'), 'utf8')).toBe('kept')
    })
  })
})

describe('R64 files in it', () => {
  test('R64 are read, written and edited without a rule and without a user', async () => {
    const { session, call } = await openScene({ ...noRules, headless: true })
    const path = join(session.scratch, 'notes/a.txt')
    expect(dataOf(await call('write', { path, content: 'one two' })).created).toBe(true)
    expect(dataOf(await call('edit', { path, old_string: 'one', new_string: 'three' })).replacements).toBe(1)
    expect(dataOf(await call('read', { path })).content).toBe('three two')
    // The checks of an edit are those of any other.
    expect(failureOf(await call('edit', { path, old_string: 'four', new_string: '' })).code).toBe('conflict')
  })

  test('R64 are there for the processes of its commands, which stay in the sandbox', async () => {
    const { session, call, outside } = await openScene()
    const command = `echo made > '${session.scratch}/made.txt'; mv '${session.scratch}/made.txt' '${session.scratch}/moved.txt'; echo x > '${outside}/x'`
    expect(dataOf(await call('bash', { command })).exit_code).not.toBe(0)
    expect(dataOf(await call('read', { path: join(session.scratch, 'moved.txt') })).content).toBe('made\n')
    expect(existsSync(join(outside, 'x'))).toBe(false)
  })

  test('R64 are closed by a deny of the manifest', async () => {
    const { session, call } = await openScene(manifest([rule('fs.write /** deny')]))
    expect(failureOf(await call('write', { path: join(session.scratch, 'a'), content: 'x' })).code).toBe('permission_denied')
  })

  test('R64 are kept by promotion alone: a copy that overwrites nothing, and follows no link', async () => {
    const { session, call, outside } = await openScene()
    await call('write', { path: join(session.scratch, 'report.md'), content: '# Report' })
    const kept = await session.promote('report.md', join(outside, 'new/report.md'))
    expect(readFileSync(kept, 'utf8')).toBe('# Report')
    await expect(session.promote('report.md', kept)).rejects.toThrow('[INVALID_INPUT]')
    writeFileSync(join(outside, 'secret'), 'secret')
    symlinkSync(join(outside, 'secret'), join(session.scratch, 'file'))
    symlinkSync(outside, join(session.scratch, 'directory'))
    for (const path of ['file', 'directory/secret', 'directory', '.', '..', '../..', '/etc/passwd', 'missing']) {
      await expect(session.promote(path, join(outside, 'stolen')), path).rejects.toThrow('[INVALID_INPUT]')
    }
    expect(existsSync(join(outside, 'stolen'))).toBe(false)
    await session.close()
    expect(readFileSync(kept, 'utf8')).toBe('# Report')
  })
})
