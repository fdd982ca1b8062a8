import { describe, expect, test } from 'vitest'
import { guardNetwork, type NetworkGuard } from '../../../ts/core/network-guard/guard-network.js'
import { bashTool, configureTools, createTools, ToolError, type ToolwrightTools } from 'toolwright'
import { makeSandbox } from '../../support/sandbox.ts'

/** What became of a command line: the code's middle part, or `ok`. */
type Verdict = 'ok' | 'network' | 'git'

function judge(guard: NetworkGuard, [cmd = '', ...args]: string[]): Verdict {
  try {
    guardNetwork(guard, cmd, args)
    return 'ok'
  } catch (error) {
    if (!ToolError.isInstance(error)) throw error
    return error.code === 'TOOL_GIT_REMOTE_DISABLED' ? 'git' : 'network'
  }
}

/** One command line and its verdict by tokens, commands and fragments. */
const table: [line: string[], tokens: Verdict, commands: Verdict, fragments: Verdict][] = [
  [['ls', '-la'], 'ok', 'ok', 'ok'],
  [['curl', 'example.org'], 'network', 'network', 'network'],
  [['/usr/bin/curl', 'example.org'], 'network', 'network', 'network'],
  [['curl', 'http://localhost:3000/health'], 'network', 'ok', 'network'],
  [['curl', '-s', '-o', 'out', 'http://127.0.0.1:8080'], 'network', 'ok', 'network'],
  [['curl', '--url', 'http://[::1]/'], 'network', 'ok', 'network'],
  [['curl', '--url=http://api.localhost/'], 'network', 'ok', 'network'],
  [['curl', 'http://0.0.0.0:1/'], 'network', 'ok', 'network'],
  [['curl'], 'network', 'network', 'network'],
  [['curl', 'http://localhost', 'http://example.org'], 'network', 'network', 'network'],
  [['curl', '--proxy', 'proxy.example:1', 'http://localhost'], 'network', 'network', 'network'],
  [['curl', '-L', 'http://localhost'], 'network', 'network', 'network'],
  [['curl', '-sL', 'http://localhost'], 'network', 'network', 'network'],
  [['curl', '--location', 'http://localhost'], 'network', 'network', 'network'],
  [['curl', '-K', 'file', 'http://localhost'], 'network', 'network', 'network'],
  [['curl', 'http://127.0.0.1.example.org/'], 'network', 'network', 'network'],
  [['curl', 'http://localhost@example.org/'], 'network', 'network', 'network'],
  [['wget', 'http://127.0.0.1/'], 'network', 'ok', 'network'],
  [['wget', 'https://example.org/'], 'network', 'network', 'network'],
  [['npm', 'test'], 'network', 'network', 'network'],
  [['npm', '--version'], 'network', 'network', 'network'],
  [['bun', 'run', 'x'], 'network', 'network', 'network'],
  [['pip', 'list'], 'network', 'network', 'network'],
  [['npx', 'vitest'], 'ok', 'ok', 'ok'],
  [['pip3', 'list'], 'ok', 'ok', 'network'],
  [['echo', 'run npm install'], 'network', 'ok', 'network'],
  [['echo', 'https://example.org'], 'network', 'network', 'network'],
  [['echo', 'HTTPS://example.org'], 'network', 'network', 'ok'],
  [['echo', 'see https://example.org'], 'network', 'ok', 'network'],
  [['tool', '--registry=https://example.org'], 'ok', 'network', 'network'],
  [['tool', '--registry=http://localhost:4873'], 'ok', 'ok', 'network'],
  [['echo', 'bundle'], 'ok', 'ok', 'network'],
  [['git', 'status'], 'ok', 'ok', 'ok'],
  [['git', 'diff', 'HEAD'], 'ok', 'ok', 'ok'],
  [['git', 'log', '--oneline'], 'ok', 'ok', 'ok'],
  [['git', 'push'], 'git', 'git', 'git'],
  [['git', 'pull', '--rebase'], 'git', 'git', 'git'],
  [['git', 'fetch'], 'git', 'git', 'git'],
  [['git', 'clone', 'file:///x'], 'git', 'git', 'git'],
  [['git', 'remote', '-v'], 'git', 'git', 'git'],
  [['/usr/bin/git', 'push'], 'git', 'git', 'git'],
  [['git', '-C', 'repo', 'fetch'], 'git', 'git', 'ok'],
  [['git', '-c', 'user.name=x', 'push'], 'git', 'git', 'ok'],
  [['git', '--git-dir', 'fetch', 'status'], 'git', 'ok', 'ok'],
  [['git', 'commit', '-m', 'fetch x'], 'git', 'ok', 'ok'],
  [['git', 'commit', '-m', 'fetched'], 'ok', 'ok', 'ok'],
  [['git', 'log', 'push'], 'git', 'ok', 'ok'],
  [['sh', '-c', 'git push'], 'git', 'git', 'git'],
  [['sh', '-lc', 'cd x && git fetch origin'], 'git', 'git', 'git'],
  [['sh', '-c', 'git commit -m "fetch upstream"'], 'ok', 'ok', 'ok'],
  [['sh', '-c', 'curl https://example.org'], 'network', 'network', 'network'],
  [['sh', '-c', 'X=1 Y=2 curl example.org'], 'network', 'network', 'network'],
  [['bash', '-c', 'true; (curl example.org)'], 'ok', 'network', 'network'],
  [['bash', '-c', 'curl -s http://localhost:1/ | cat'], 'network', 'ok', 'network'],
  [['bash', '-c', 'curl -L http://localhost:1/'], 'network', 'network', 'network'],
  [['bash', '-c', 'wget http://localhost:1/'], 'network', 'network', 'network'],
  [['bash', '-c', 'echo "npm install" > notes'], 'ok', 'ok', 'network'],
  [['bash', '-c', 'echo npm install > notes'], 'network', 'ok', 'network'],
  [['curl http://example.org'], 'network', 'network', 'network'],
  [['npm install'], 'network', 'network', 'network'],
]

describe.each(['tokens', 'commands', 'fragments'] as const)('networkGuard: %s', (guard) => {
  const column = { tokens: 1, commands: 2, fragments: 3 }[guard]
  test.each(table.map((row) => [row[0].join(' '), row[0], row[column] as Verdict] as const))('%s', (_, line, verdict) => {
    expect(judge(guard, line)).toBe(verdict)
  })
})

test('networkGuard: off refuses nothing', () => {
  for (const [line] of table) expect(judge('off', line)).toBe('ok')
})

describe('a fetch from this machine is kept on this machine', () => {
  test('curl and wget are told in front of their arguments not to follow redirects', () => {
    expect(guardNetwork('commands', 'curl', ['--', 'http://localhost/']).args).toEqual(['--max-redirs', '0', '--', 'http://localhost/'])
    expect(guardNetwork('commands', 'wget', ['http://localhost/']).args[0]).toBe('--max-redirect=0')
    expect(guardNetwork('commands', 'ls', ['-l']).args).toEqual(['-l'])
  })

  test('they do not read options from elsewhere', () => {
    expect(guardNetwork('commands', 'sh', ['-c', 'true']).env).toMatchObject({ CURL_HOME: '/dev/null' })
  })
})

describe('bash', () => {
  const refused = async (set: ToolwrightTools): Promise<ToolError> => {
    const error: unknown = await set.bash.execute({ cmd: 'echo', args: ['run npm install'] }).catch((e: unknown) => e)
    if (!ToolError.isInstance(error)) throw new Error('expected a refusal')
    return error
  }

  test('tokens: the text names the token and ends with the next move', async () => {
    const error = await refused(createTools({ rootDir: makeSandbox().root, networkGuard: 'tokens' }))
    expect(error).toMatchObject({ code: 'TOOL_NETWORK_DISABLED', details: { token: 'npm' } })
    expect(error.message).toMatch(
      /^Network access is disabled for the bash tool: matched `npm` \[TOOL_NETWORK_DISABLED\] .*the host program can allow it \(allowNetwork: true\)\.$/u,
    )
  })

  test('tokens: a script of package.json is refused with the command that runs it, and that runs', async () => {
    const fixture = makeSandbox()
    fixture.put('package.json', JSON.stringify({ scripts: { test: 'echo tested', 'fetch:all': 'curl https://example.org' } }))
    const { bash } = createTools({ rootDir: fixture.root, networkGuard: 'tokens' })
    await bash.execute({ cmd: 'true' })
    const hint = async (...args: string[]) => ((await bash.execute({ cmd: 'npm', args }).catch((e: unknown) => e)) as ToolError).hint
    const instead = /args (?<args>\[.*\])\./u.exec(await hint('test', '--', '-t', "it's"))?.groups?.['args'] ?? '[]'
    expect(await bash.execute({ cmd: 'sh', args: JSON.parse(instead) as string[] })).toBe("tested -t it's\n")
    // What would be refused too is no way out.
    expect(await hint('run', 'fetch:all')).not.toContain('args [')
    expect(await hint('run', 'none')).not.toContain('args [')
  })

  test('another guard is an option of createTools and of configureTools', async () => {
    const rootDir = makeSandbox().root
    const call = { cmd: 'echo', args: ['run npm install'] }
    expect(await createTools({ rootDir, networkGuard: 'commands' }).bash.execute(call)).toBe('run npm install\n')
    configureTools({ rootDir, networkGuard: 'off' })
    try {
      expect(await bashTool('echo', ['run npm install'])).toBe('run npm install\n')
    } finally {
      configureTools({})
    }
  })

  test('allowNetwork: true switches the guard off', async () => {
    const set = createTools({ rootDir: makeSandbox().root, allowNetwork: true })
    expect(await set.bash.execute({ cmd: 'echo', args: ['https://example.org', 'npm'] })).toBe('https://example.org npm\n')
  })

  test('an unknown guard is refused at once', () => {
    expect(() => createTools({ networkGuard: 'strict' as never })).toThrow(
      /networkGuard must be one of auto, tokens, commands, fragments, off/u,
    )
  })
})
