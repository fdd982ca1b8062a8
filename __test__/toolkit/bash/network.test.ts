import { execFileSync } from 'node:child_process'
import { bashTool } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { expectReadable, refusal } from '../../support/refusal.ts'
import { makeSandbox } from '../../support/sandbox.ts'

type Command = [cmd: string, ...args: string[]]

const blocked: [string, Command[]][] = [
  ['HTTP clients: executable basename curl or wget', [['curl', 'x'], ['wget', 'x'], ['/usr/bin/curl'], ['./wget']]],
  [
    'URL tokens: any token starting with http:// or https://',
    [
      ['echo', 'http://example.com'],
      ['echo', 'https://example.com/a?b'],
      ['sh', '-c', 'echo https://example.com'],
      ['node', '-e', 'fetch( http://example.com )'],
      ['echo', 'HTTPS://EXAMPLE.COM'],
    ],
  ],
  [
    'Package managers: executable basename npm, bun, or pip',
    [['npm', 'test'], ['bun', 'x'], ['pip', 'install', 'x'], ['/opt/bin/npm'], ['sh', '-c', 'npm install'], ['echo', 'run npm install']],
  ],
]

const gitBlocked: Command[] = [
  ['git', 'push'],
  ['git', 'pull', '--rebase'],
  ['git', 'fetch', 'origin'],
  ['git', 'clone', 'x'],
  ['git', 'remote', '-v'],
  ['git', '-C', 'sub', 'push'],
  ['sh', '-c', 'git fetch origin'],
  ['/usr/bin/git', 'push'],
  ['git', 'commit', '-m', 'fetch x'],
]

const allowed: Command[] = [
  ['echo', 'curly', 'wgets', 'pipe', 'bundle', 'npmrc'],
  ['echo', 'xhttps://example.com', 'http:/x', 'ftp://example.com'],
  ['echo', 'push', 'pull', 'fetch', 'clone', 'remote'],
  ['sh', '-c', 'echo a-npm-b; echo digit fetched'],
]

describe('001 Network Blocking: "Default: blocked." "Smithers tokenizes cmd plus args."', () => {
  test.each(blocked)('%s', async (_row, commands) => {
    const fixture = makeSandbox()
    for (const [cmd, ...args] of commands) {
      const error = await refusal(fixture.within(() => bashTool(cmd, args)))
      expect(error.code, [cmd, ...args].join(' ')).toBe('TOOL_NETWORK_DISABLED')
      expectReadable(error)
      expect(error.message).toContain('allowNetwork')
    }
  })

  test('Git remote ops: "git plus a push, pull, fetch, clone, or remote token" throws TOOL_GIT_REMOTE_DISABLED', async () => {
    const fixture = makeSandbox()
    for (const [cmd, ...args] of gitBlocked) {
      const error = await refusal(fixture.within(() => bashTool(cmd, args)))
      expect(error.code, [cmd, ...args].join(' ')).toBe('TOOL_GIT_REMOTE_DISABLED')
      expectReadable(error)
      expect(error.message).toContain('allowNetwork')
    }
  })

  test('"names the matched token"', async () => {
    const fixture = makeSandbox()
    const error = await refusal(fixture.within(() => bashTool('sh', ['-c', 'x && /usr/bin/wget y'])))
    expect(error.message).toContain('/usr/bin/wget')
  })

  test('"Local git commands (git status, git diff, git log) are allowed."', async () => {
    const fixture = makeSandbox()
    const git = (...args: string[]) => fixture.within(() => bashTool('git', args))
    // As a user does: `.git/config` and `.git/hooks` are not for commands to write.
    execFileSync('git', ['init', '-q', fixture.root])
    const author = ['-c', 'user.name=a', '-c', 'user.email=a@localhost']
    await git(...author, 'commit', '-q', '--allow-empty', '-m', 'first')
    fixture.put('a', 'x\n')
    expect(await git('status', '--short')).toBe('?? a\n')
    expect(await git('diff')).toBe('')
    expect(await git('log', '--format=%s')).toBe('first\n')
  })

  test('other commands run, whatever words they hold', async () => {
    const fixture = makeSandbox()
    for (const [cmd, ...args] of allowed) {
      await expect(
        fixture.within(() => bashTool(cmd, args)),
        args.join(' '),
      ).resolves.toBeTypeOf('string')
    }
  })

  test('000: "Network is blocked unless allowNetwork is enabled"', async () => {
    const fixture = makeSandbox()
    const open = (cmd: string, args: string[]) => fixture.within(() => bashTool(cmd, args), { allowNetwork: true })
    expect(await open('echo', ['https://example.com', 'curl', 'npm'])).toBe('https://example.com curl npm\n')
    expect(await open('echo', ['git', 'push'])).toBe('git push\n')
  })

  test('the refusal comes before anything is done: not even the working directory is looked at', async () => {
    const fixture = makeSandbox()
    const error = await refusal(fixture.within(() => bashTool('curl', ['x'], { cwd: 'no/such' })))
    expect(error.code).toBe('TOOL_NETWORK_DISABLED')
  })
})
