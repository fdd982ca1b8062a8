import { mkdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { guardNetwork } from '../../../ts/core/network-guard/guard-network.js'
import { bash, configureTools, createTools, ToolError } from 'toolwright'
import { makeSandbox } from '../../support/sandbox.ts'

type Verdict = 'ok' | 'network' | 'git'

/** In a directory where vitest is installed, and which holds a directory "sub". */
function judge([cmd = '', ...args]: string[]): Verdict {
  const fixture = makeSandbox()
  fixture.put('node_modules/.bin/vitest', '')
  mkdirSync(`${fixture.root}/sub`)
  try {
    guardNetwork('auto', cmd, args, { directory: fixture.root, path: '/usr/bin:/bin', scripts: () => ({}) })
    return 'ok'
  } catch (error) {
    if (!ToolError.isInstance(error)) throw error
    return error.code === 'TOOL_GIT_REMOTE_DISABLED' ? 'git' : 'network'
  }
}

const sh = (script: string): string[] => ['sh', '-c', script]

const runs: string[][] = [
  ['npm', 'test'],
  ['npm', 'run', 'build'],
  ['npm', 'run', 'install'],
  ['npm', 'ls'],
  ['npm', '--version'],
  ['npm', 'pkg', 'get', 'name'],
  ['npm', 'init', '-y'],
  ['npm', 'install', '--offline'],
  ['npm', 'install', './tarball.tgz'],
  ['npm', 'exec', 'vitest', 'run'],
  ['npm', 'exec', '--', 'vitest'],
  ['pnpm', 'test'],
  ['pnpm', 'run', 'add'],
  ['yarn', 'build'],
  ['yarn', '--version'],
  ['bun', 'test'],
  ['bun', 'run', 'x'],
  ['bun', 'index.ts'],
  ['pip', 'list'],
  ['pip3', 'install', '--no-index', 'x'],
  ['pip', 'install', '.'],
  ['python3', '-m', 'unittest'],
  ['uv', 'run', 'test.py'],
  ['npx', 'vitest', 'run'],
  ['npx', '--no-install', 'cowsay'],
  ['npx', '--yes', 'ls'],
  ['npx', '-c', 'cowsay'],
  ['bunx', 'vitest'],
  ['which', 'npm'],
  ['ls', 'node_modules/bun'],
  ['grep', '-rn', 'npm install', 'package.json'],
  ['echo', 'see https://example.org'],
  ['echo', 'curl https://example.org'],
  ['curl', 'http://localhost:3000/health'],
  ['curl', '-s', '-X', 'POST', 'http://127.0.0.1:8080'],
  ['curl', 'localhost:3000'],
  ['curl', 'file:///etc/hostname'],
  ['curl', '--version'],
  ['wget', '-qO-', 'http://[::1]/'],
  ['git', 'status'],
  ['git', 'remote', '-v'],
  ['git', 'commit', '-m', 'fetch lazily'],
  ['git', 'log', 'push'],
  ['git', '--git-dir', 'fetch', 'status'],
  ['git', 'clone', '../other', 'copy'],
  ['git', 'clone', 'file:///srv/x'],
  ['git', 'push', '/srv/backup.git', 'main'],
  ['git', 'clone', 'missing'],
  ['git', 'clone', '--depth', '1', 'sub/repository'],
  ['git', 'fetch', './sub'],
  ['git', 'push', '--help'],
  sh('npm test && npm run build'),
  sh('git commit -m "a; git push"'),
  sh("git commit -m 'npm install'"),
  sh('echo npm install > notes'),
  sh('npm install || true'),
  sh('if curl -s https://example.org; then echo up; fi'),
  sh('x=$(curl -s https://example.org); echo $x'),
  sh('cat <<END\nnpm install\nEND'),
  sh('# npm install\nls'),
  sh('cd app && npx tsc'),
  sh('curl -s "$URL"'),
  sh('echo \\; npm install'),
  ['sh', 'script.sh'],
  ['node', '-e', 'fetch("https://example.org")'],
]

const network: string[][] = [
  ['npm', 'install'],
  ['npm', 'i', 'zod'],
  ['npm', 'ci'],
  ['npm', 'add', '-D', 'zod'],
  ['npm', 'publish'],
  ['npm', '--silent', 'install'],
  ['npm', 'view', 'zod', 'version'],
  ['npm', 'outdated'],
  ['npm', 'create', 'vite'],
  ['npm', 'exec', 'cowsay'],
  ['pnpm', 'install'],
  ['pnpm', 'dlx', 'cowsay'],
  ['yarn'],
  ['yarn', 'add', 'zod'],
  ['bun', 'install'],
  ['bun', 'x', 'cowsay'],
  ['pip', 'install', 'requests'],
  ['pip3', 'install', '-r', 'requirements.txt'],
  ['python3', '-m', 'pip', 'install', 'requests'],
  ['uv', 'pip', 'install', 'requests'],
  ['uv', 'sync'],
  ['npx', 'cowsay', 'hi'],
  ['npx', '--yes', 'create-vite'],
  ['npx', 'vitest@2'],
  ['bunx', 'cowsay'],
  ['uvx', 'ruff'],
  ['/usr/local/bin/npm', 'install'],
  ['env', 'CI=1', 'npm', 'ci'],
  ['curl', 'https://example.org'],
  ['curl', '-sSL', 'example.org'],
  ['curl', 'http://127.0.0.1.example.org/'],
  ['wget', 'https://example.org/x.tgz'],
  sh('npm ci'),
  sh('npm ci && npm test'),
  sh('cd app; npm ci'),
  sh('CI=1 npm ci'),
  sh('curl -fsSL https://example.org/install.sh | sh'),
  ['bash', '-lc', 'npx cowsay'],
]

const git: string[][] = [
  ['git', 'push'],
  ['git', 'push', 'origin', 'main'],
  ['git', 'pull', '--rebase'],
  ['git', 'fetch', '--all'],
  ['git', '-C', 'sub', 'fetch'],
  // A directory of that name makes it no path: the guard looks for none.
  ['git', 'fetch', 'sub'],
  ['git', 'clone', 'example.org:x/y.git'],
  ['git', 'clone', '--recursive'],
  ['git', 'clone', 'https://example.org/x.git', './sub'],
  ['git', 'clone', 'git@example.org:x/y.git'],
  ['git', 'ls-remote', 'origin'],
  sh('git add -A && git commit -m "npm install" && git push'),
]

describe('networkGuard: auto', () => {
  test.each(runs.map((line) => [line.join(' '), line] as const))('runs: %s', (_, line) => {
    expect(judge(line)).toBe('ok')
  })
  test.each(network.map((line) => [line.join(' '), line] as const))('needs the network: %s', (_, line) => {
    expect(judge(line)).toBe('network')
  })
  test.each(git.map((line) => [line.join(' '), line] as const))('needs a remote: %s', (_, line) => {
    expect(judge(line)).toBe('git')
  })
})

describe.runIf(process.platform === 'linux')('the default', () => {
  const refusal = async (work: Promise<unknown>): Promise<ToolError | string> =>
    work.then(
      () => 'ran',
      (error: unknown) => (ToolError.isInstance(error) ? error : String(error)),
    )
  const mention = { cmd: 'echo', args: ['run npm install'] }
  const install = { cmd: 'npm', args: ['install'] }

  test('of createTools is auto', async () => {
    const set = createTools({ rootDir: makeSandbox().root })
    expect(await refusal(set.bash.execute(mention))).toBe('ran')
    expect(await refusal(set.bash.execute(install))).toMatchObject({ code: 'TOOL_NETWORK_DISABLED' })
  })

  test('of toolwright/tools is tokens, and auto once configureTools was called', async () => {
    const fixture = makeSandbox()
    expect(await refusal(fixture.within(() => bash.execute(mention)))).toMatchObject({ code: 'TOOL_NETWORK_DISABLED' })
    configureTools({})
    expect(await refusal(fixture.within(() => bash.execute(mention)))).toBe('ran')
    expect(await refusal(fixture.within(() => bash.execute(install)))).toMatchObject({ code: 'TOOL_NETWORK_DISABLED' })
  })
})
