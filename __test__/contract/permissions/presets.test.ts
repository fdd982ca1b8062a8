import { allWatchdogs, presets, type Rule, type SessionOptions } from 'toolwright/contract'
import { describe, expect, test } from 'vitest'
import { failureOf, openScene, rule } from '../scene.ts'

const bare = { name: 'test' }
const open = (permissions: SessionOptions['permissions'], more: Partial<SessionOptions> = {}) =>
  openScene({ manifest: bare, permissions, ...more })
const edit = { path: 'a.txt', old_string: 'a', new_string: 'b' }

describe('presets', () => {
  test.each<[keyof typeof presets, Record<string, string>]>([
    [
      'readOnly',
      { read: 'ok', glob: 'ok', grep: 'ok', write: 'permission_unattended', edit: 'permission_unattended', bash: 'permission_unattended' },
    ],
    ['acceptEdits', { read: 'ok', glob: 'ok', grep: 'ok', write: 'ok', edit: 'ok', bash: 'permission_unattended' }],
    ['allowAll', { read: 'ok', glob: 'ok', grep: 'ok', write: 'ok', edit: 'ok', bash: 'ok' }],
  ])('%s', async (name, expected) => {
    const { call, put } = await open(presets[name])
    put('a.txt', 'a')
    const args: Record<string, object> = {
      read: { path: 'a.txt' },
      glob: { pattern: '*' },
      grep: { pattern: 'a' },
      edit,
      write: { path: 'b.txt', content: 'b' },
      bash: { command: 'echo a > c.txt' },
    }
    for (const [id, code] of Object.entries(expected)) expect([id, (await call(id, args[id])).metadata.code]).toEqual([id, code])
  })

  test('what a preset does not allow is asked for', async () => {
    const asked: string[] = []
    const { call } = await open(presets.readOnly, { host: { prompt: ({ tool }) => (asked.push(tool), 'allow_once') } })
    expect((await call('write', { path: 'b.txt', content: 'b' })).type).toBe('output')
    expect((await call('read', { path: 'b.txt' })).type).toBe('output')
    expect(asked).toEqual(['write'])
  })

  test.each(['readOnly', 'acceptEdits', 'allowAll'] as const)('rules of the host win over %s, wherever they stand', async (name) => {
    const own: Rule[] = [rule('fs.read secret/** deny'), rule('bash echo* allow'), rule('fs.write **/*.lock deny')]
    for (const permissions of [
      [...presets[name], ...own],
      [...own, ...presets[name]],
    ]) {
      const { call, put } = await open(permissions)
      put('secret/a', 'a')
      expect(failureOf(await call('read', { path: 'secret/a' })).code).toBe('permission_denied')
      expect(failureOf(await call('write', { path: 'yarn.lock', content: '' })).code).toBe('permission_denied')
      expect((await call('bash', { command: 'echo a' })).type).toBe('output')
    }
  })

  test('a preset allows nothing that the manifest denies', async () => {
    for (const denied of ['fs.write ** deny', '* * deny', 'write ** deny']) {
      const { call, put, text } = await openScene({
        manifest: { name: 'test', permissions: [rule(denied)] },
        permissions: presets.allowAll,
      })
      put('a.txt', 'a')
      expect(failureOf(await call('write', { path: 'a.txt', content: 'b' })).code).toBe('permission_denied')
      expect(text('a.txt')).toBe('a')
    }
  })

  test('a preset widens no capability', async () => {
    const { call } = await open(presets.allowAll, { ceiling: { fs: { read: ['{workspace}/src/**'] } } })
    expect(failureOf(await call('read', { path: 'a.txt' })).code).toBe('capability_refused')
    expect(failureOf(await call('read', { path: '/etc/hostname' })).code).toBe('capability_refused')
  })

  test('a list is the project’s, and both scopes can be given by name', async () => {
    const { call } = await open({ project: presets.acceptEdits, session: [rule('write ** deny')] })
    expect(failureOf(await call('write', { path: 'a.txt', content: 'b' })).text).toContain('the session rule')
    const listed = await open([...presets.acceptEdits, rule('write b* deny')])
    expect(failureOf(await listed.call('write', { path: 'b', content: 'b' })).text).toContain('the project rule')
  })

  test('nobody can change them, and a watchdog’s deny holds', async () => {
    expect(() => (presets.readOnly as Rule[]).push(rule('* * allow'))).toThrow()
    expect(Object.isFrozen(presets) && Object.isFrozen(presets.readOnly[0])).toBe(true)
    const { call } = await open(presets.allowAll, { watchdog: allWatchdogs(() => ({ action: 'deny', reason: 'no' })) })
    expect(failureOf(await call('read', { path: 'a' })).code).toBe('watchdog_denied')
  })

  test('a subagent without rules of its own has them too', async () => {
    const { call, put } = await open(presets.acceptEdits, {
      manifest: { name: 'test', agents: [{ name: 'helper' }] },
      host: {
        spawn: async ({ session }) =>
          `${(await session.call('write', { path: 'child.txt', content: 'c' })).type} ${(await session.call('bash', { command: 'true' })).type}`,
      },
    })
    put('a.txt', 'a')
    expect(await call('task', { subagent_type: 'helper', prompt: 'x' })).toMatchObject({ data: { output: 'output error' } })
  })

  test('what are neither is refused by name', async () => {
    await expect(open('readOnly' as never)).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: expect.stringContaining('permissions must be an array of rules, or { session, project }'),
    })
    await expect(open({ user: [] } as never)).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: expect.stringContaining('permissions.user is no option'),
    })
  })
})
