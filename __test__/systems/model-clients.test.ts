// Programs that people use as agents, with the MCP server as their tools: real programs from npm, real tools, and a scripted model.
// The model is the mock (`scripted-models.ts`); docs/mcp-server.md has the table.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { cli } from '../mcp-server/mcp-client.ts'
import { installedPackages } from '../support/installed-packages.ts'
import { eventually, running, sleepingMark } from '../support/processes.ts'
import { makeSandbox, type Sandbox } from '../support/sandbox.ts'
import { type ModelTurn, type ScriptedModels, startModels } from '../support/scripted-models.ts'

let folder = ''
beforeAll(async () => {
  const packages = [
    'opencode-ai@1.18.33',
    '@openai/codex@0.171.0',
    '@google/gemini-cli@0.61.0',
    '@anthropic-ai/claude-code@2.1.332',
  ] as const
  folder = await installedPackages('model-clients', [...packages])
}, 600_000)

interface Run {
  fixture: Sandbox
  home: string
  url: string
  /** The server, as a client starts it. */
  server: string[]
}

/** How a program is started without a person, with one provider and one MCP server. */
interface Client {
  start(run: Run): { program: string; args: string[]; env: Record<string, string> }
}

const bin = (name: string): string => join(folder, 'node_modules', '.bin', name)
/** The program itself: what starts it is made by an install script. */
const native = (name: string, path: string): string => join(folder, 'node_modules', `${name}-${process.platform}-${process.arch}`, path)
const put = (path: string, content: object | string): void => {
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
}

const clients: Record<string, Client> = {
  opencode: {
    start({ home, url, server }) {
      const provider = {
        npm: '@ai-sdk/openai-compatible',
        name: 'scripted',
        options: { baseURL: `${url}/v1`, apiKey: 'none' },
        models: { scripted: { name: 'scripted', tool_call: true, limit: { context: 200_000, output: 8_000 } } },
      }
      const config = {
        $schema: 'https://opencode.ai/config.json',
        provider: { scripted: provider },
        model: 'scripted/scripted',
        small_model: 'scripted/scripted',
        autoupdate: false,
        share: 'disabled',
        permission: { '*': 'allow' },
        mcp: { toolwright: { type: 'local', command: server, enabled: true } },
      }
      put(join(home, 'opencode.json'), config)
      const env = {
        OPENCODE_CONFIG: join(home, 'opencode.json'),
        OPENCODE_DISABLE_MODELS_FETCH: '1',
        OPENCODE_DISABLE_AUTOUPDATE: '1',
        XDG_DATA_HOME: home,
        XDG_CONFIG_HOME: home,
        XDG_CACHE_HOME: home,
        XDG_STATE_HOME: home,
      }
      return { program: native('opencode', 'bin/opencode'), args: ['run', '--model', 'scripted/scripted', 'go'], env }
    },
  },
  Codex: {
    start({ home, url, server: [command, ...args] }) {
      const lines = [
        'model = "gpt-5"',
        'model_provider = "scripted"',
        'approval_policy = "never"',
        'sandbox_mode = "danger-full-access"',
        '[model_providers.scripted]',
        'name = "scripted"',
        `base_url = "${url}/v1"`,
        'wire_api = "responses"',
        '[mcp_servers.toolwright]',
        `command = ${JSON.stringify(command)}`,
        `args = ${JSON.stringify(args)}`,
        'required = true',
      ]
      put(join(home, '.codex', 'config.toml'), lines.join('\n'))
      return { program: bin('codex'), args: ['exec', '--skip-git-repo-check', 'go'], env: { CODEX_HOME: join(home, '.codex') } }
    },
  },
  'gemini-cli': {
    start({ fixture, url, server: [command, ...args] }) {
      const settings = {
        mcpServers: { toolwright: { command, args, trust: true } },
        security: { auth: { selectedType: 'gemini-api-key' } },
        general: { disableAutoUpdate: true },
        telemetry: { enabled: false },
      }
      put(fixture.at('.gemini/settings.json'), settings)
      const env = {
        GEMINI_API_KEY: 'none',
        GOOGLE_GEMINI_BASE_URL: url,
        GEMINI_CLI_NO_RELAUNCH: 'true',
        GEMINI_CLI_TRUST_WORKSPACE: 'true',
      }
      return { program: bin('gemini'), args: ['-p', 'go', '-y', '-m', 'gemini-2.5-pro'], env }
    },
  },
  'Claude Code': {
    start({ home, url, server: [command, ...args] }) {
      put(join(home, 'mcp.json'), { mcpServers: { toolwright: { command, args } } })
      const env = {
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_API_KEY: 'none',
        CLAUDE_CONFIG_DIR: join(home, '.claude'),
        CLAUDE_CODE_TMPDIR: join(home, 'tmp'),
        DISABLE_TELEMETRY: '1',
        DISABLE_AUTOUPDATER: '1',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        ENABLE_TOOL_SEARCH: 'false',
      }
      const options = ['--mcp-config', join(home, 'mcp.json'), '--strict-mcp-config', '--allowedTools', 'mcp__toolwright']
      return { program: native('@anthropic-ai/claude-code', 'claude'), args: ['-p', 'go', ...options], env }
    },
  },
}

/** Starts a client in a project. */
async function begin(client: Client, script: readonly ModelTurn[], allow: readonly string[]) {
  const fixture = makeSandbox()
  const home = makeSandbox().root
  fixture.put('a.txt', 'the first line\n')
  const models = await startModels(script)
  onTestFinished(() => models.close())
  const server = [process.execPath, cli, 'mcp', '--root', fixture.root, ...allow.flatMap((rule) => ['--allow', rule])]
  const { program, args, env } = client.start({ fixture, home, url: models.url, server })
  // What a client leaves in its temporary directory goes with its home.
  const temporary = join(home, 'tmp')
  mkdirSync(temporary)
  const own = { PATH: process.env['PATH'] ?? '', HOME: home, TMPDIR: temporary, NO_COLOR: '1', TERM: 'dumb', ...env }
  const child = spawn(program, args, { cwd: fixture.root, env: own, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  onTestFinished(() => kill(child, 'SIGKILL'))
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (printed += text))
  return { fixture, models, child, printed: () => printed }
}

function kill(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    process.kill(-(child.pid ?? 0), signal)
  } catch {
    // It has ended.
  }
}

/** What the model was sent after a call: the last request has all results. */
const resultsIn = ({ bodies }: ScriptedModels): string => bodies.at(-1) ?? ''

describe.each(Object.entries(clients))('%s', (_, client) => {
  test('lists, calls, shows errors, long outputs and refusals', { timeout: 180_000 }, async () => {
    const script: ModelTurn[] = [
      { tool: 'read', input: { path: 'a.txt' } },
      { tool: 'read', input: { path: 'b.txt' } },
      { tool: 'bash', input: { command: 'seq 1 60000' } },
      { tool: 'write', input: { path: 'c.txt', content: 'x' } },
      'done',
    ]
    const { models, child, printed, fixture } = await begin(client, script, ['bash'])
    await once(child, 'close')
    expect(models.bodies.length, printed()).toBeGreaterThanOrEqual(script.length)
    const names = models.offered().filter((name) => name.includes('toolwright'))
    expect(names.map((name) => /(?:read|grep|glob|write|edit|bash)$/u.exec(name)?.[0]).sort()).toEqual([
      'bash',
      'edit',
      'glob',
      'grep',
      'read',
      'write',
    ])
    const results = resultsIn(models)
    expect(results).toContain('the first line')
    expect(results).toContain('File not found: `b.txt`')
    // Head and tail of a long output reach the model, whatever the client keeps of it.
    expect(results).toMatch(/bytes of the output are left out/u)
    // Headless, Codex declines every question by itself.
    expect(results).toMatch(/--allow 'write|The user rejected this call of write/u)
    expect(() => fixture.text('c.txt')).toThrow(/ENOENT/u)
  })

  test.each(['SIGINT', 'SIGKILL'] as const)('%s ends the client, its server and the command', { timeout: 120_000 }, async (signal) => {
    const mark = sleepingMark()
    const { child, printed } = await begin(client, [{ tool: 'bash', input: { command: `sleep ${mark}` } }, 'done'], ['bash'])
    expect(await eventually(() => running(mark).length > 0, 60_000), printed()).toBe(true)
    kill(child, signal)
    expect(await eventually(() => running(mark).length === 0, 5_000)).toBe(true)
  })
})
