import { afterEach, describe, expect, test } from 'vitest'
import { createTools, type EnvironmentOption } from 'toolwright'
import { makeSandbox } from '../../support/sandbox.ts'

const changed: string[] = []
function setVariable(name: string, value: string): void {
  changed.push(name)
  process.env[name] = value
}
afterEach(() => {
  for (const name of changed.splice(0)) delete process.env[name]
})

async function seen(env?: EnvironmentOption, more: object = {}): Promise<Record<string, string>> {
  const { bash } = createTools({ rootDir: makeSandbox().root, env, ...more })
  const text = await bash.execute({ cmd: 'env', args: ['-0'] })
  return Object.fromEntries(
    text
      .split('\0')
      .filter((line) => line !== '')
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  )
}

describe('Environment: what a command is not told', () => {
  test.each([
    'OPENAI_API_KEY',
    'my_secret',
    'GITHUB_TOKEN',
    'DB_PASSWORD',
    'GPG_PASSPHRASE',
    'AWS_CREDENTIALS',
    'BASIC_AUTH',
    'AZURE_PAT',
    'SENTRY_DSN',
    'SESSION_COOKIE',
    'SSH_AUTH_SOCK',
    'LD_PRELOAD',
    'NODE_OPTIONS',
    'BASH_ENV',
    'PYTHONSTARTUP',
  ])('%s', async (name) => {
    // Not set in this process for good where the runtime reads it at the start of a child.
    setVariable(name, name === 'LD_PRELOAD' ? '' : 'value')
    expect(await seen()).not.toHaveProperty(name)
    expect(await seen({ allow: [name] })).toHaveProperty(name)
  })

  test('a value that holds a password in an address', async () => {
    setVariable('DATABASE', 'postgres://me:hidden@db.example/x')
    setVariable('HOMEPAGE', 'https://example.org/x')
    const variables = await seen()
    expect(variables).not.toHaveProperty('DATABASE')
    expect(variables).toHaveProperty('HOMEPAGE')
  })

  test('proxies while the network is blocked', async () => {
    setVariable('https_proxy', 'http://proxy.example:1')
    setVariable('HTTP_PROXY', 'http://proxy.example:1')
    expect(Object.keys(await seen()).filter((name) => /proxy/iu.test(name) && name !== 'no_proxy')).toEqual([])
    expect(await seen({}, { allowNetwork: true })).toHaveProperty('https_proxy')
  })
})

describe('what it is told', () => {
  test('PATH, HOME and its own directory', async () => {
    const variables = await seen()
    // Behind all others: the directory of the program apply_patch, where a command has one.
    const path = String(process.env['PATH'])
    expect([path, `${path}:/dev/toolwright`]).toContain(variables['PATH'])
    expect(variables['PWD']).toMatch(/^\//u)
  })

  test("env: 'inherit' passes all", async () => {
    setVariable('OPENAI_API_KEY', 'value')
    expect(await seen('inherit')).toHaveProperty('OPENAI_API_KEY', 'value')
  })

  test('allow takes names with *, set adds and replaces', async () => {
    setVariable('MY_APP_KEY', 'a')
    setVariable('OTHER_KEY', 'b')
    const variables = await seen({ allow: ['MY_*'], set: { HOME: '/nowhere', NEW_TOKEN: 'given' } })
    expect(variables).toMatchObject({ MY_APP_KEY: 'a', HOME: '/nowhere', NEW_TOKEN: 'given' })
    expect(variables).not.toHaveProperty('OTHER_KEY')
  })

  test('a variable that the program has set or deleted since it started is seen as it is now', async () => {
    setVariable('TOOLWRIGHT_TEST_VARIABLE', 'set later')
    expect(await seen()).toHaveProperty('TOOLWRIGHT_TEST_VARIABLE', 'set later')
    delete process.env['TOOLWRIGHT_TEST_VARIABLE']
    expect(await seen()).not.toHaveProperty('TOOLWRIGHT_TEST_VARIABLE')
  })
})

test.each([
  ['a string', 'all'],
  ['null', null],
  ['allow that is no list', { allow: 'PATH' }],
  ['a value that is no string', { set: { A: 1 } }],
  ['a name with =', { set: { 'A=B': 'x' } }],
  ['a NUL byte', { set: { A: 'x\0y' } }],
])('env as %s is refused at once', (_, env) => {
  expect(() => createTools({ env: env as never })).toThrow(/^env/u)
})
