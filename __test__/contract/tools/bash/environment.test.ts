import { createSession, type SessionOptions } from 'toolwright/contract'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { makeSandbox } from '../../../support/sandbox.ts'
import { dataOf, openScene } from '../../scene.ts'

const shown = async (
  env: NonNullable<SessionOptions['sandbox']>['env'],
  names: string[],
  more: Partial<SessionOptions> = {},
): Promise<string[]> => {
  const { call } = await openScene({ sandbox: { env }, ...more })
  const command = `printf '%s\\n' ${names.map((name) => `"\${${name}-none}"`).join(' ')}`
  return dataOf<{ stdout: string }>(await call('bash', { command }))
    .stdout.split('\n')
    .slice(0, -1)
}

beforeEach(() => {
  vi.stubEnv('TW_PLAIN', 'plain')
  vi.stubEnv('TW_API_KEY', 'secret')
  vi.stubEnv('TW_OTHER_TOKEN', 'token')
})
afterEach(() => void vi.unstubAllEnvs())

const names = ['TW_PLAIN', 'TW_API_KEY', 'TW_OTHER_TOKEN', 'TW_SET']

describe('sandbox.env', () => {
  test.each<[string, NonNullable<SessionOptions['sandbox']>['env'], string[]]>([
    ['nothing: no secrets', undefined, ['plain', 'none', 'none', 'none']],
    ['an empty one is the same', {}, ['plain', 'none', 'none', 'none']],
    ['allow', { allow: ['TW_API_KEY'] }, ['plain', 'secret', 'none', 'none']],
    ['allow by a pattern', { allow: ['TW_*'] }, ['plain', 'secret', 'token', 'none']],
    ['set, whatever the name', { set: { TW_SET: '1', TW_API_KEY: 'other' } }, ['plain', 'other', 'none', '1']],
    ['inherit', 'inherit', ['plain', 'secret', 'token', 'none']],
  ])('%s', async (_, env, expected) => {
    expect(await shown(env, names)).toEqual(expected)
  })

  test('subagents have the same', async () => {
    let seen = ''
    const { call } = await openScene({
      sandbox: { env: { set: { TW_SET: '1' } } },
      manifest: { name: 'test', agents: [{ name: 'helper' }], permissions: [{ permission: '*', pattern: '*', action: 'allow' }] },
      host: {
        spawn: async ({ session }) => {
          seen = dataOf<{ stdout: string }>(await session.call('bash', { command: 'echo $TW_SET' })).stdout
          return 'done'
        },
      },
    })
    expect((await call('task', { subagent_type: 'helper', prompt: 'x' })).type).toBe('output')
    expect(seen).toBe('1\n')
  })

  test('what the host does to its options later changes nothing', async () => {
    const set: Record<string, string> = { TW_SET: '1' }
    const { call } = await openScene({ sandbox: { env: { set } } })
    set['TW_SET'] = '2'
    expect(dataOf(await call('bash', { command: 'echo $TW_SET' })).stdout).toBe('1\n')
  })

  test.each<[unknown, RegExp]>([
    ['all', /sandbox\.env must be 'inherit' or \{ allow, set \}/u],
    [{ alow: [] }, /sandbox\.env\.alow is no option; there are allow, set/u],
    [{ allow: 'A' }, /sandbox\.env\.allow must be an array of names/u],
    [{ set: { A: 1 } }, /sandbox\.env\.set\.A must be a string/u],
    [{ set: { 'A=B': '1' } }, /sandbox\.env\.set: "A=B" cannot be a variable/u],
  ])('%j is refused', async (env, message) => {
    const opening = createSession({ workspace: makeSandbox().root, manifest: { name: 'x' }, sandbox: { env: env as never } })
    await expect(opening).rejects.toMatchObject({ code: 'INVALID_INPUT', message: expect.stringMatching(message) })
  })
})
