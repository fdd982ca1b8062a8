// `cd` to a directory of the workspace needs no rule; anywhere else it is a command like any other.
import { mkdirSync, symlinkSync } from 'node:fs'
import type { Rule, SessionOptions } from 'toolwright/contract'
import { describe, expect, test } from 'vitest'
import { dataOf, failureOf, manifest, openScene, rule } from '../scene.ts'

const pwd = [rule('bash pwd allow')]

async function openFixture(permissions: Rule[] = pwd, more: Partial<SessionOptions> = {}) {
  const scene = await openScene({ ...manifest(permissions), ...more })
  mkdirSync(scene.at('src/deep'), { recursive: true })
  mkdirSync(scene.at('my dir'))
  symlinkSync('/etc', scene.at('out'))
  symlinkSync('src', scene.at('in'))
  return scene
}

describe('cd within the workspace', () => {
  test.each([
    ['cd src && pwd', 'src'],
    ['cd src; pwd', 'src'],
    ['(cd src/deep && pwd)', 'src/deep'],
    ['cd ./src && pwd', 'src'],
    ['cd -- src && pwd', 'src'],
    ['cd -P src && pwd', 'src'],
    ["cd 'my dir' && pwd", 'my dir'],
    ['cd src && cd deep && pwd', 'src/deep'],
    ['cd src && cd .. && pwd', ''],
    ['cd src/deep && cd ../.. && pwd', ''],
    ['cd . && pwd', ''],
    ['cd src/../src 2>/dev/null; cd src && pwd', undefined],
  ])('%s', async (command, place) => {
    const { call, at } = await openFixture()
    const envelope = await call('bash', { command })
    if (place === undefined) expect(failureOf(envelope).code).toBe('permission_unattended')
    else expect(dataOf(envelope).stdout).toBe(`${place === '' ? at('.').replace(/\/$/u, '') : at(place)}\n`)
  })

  test('an absolute path of the workspace, and a workdir below it', async () => {
    const { call, at } = await openFixture()
    expect(dataOf(await call('bash', { command: `cd ${at('src')} && pwd` })).stdout).toBe(`${at('src')}\n`)
    expect(dataOf(await call('bash', { command: 'cd deep && pwd', workdir: 'src' })).stdout).toBe(`${at('src/deep')}\n`)
    expect(dataOf(await call('bash', { command: 'cd .. && pwd', workdir: 'src/deep' })).stdout).toBe(`${at('src')}\n`)
  })

  test('another root of the workspace', async () => {
    const { call, outside } = await openFixture(pwd)
    expect(failureOf(await call('bash', { command: `cd ${outside} && pwd` })).code).toBe('permission_unattended')
  })
})

describe('cd that is judged like any other command', () => {
  test.each([
    'cd /etc && pwd',
    'cd .. && pwd',
    'cd ../outside && pwd',
    'cd src && cd ../.. && pwd',
    'cd src && cd .. && cd .. && pwd',
    'false && cd src; cd .. && pwd',
    'cd src || cd .. && pwd',
    'cd src & cd .. && pwd',
    'cd src | cd .. && pwd',
    "cd src && cd .. && c'd' .. && pwd",
    'cd src && cd .. && c\\d .. && pwd',
    'up() { cd ..; }; cd src/deep; up; up; up; pwd',
    'while pwd; do cd ..; done',
    'cd && pwd',
    'cd - && pwd',
    'cd src && cd - && pwd',
    'cd ~ && pwd',
    'cd ~root && pwd',
    'cd "$DIR" && pwd',
    'cd $(pwd) && pwd',
    'cd out && pwd',
    'cd in && pwd',
    'cd in/deep && pwd',
    'cd src/../.. && pwd',
    'cd none && pwd',
    'cd src other && pwd',
    'cd -e src && pwd',
    'pushd src && pwd',
    'CDPATH=/etc; cd src && pwd',
    'CDPATH=/etc cd src && pwd',
    'export CDPATH=/etc && cd src && pwd',
    'cd src > out.log && pwd',
    'alias pwd=ls; cd src && pwd',
  ])('%s', async (command) => {
    const { call } = await openFixture()
    expect(failureOf(await call('bash', { command })).code).toBe('permission_unattended')
  })

  test('a workdir from which it leads out', async () => {
    const { call } = await openFixture()
    for (const command of [
      'while pwd; do cd ..; done',
      'cd .. && cd .. && cd .. && pwd',
      'cd ../../.. && pwd',
      "cd .. && c'd' .. && pwd",
    ]) {
      expect([command, failureOf(await call('bash', { command, workdir: 'src/deep' })).code]).toEqual([command, 'permission_unattended'])
    }
  })

  test('with a CDPATH of the host’s making only what begins with a dot or a slash', async () => {
    const { call, at } = await openFixture(pwd, { sandbox: { env: { set: { CDPATH: '/etc' } } } })
    expect(failureOf(await call('bash', { command: 'cd src && pwd' })).code).toBe('permission_unattended')
    expect(dataOf(await call('bash', { command: 'cd ./src && pwd' })).stdout).toBe(`${at('src')}\n`)
  })

  test('a rule about it counts, and the other commands need theirs', async () => {
    for (const text of ['bash cd* deny', 'bash cd* ask', 'bash * ask', '* * deny']) {
      const { call } = await openFixture([...pwd, rule(text)])
      expect([text, (await call('bash', { command: 'cd src && pwd' })).type]).toEqual([text, 'error'])
    }
    const { call } = await openFixture()
    expect(failureOf(await call('bash', { command: 'cd src && ls' })).text).toContain('shell.run of `ls`')
  })

  test('by itself it needs nobody either, also in a subagent, where every rule above counts', async () => {
    const seen: string[] = []
    const agents = [{ name: 'helper', permissions: [rule('bash pwd allow'), rule('bash ls allow')] }]
    const { call } = await openScene({
      manifest: { name: 'test', agents, permissions: [rule('bash pwd allow')] },
      host: {
        spawn: async ({ session }) => {
          for (const command of ['cd src', 'cd src && pwd', 'cd src && ls'])
            seen.push((await session.call('bash', { command })).metadata.code)
          return 'done'
        },
      },
    }).then((scene) => (mkdirSync(scene.at('src')), scene))
    expect((await call('bash', { command: 'cd src' })).type).toBe('output')
    await call('task', { subagent_type: 'helper', prompt: 'x' })
    expect(seen).toEqual(['ok', 'ok', 'permission_unattended'])
  })

  test('a user is asked for the rest alone, and a watchdog that asks is answered by rules of the user for the rest', async () => {
    const asked: unknown[] = []
    const { call } = await openFixture(pwd, {
      host: { prompt: ({ subjects }) => (asked.push(subjects.map(({ resource }) => resource)), 'allow_once') },
      watchdog: () => ({ action: 'ask' }),
    })
    expect((await call('bash', { command: 'cd src && pwd' })).type).toBe('output')
    expect(asked).toHaveLength(1)
    const agreed = await openFixture([], {
      permissions: { session: pwd },
      host: { prompt: () => 'reject_once' },
      watchdog: () => ({ action: 'ask' }),
    })
    expect((await agreed.call('bash', { command: 'cd src && pwd' })).type).toBe('output')
  })
})

describe('a refusal says what stands in the way', () => {
  test.each([
    ['pwd > out.log', 'because it redirects output to out.log: run it without'],
    ['pwd >> out.log', 'because it redirects output to out.log: run it without'],
    ['CI=1 pwd', 'because it sets the variable CI=1 for the command: run it without'],
    ['cd src && pwd > out.log', 'because it redirects output to out.log: run it without'],
  ])('%s', async (command, why) => {
    const { call } = await openFixture()
    expect(failureOf(await call('bash', { command })).text).toContain(`shell.run of \`pwd\` needs the agreement of a user, ${why}`)
    expect((await call('bash', { command: 'pwd' })).type).toBe('output')
  })

  test('also where a rule denies the rest; but not where it would make no difference', async () => {
    const { call } = await openFixture([...pwd, rule('bash * deny')])
    expect(failureOf(await call('bash', { command: 'pwd > out.log' })).text).toBe(
      'Permission denied: the manifest rule `bash *` denies shell.run of `pwd`, because it redirects output to out.log: run it without.',
    )
    expect(failureOf(await call('bash', { command: 'ls > out.log' })).text).not.toContain('because')
  })
})
