import { createSession, networkWatchdog, type SessionOptions } from 'toolwright/contract'
import { createThread, defineTool } from 'toolwright/standard-agents'
import { describe, expect, test } from 'vitest'
import { makeSandbox } from '../../support/sandbox.ts'

const manifest = { name: 'test' }
const good = { permission: 'read', pattern: '*', action: 'allow' } as const

/** How opening a session is refused. */
async function refusal(options: unknown): Promise<unknown> {
  const { root } = makeSandbox()
  const opened = createSession({ workspace: root, manifest, ...(options as Partial<SessionOptions>) })
  return opened.then(
    (session) => session.close(),
    (error: unknown) => error,
  )
}

describe('what is misspelt would leave open what it was to close, and is refused', () => {
  test.each<[string, unknown, RegExp]>([
    ['a list of rules', { permissions: { sesion: [good] } }, /^permissions\.sesion is no option; there are session, project\.$/u],
    ['rules that are no list', { permissions: 'readOnly' }, /^permissions must be an array of rules, or \{ session, project \}\.$/u],
    [
      'the action of a rule of the manifest',
      { manifest: { ...manifest, permissions: [{ permission: 'bash', pattern: '*', acton: 'deny' }] } },
      /^manifest\.permissions\[0\]\.acton is no option; there are .*action/u,
    ],
    [
      'the action of a rule of the project',
      { permissions: { project: [good, { ...good, Action: 'deny' }] } },
      /^permissions\.project\[1\]\.Action is no option/u,
    ],
    [
      'an option of the sandbox',
      { sandbox: { requird: true } },
      /^sandbox\.requird is no option; there are required, network, loopback, denyRead, denyWrite, git, env\.$/u,
    ],
    ['a value of the sandbox', { sandbox: { required: 'true' } }, /^sandbox\.required must be true or false\.$/u],
    ['a path of the sandbox', { sandbox: { denyRead: 'secrets' } }, /^sandbox\.denyRead must be an array of paths\.$/u],
    [
      'the arguments of a program',
      { manifest: { ...manifest, requires: { shell: [{ cmd: 'git', arg: ['status'] }] } } },
      /^manifest\.requires\.shell\[0\]\.arg is no option; there are cmd, args\.$/u,
    ],
    ['the same of a ceiling', { ceiling: { shell: [{ cmd: 'git', arguments: [] }] } }, /^ceiling\.shell\[0\]\.arguments is no option/u],
  ])('%s', async (_, options, summary) => {
    expect(await refusal(options)).toMatchObject({ code: 'INVALID_INPUT', summary: expect.stringMatching(summary) })
  })

  test.each<[string, (root: string) => unknown]>([
    ['workspace', (root) => ({ workspace: [root, `${root}/none`] })],
    ['adHoc', (root) => ({ adHoc: [`${root}/none`] })],
    ['userData', (root) => ({ userData: `${root}/none` })],
  ])('a directory that is not there is told with its option and its whole path: %s', async (option, given) => {
    const { root } = makeSandbox()
    const summary = `${option}: there is no directory ${root}/none.`
    expect(await refusal(given(root))).toMatchObject({ code: 'INVALID_INPUT', summary })
  })

  test('a rule of networkWatchdog: one that nobody knows would refuse nothing', () => {
    expect(() => networkWatchdog('token' as never)).toThrow(
      /^networkWatchdog takes one of tokens, commands, fragments\. \[INVALID_INPUT\]/u,
    )
    expect(() => networkWatchdog('off' as never)).toThrow(/INVALID_INPUT/u)
    for (const guard of ['tokens', 'commands', 'fragments', undefined] as const) expect(networkWatchdog(guard)).toBeTypeOf('function')
  })

  test('the tools that an agent of a thread is to have', async () => {
    const tool = defineTool({ description: 'A tool.', execute: async () => ({ status: 'success' }) })
    await using thread = await createThread({ tools: { one: tool, two: tool } })
    expect(() => thread.tools({ onyl: ['one'] } as never)).toThrow(/^onyl is no option; there are .*only/u)
    expect(Object.keys(thread.tools({ only: ['one'] }))).toEqual(['one'])
    expect(Object.keys(thread.tools())).toEqual(['one', 'two'])
  })
})
