import { expect, test } from 'vitest'
import { narrowedRoots } from '../../dist/mcp-server/tool-sessions.js'
import { runCli, startCli } from '../support/run-cli.ts'
import { makeSandbox } from '../support/sandbox.ts'

test.each<[string[], number, string]>([
  [['--root', 'missing'], 1, 'mcp: --root missing: there is no such directory; create it, or name another'],
  [['--root', 'a.txt'], 1, 'mcp: --root a.txt is not a directory; name the one it is in'],
  [['--tools', 'read,rm'], 2, 'mcp: --tools: there is no tool "rm"; there are read, grep'],
  [['--tools', ','], 2, 'mcp: --tools names no tool'],
  [['--tools', 'bash', '--read-only'], 2, 'mcp: --read-only leaves no bash'],
  [['--tools', 'web_fetch'], 2, 'mcp: web_fetch needs --allow-network'],
  [['--allow', ':x'], 2, "mcp: --allow is tool:pattern, such as 'bash:npm *'"],
  [['--deny', 'bash:'], 2, 'mcp: --deny is tool:pattern'],
  [['--json'], 2, 'mcp: --json belongs to --http'],
  [['--http=x'], 2, 'mcp: --http is a number from 0 to 65535'],
  [['--http', '70000'], 2, 'mcp: --http is a number from 0 to 65535'],
  [['--journal', 'no/such/runs.db'], 1, ''],
  [['--what'], 2, 'unknown option --what'],
  [['file'], 2, 'unexpected argument "file"'],
])('%j ends with %i and says why', async (args, code, message) => {
  const fixture = makeSandbox()
  fixture.put('a.txt', '')
  const ended = await runCli(['mcp', ...args], { cwd: fixture.root })
  expect(ended).toMatchObject({ code, stdout: '' })
  expect(ended.stderr).toContain(`toolwright: ${message}`)
  expect(ended.stderr.trimEnd().split('\n')).toHaveLength(1)
})

test('--help says what it does', async () => {
  const { code, stdout } = await runCli(['mcp', '--help'])
  expect(code).toBe(0)
  for (const option of ['--root', '--tools', '--read-only', '--allow', '--deny', '--allow-network', '--journal', '--http', '--json']) {
    expect(stdout).toContain(`\n  ${option} `)
  }
})

test('the root of the file system is no default', async () => {
  const { code, stderr } = await runCli(['mcp'], { cwd: '/' })
  expect([code, stderr]).toEqual([
    2,
    'toolwright: mcp: the current directory is /; name a directory with --root; see toolwright mcp --help\n',
  ])
})

test('a port that is taken is said', async () => {
  const { createServer } = await import('node:net')
  const { root } = makeSandbox()
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  const { code, stderr } = await runCli(['mcp', '--http', String(port)], { cwd: root })
  server.close()
  expect(code).toBe(1)
  // The rest is the runtime's text.
  expect(stderr).toMatch(new RegExp(`^toolwright: mcp: .*\\b${port}\\b.*\n$`, 'u'))
})

test('a package that is not installed is named', async () => {
  const fixture = makeSandbox()
  const hook = `import { registerHooks } from 'node:module'
registerHooks({ resolve(specifier, context, next) {
  if (!specifier.startsWith('@modelcontextprotocol/')) return next(specifier, context)
  throw Object.assign(new Error("Cannot find package '" + specifier + "'"), { code: 'ERR_MODULE_NOT_FOUND' })
} })`
  if (process.versions['bun'] !== undefined) return
  fixture.put('hook.mjs', hook)
  const { code, stderr } = await startCli(['mcp'], { cwd: fixture.root, env: { NODE_OPTIONS: `--import=${fixture.at('hook.mjs')}` } }).ended
  expect(code).toBe(1)
  expect(stderr).toBe(
    'toolwright: mcp: the package @modelcontextprotocol/server is not installed: npm install @modelcontextprotocol/server, or npx -p toolwright -p @modelcontextprotocol/server toolwright mcp\n',
  )
})

test('roots of a client narrow, and never widen', () => {
  const fixture = makeSandbox()
  fixture.put('inner/a.txt', '')
  const uri = (path: string): string => `file://${path}`
  const narrowed = (...uris: string[]): readonly string[] => narrowedRoots([fixture.root], uris)
  expect(narrowed()).toEqual([fixture.root])
  expect(narrowed(uri('/'))).toEqual([fixture.root])
  expect(narrowed(uri(fixture.root), uri(fixture.root))).toEqual([fixture.root])
  expect(narrowed(uri(fixture.at('inner')), uri(fixture.outside))).toEqual([fixture.at('inner')])
  expect(narrowed(uri(`${fixture.root}-other`), uri(fixture.outside), uri(fixture.at('missing')), 'https://example.com', 'x')).toEqual([])
})
