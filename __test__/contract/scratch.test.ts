import { existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { dataOf, failureOf, manifest, noRules, openScene, openSession, rule } from './scene.ts'

describe('R63 the scratch directory', () => {
  test('R63 is private, and the agent is told where it is', async () => {
    const { session } = await openScene()
    expect(statSync(session.scratch).mode & 0o777).toBe(0o700)
    expect(session.scratchPrompt()).toContain(session.scratch)
  })

  test('R63 of two sessions, neither reaches that of the other, by tools or by processes', async () => {
    const box = await openScene()
    const other = await openSession(box)
    writeFileSync(join(other.scratch, 'secret.txt'), 'secret')
    const path = join(other.scratch, 'secret.txt')
    expect(failureOf(await box.call('read', { path })).code).toBe('capability_refused')
    expect(failureOf(await box.call('write', { path, content: 'x' })).code).toBe('capability_refused')
    const ended = dataOf(await box.call('bash', { command: `cat '${path}'; echo x > '${path}'; ls '${join(other.scratch, '..', '..')}'` }))
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
