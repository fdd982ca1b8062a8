import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sandboxReport } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { programs } from '../confinement/stage/programs.ts'
import { runCli } from '../support/run-cli.ts'
import { makeSandbox } from '../support/sandbox.ts'

const ROWS = {
  files: 'files',
  fileMetadata: 'file metadata',
  git: 'git',
  network: 'network',
  loopback: 'loopback',
  unixSockets: 'unix sockets',
  ipc: 'shared memory',
  processKill: 'process kill',
  limits: 'limits',
  env: 'environment',
} as const

describe('toolwright doctor', () => {
  test('has a row for everything that is held or not: its name, how well, by what, and what would give more', async () => {
    const { root } = makeSandbox()
    const report = await sandboxReport({ rootDir: root })
    const { code, stdout, stderr } = await runCli(['doctor'], { cwd: root })
    const rows = Object.entries(ROWS).flatMap(([kind, name]) => {
      const { level, mechanism, advice } = report[kind as keyof typeof ROWS]
      const row = `${name.padEnd(14)} ${level.padEnd(12)} ${mechanism}`
      return advice === '' ? [row] : [row, `${' '.repeat(28)}→ ${advice}`]
    })
    const [versions = '', ...rest] = stdout.split('\n')
    expect(versions).toMatch(/^toolwright \d+\.\d+\.\d+, (?:Node|Bun) \d+\.\d+\.\d+, \w+ \w+, kernel \S+$/u)
    // Which language servers come then is the machine's.
    const first = rest.filter((line) => !line.startsWith('language server ')).join('\n')
    expect(first.trimEnd()).toBe(['', 'protection     holds        by', ...rows, '', report.summary].join('\n'))
    expect(stderr).toBe('')
    expect(code).toBe(report.network.level === 'kernel' ? 0 : 1)
  })

  test('--json is the report of sandboxReport(), and --root and --allow-network are its options', async () => {
    const { root } = makeSandbox()
    const { code, stdout, stderr } = await runCli(['doctor', '--json', '--allow-network', '--root', root])
    const { versions, languageServers, ...facts } = JSON.parse(stdout) as Record<string, unknown>
    expect(Object.keys(versions as object)).toEqual(['toolwright', 'runtime', 'system'])
    expect(languageServers).toBeTypeOf('object')
    expect(facts).toEqual(await sandboxReport({ rootDir: root, allowNetwork: true }))
    expect(Object.keys(facts)).toEqual([...Object.keys(ROWS), 'summary'])
    expect(stderr).toBe('')
    // A network that is allowed need not be held.
    expect(code).toBe(0)
  })

  test('has a row where commands may write the program that runs, which names what holds it', async () => {
    const root = fileURLToPath(new URL('../..', import.meta.url))
    const { stdout, stderr } = await runCli(['doctor', '--root', root])
    expect(stdout).toMatch(/^host program {3}none {9}commands may write .*\/dist\/cli\.js\n {28}→ set denyWrite: .*'@host'/mu)
    expect(stderr).toBe('')
    const { hostProgram } = JSON.parse((await runCli(['doctor', '--json', '--root', root])).stdout) as { hostProgram: { level: string } }
    expect(hostProgram.level).toBe('none')
  })

  test('shows the language servers that are found, and starts none', async () => {
    const { root, put } = makeSandbox()
    const program = put('node_modules/.bin/typescript-language-server', '#!/bin/sh\ntouch started\n')
    chmodSync(program, 0o755)
    const { stdout } = await runCli(['doctor'], { cwd: root })
    expect(stdout).toContain(`\nlanguage server typescript: ${program} --stdio\n`)
    const { languageServers } = JSON.parse((await runCli(['doctor', '--json'], { cwd: root })).stdout) as {
      languageServers: Record<string, string>
    }
    expect(languageServers['typescript']).toBe(`${program} --stdio`)
    expect(existsSync(join(root, 'started'))).toBe(false)
  })

  test('--mcp says how each server of a file would run, and starts none', async () => {
    const fixture = makeSandbox()
    const mcpServers = {
      local: { command: 'no-such-server', args: ['--token', 'secret-token'] },
      open: { command: 'npx', args: ['-y', 'x'], sandbox: { network: true, writableRoots: ['{workspace}'] } },
      plain: { command: 'x', sandbox: 'none' },
      far: { url: 'https://mcp.example.com/mcp?key=secret' },
    }
    writeFileSync(fixture.at('mcp.json'), JSON.stringify({ mcpServers }))
    const { stdout } = await runCli(['doctor', '--allow-network', '--mcp', fixture.at('mcp.json')])
    expect(stdout.slice(stdout.indexOf('mcp server'))).toBe(
      [
        'mcp server local runs in the sandbox: writes a home of its own; reads everything but credential stores; no network',
        'mcp server open runs in the sandbox: writes a home of its own, {workspace}; reads everything but credential stores; the network',
        'mcp server plain runs outside of the sandbox, with the rights of this process',
        'mcp server far runs elsewhere: mcp.example.com',
        '',
      ].join('\n'),
    )
    expect(JSON.parse((await runCli(['doctor', '--json', '--allow-network', '--mcp', fixture.at('mcp.json')])).stdout)).toMatchObject({
      mcpServers: { plain: expect.stringMatching(/^outside/u) },
    })
    writeFileSync(fixture.at('mcp.json'), JSON.stringify({ mcpServers: { x: { command: 'x', sandbox: 'off' } } }))
    for (const file of [fixture.at('mcp.json'), fixture.at('missing.json'), fixture.root]) {
      const { code, stderr } = await runCli(['doctor', '--mcp', file])
      expect(code).toBe(1)
      expect(stderr).toContain(file)
    }
  })

  test.skipIf(process.platform !== 'linux')(
    'ends with 1 where a blocked network would not hold, and says what to do',
    async () => {
      const under = [(await programs()).deny, 'seccomp', '--']
      const { code, stdout } = await runCli(['doctor'], { under })
      expect(stdout).toMatch(/^network +none .+\n +→ .+$/mu)
      expect(code).toBe(1)
      expect((await runCli(['doctor', '--allow-network'], { under })).code).toBe(0)
    },
    120_000,
  )

  test('ends with 1 and one line where there is nothing to report on', async () => {
    const { code, stdout, stderr } = await runCli(['doctor', '--root', '/no/such/directory'])
    expect(stderr).toMatch(/^toolwright: .*`\/no\/such\/directory` \[TOOL_ROOT_INVALID\].*\n$/u)
    expect(stdout).toBe('')
    expect(code).toBe(1)
  })

  test.each([
    [['--jsn'], '--jsn'],
    [['here'], 'here'],
    [['--root'], '--root'],
    [['--json=yes'], '--json'],
  ])('doctor %j ends with 2 and one line that names the mistake', async (args, named) => {
    const { code, stdout, stderr } = await runCli(['doctor', ...args])
    // One sentence, and the help that has the options of this command.
    expect(stderr).toMatch(/^toolwright: [^.;]+; see toolwright doctor --help\n$/u)
    expect(stderr).toContain(named)
    expect(stdout).toBe('')
    expect(code).toBe(2)
  })

  test.each(['--help', '-h'])('%s shows the options and does nothing else', async (help) => {
    const { code, stdout, stderr } = await runCli(['doctor', '--root', '/no/such/directory', help])
    expect(stdout).toMatch(/^Usage: toolwright doctor \[options\]\n/u)
    for (const option of ['--root', '--allow-network', '--json', '--help']) expect(stdout).toContain(`  ${option}`)
    expect(stderr).toBe('')
    expect(code).toBe(0)
  })
})

describe('toolwright', () => {
  test.each([
    [['--help'], 0],
    [['-h'], 0],
    [['help'], 0],
    [[], 2],
  ])('%j lists the commands and ends with %d', async (args, code) => {
    const ended = await runCli(args)
    expect(ended).toMatchObject({ code, stderr: '' })
    expect(ended.stdout).toMatch(/^Usage: toolwright <command> \[options\]\n/u)
    expect(ended.stdout).toMatch(/^ {2}doctor +\S/mu)
  })

  test('--version is that of the package', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
    expect(await runCli(['--version'])).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: '' })
  })

  test('help of a command is its --help', async () => {
    expect(await runCli(['help', 'calls'])).toEqual(await runCli(['calls', '--help']))
    expect(await runCli(['help', 'doktor'])).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('"doktor"') })
  })

  test.each([
    ['doktor', ' (did you mean doctor?)'],
    ['toString', ''],
    ['--json', ''],
  ])('%s is no command: one line, and 2', async (name, meant) => {
    const { code, stdout, stderr } = await runCli([name])
    expect(stderr).toBe(
      `toolwright: unknown ${name.startsWith('-') ? 'option' : 'command'} ${JSON.stringify(name)}${meant}; see toolwright --help\n`,
    )
    expect(stdout).toBe('')
    expect(code).toBe(2)
  })
})

describe('toolwright doctor --secrets', () => {
  const env = { DEPLOY_TOKEN: 'x7Gk29QmZp41', AUTH_TYPE: 'kerberos', LD_AUDIT_X: 'x7Gk29QmZp42' }

  /** A home directory with two stores, and a third that a variable names. */
  function home() {
    const { root, put, at } = makeSandbox()
    put('home/.ssh/id_rsa', 'x7Gk29QmZp43')
    put('home/.config/zed/settings.json', 'x7Gk29QmZp44')
    put('kube.yaml', 'x7Gk29QmZp45')
    return { root, env: { ...env, HOME: at('home'), KUBECONFIG: at('kube.yaml') } }
  }

  test('lists stores and variables by their rules, and shows no value', async () => {
    const { root, env: variables } = home()
    const { stdout, stderr } = await runCli(['doctor', '--secrets', '--root', root], { env: variables })
    expect(stdout).toMatch(/^Stores that commands cannot read:$/mu)
    expect(stdout).toMatch(/^ {2}~\/\.ssh +a known store in a home directory$/mu)
    expect(stdout).toMatch(/^ {2}~\/\.config\/zed +a known store in a home directory$/mu)
    expect(stdout).toMatch(/kube\.yaml +named by KUBECONFIG$/mu)
    expect(stdout).toMatch(/^ {2}DEPLOY_TOKEN +named like a secret; masked in outputs$/mu)
    // An ordinary value is kept from commands, and not looked for in outputs.
    expect(stdout).toMatch(/^ {2}AUTH_TYPE +named like a secret$/mu)
    expect(stdout).not.toContain('x7Gk')
    expect(stderr).toBe('')
  })

  test('--json has the same lists', async () => {
    const { root, env: variables } = home()
    const { stdout } = await runCli(['doctor', '--secrets', '--json', '--root', root], { env: variables })
    const { secrets } = JSON.parse(stdout) as {
      secrets: Record<'stores' | 'variables', { subject: string; rule: string; isMasked: boolean }[]>
    }
    expect(secrets.stores.map(({ subject }) => subject)).toContain(join(root, 'home/.ssh'))
    expect(secrets.variables).toContainEqual({ subject: 'DEPLOY_TOKEN', rule: 'named like a secret', isMasked: true })
    expect(stdout).not.toContain('x7Gk')
  })
})
