import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openJournal, sandboxReport } from 'toolwright'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from './support/processes.ts'
import { startOpenAIServer, type OpenAIServer, type WireReply, type WireRequest } from './support/openai-server.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const project = join(root, 'examples', 'demo', 'project')
const KEY = 'sk-demo-test'

/** Its own temporary directory, so that a test can see what the demo leaves behind. */
let temporary: string
let server: OpenAIServer | undefined

beforeAll(() => {
  temporary = mkdtempSync(join(tmpdir(), 'toolwright-demo-test-'))
})
afterEach(async () => {
  await server?.close()
  server = undefined
})
afterAll(() => rmSync(temporary, { recursive: true, force: true }))

interface Run {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

function environment(extra: Record<string, string>): NodeJS.ProcessEnv {
  const { AI_GATEWAY_API_KEY: _, FORCE_COLOR: __, ...rest } = process.env
  return {
    ...rest,
    // `bun --bun` puts a `node` that is Bun first on PATH, and `node --test` is Node's.
    PATH: [join(root, 'node_modules', '.bin'), process.env['PATH']].join(delimiter),
    TMPDIR: temporary,
    ...extra,
  }
}

function startDemo(args: string[], extra: Record<string, string> = {}) {
  const child = spawn(process.execPath, [join(root, 'examples', 'demo', 'run.mjs'), ...args], {
    cwd: root,
    env: environment(extra),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const run: Run = { code: null, signal: null, stdout: '', stderr: '' }
  let seen = () => {}
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    run.stdout += text
    seen()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => (run.stderr += text))
  const ended = new Promise<Run>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => resolve({ ...run, code, signal }))
  })
  const printed = (pattern: RegExp) =>
    new Promise<void>((resolve, reject) => {
      seen = () => {
        if (pattern.test(run.stdout)) resolve()
      }
      seen()
      void ended.then(() => reject(new Error(`ended without ${pattern}:\n${run.stdout}\n${run.stderr}`)))
    })
  return { child, ended, printed }
}

const runDemo = (args: string[], extra?: Record<string, string>) => startDemo(args, extra).ended

/** A demo whose model is behind the test's server. */
async function runServed(reply: (request: WireRequest, index: number) => WireReply, args: string[] = []) {
  server = await startOpenAIServer(reply)
  const started = Date.now()
  const served = ['--base-url', server.url, '--model', 'test', '--api-key-env', 'DEMO_SERVER_ACCESS', ...args]
  const run = await runDemo(served, { DEMO_SERVER_ACCESS: KEY })
  return { ...run, ms: Date.now() - started, requests: server.requests }
}

const patch = `--- a/src/tax.js
+++ b/src/tax.js
@@ -8,5 +8,4 @@
     const group = groups.get(line.taxRate) ?? { rate: line.taxRate, net: 0, tax: 0 }
-    const net = lineNet(line)
-    group.net += net
-    group.tax += percentOf(net, line.taxRate)
+    group.net += lineNet(line)
+    group.tax = percentOf(group.net, line.taxRate)
     groups.set(line.taxRate, group)
`
const nodeTest = { calls: [{ name: 'bash', input: { cmd: 'node', args: ['--test'] } }] }
const repair = { calls: [{ name: 'edit', input: { path: 'src/tax.js', patch } }] }

/** The script of a model that knows the way; `detours` come first. */
const script =
  (...detours: WireReply[]) =>
  (_: WireRequest, index: number): WireReply =>
    [
      ...detours,
      { calls: [{ name: 'grep', input: { pattern: 'percentOf' } }] },
      { calls: [{ name: 'read', input: { path: 'src/tax.js' } }] },
      nodeTest,
      repair,
      nodeTest,
      { text: 'Repaired.' },
    ][index] ?? { text: 'Nothing is left to do.' }

/** What the tools answered, as the next request tells the model. */
const toolMessages = (request: WireRequest | undefined) =>
  (request?.messages ?? []).filter(({ role }) => role === 'tool').map(({ content }) => content ?? '')

function hashProject(): string {
  const hash = createHash('sha256')
  for (const name of readdirSync(project, { recursive: true, encoding: 'utf8' }).sort()) {
    hash.update(`${name}\0`)
    if (/\.\w+$/.test(name)) hash.update(readFileSync(join(project, name)))
  }
  return hash.digest('hex')
}

const leftovers = () => readdirSync(temporary).filter((name) => name.startsWith('toolwright-demo-'))

/** The tools of the calls in a journal, as they began. */
async function recordedIn(file: string): Promise<string[]> {
  await using journal = await openJournal(file, { readOnly: true })
  const names: string[] = []
  for (const { runId } of await journal.listRuns()) {
    for (const { toolName } of await journal.listRun(runId)) names.push(toolName)
  }
  return names
}

function expectGreen({ code, stdout, stderr }: Run): void {
  expect(stderr).toBe('')
  expect(stdout).toContain('-- diff --')
  expect(stdout).toContain('-    group.tax += percentOf(net, line.taxRate)')
  expect(stdout).toContain('+    group.tax = percentOf(group.net, line.taxRate)')
  expect(stdout).toMatch(/^PASSED {2}the tests are green: 11 of 11 passed/m)
  expect(code).toBe(0)
}

describe('the scripted demo', () => {
  test('repairs the project and shows every call', async () => {
    const before = hashProject()
    const run = await runDemo([])
    expectGreen(run)
    expect(run.stdout).toContain('scripted')
    expect(run.stdout).not.toContain('\u001B')
    // What confines the commands, in the one line of the report.
    const { summary } = await sandboxReport({ rootDir: temporary })
    expect(run.stdout.split('\n')).toContain(summary.replace('sandbox: ', 'sandbox   '))

    const started = [...run.stdout.matchAll(/^ +#(\d+) (bash|grep|read|edit) +\S/gm)]
    const ended = [...run.stdout.matchAll(/^ +#(\d+) (ok|error) .* {2}[\d.]+ ms$/gm)]
    expect(started.map(([, , name]) => name)).toEqual(['bash', 'grep', 'read', 'read', 'edit', 'bash'])
    expect(ended.map(([, number]) => number).sort()).toEqual(['1', '2', '3', '4', '5', '6'])
    expect(run.stdout).toMatch(/^ +#1 error TOOL_COMMAND_FAILED /m)

    expect(hashProject()).toBe(before)
    expect(leftovers()).toEqual([])
    const [, count, file = ''] = /^journal +(\d+) calls: npx toolwright calls (\S+)$/m.exec(run.stdout) ?? []
    const names = await recordedIn(file)
    expect(names.slice(0, 6)).toEqual(['bash', 'grep', 'read', 'read', 'edit', 'bash'])
    expect(names).toHaveLength(Number(count))
    rmSync(join(file, '..'), { recursive: true })
  })

  test('--journal records there, also what comes after other runs', async () => {
    const file = join(temporary, "it's a journal.db")
    for (const runs of [1, 2]) {
      const run = await runDemo(['--journal', file])
      expectGreen(run)
      expect(run.stdout).toContain(`calls: npx toolwright calls '${temporary}/it'\\''s a journal.db'`)
      expect(await recordedIn(file)).toHaveLength(runs * 6)
    }
    const refused = await runDemo(['--journal', join(temporary, 'missing', 'runs.db')])
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(refused.stderr).toMatch(/^demo: --journal .*JOURNAL_NOT_FOUND/)
  })

  test('--keep keeps the working copy', async () => {
    const run = await runDemo(['--keep'])
    expectGreen(run)
    const kept = /^kept +(\S.*)$/m.exec(run.stdout)?.[1] ?? ''
    expect(readFileSync(join(kept, 'src', 'tax.js'), 'utf8')).toContain('percentOf(group.net, line.taxRate)')
    rmSync(join(kept, '..'), { recursive: true })
  })
})

describe('an OpenAI-compatible server', () => {
  test('drives the demo to the same end', async () => {
    const run = await runServed(script())
    expectGreen(run)
    expect(run.stdout).toContain('Repaired.')

    expect(run.requests).toHaveLength(6)
    for (const { authorization, model } of run.requests) {
      expect(authorization).toBe(`Bearer ${KEY}`)
      expect(model).toBe('test')
    }
    const tools = Object.fromEntries(run.requests[0]!.tools.map(({ function: { name, parameters } }) => [name, parameters]))
    expect(Object.keys(tools).sort()).toEqual(['bash', 'edit', 'grep', 'read', 'write'])
    expect(tools['edit']).toMatchObject({
      type: 'object',
      properties: { path: { type: 'string' }, patch: { type: 'string' } },
      required: ['path', 'patch'],
    })
    expect(tools['bash']).toMatchObject({ properties: { args: { type: 'array', items: { type: 'string' } } } })

    const [grep, read, red, edit, green] = toolMessages(run.requests[5])
    expect(grep).toMatch(/^src\/tax\.js:\d+:.*percentOf/m)
    expect(read).toBe(readFileSync(join(project, 'src', 'tax.js'), 'utf8'))
    expect(red).toContain('[TOOL_COMMAND_FAILED]')
    expect(red).toContain('1356 !== 1357')
    expect(edit).toBe('ok')
    expect(green).toMatch(/fail 0$/m)
  })

  test('may call tools in wrong ways: the agent is told and goes on', async () => {
    const run = await runServed(
      script(
        { calls: [{ name: 'read', input: { file: 'src/tax.js' } }] },
        { calls: [{ name: 'bash', raw: '{"cmd": "node", "args": [' }] },
        { calls: [{ name: 'delete_everything', input: {} }] },
        { calls: [{ name: 'read', input: { path: '../../etc/passwd' } }] },
      ),
    )
    expectGreen(run)
    const [wrongName, noJson, noTool, outside] = toolMessages(run.requests[4])
    expect(wrongName).toMatch(/invalid input for tool read/i)
    expect(noJson).toMatch(/invalid input for tool bash/i)
    expect(noTool).toContain('delete_everything')
    expect(outside).toContain('[TOOL_PATH_ESCAPE]')
    expect(run.stdout.match(/not run$/gm)).toHaveLength(3)
    expect(run.stdout).toMatch(/error TOOL_PATH_ESCAPE/)
  })

  test('repairs a project of the user, on a copy or in place', async () => {
    const own = join(temporary, 'own project')
    cpSync(project, own, { recursive: true })
    const source = () => readFileSync(join(own, 'src', 'tax.js'), 'utf8')

    const copied = await runServed(script(), ['--project', own])
    expectGreen(copied)
    expect(source()).toContain('percentOf(net, line.taxRate)')
    await server?.close()

    const inPlace = await runServed(script(), ['--project', own, '--in-place'])
    expectGreen(inPlace)
    expect(source()).toContain('percentOf(group.net, line.taxRate)')
    // An empty one holds the place of what is protected, for a moment longer than the commands run.
    expect(await eventually(() => !existsSync(join(own, '.git')))).toBe(true)
  })

  test('that does not repair anything ends red', async () => {
    const run = await runServed(() => ({ text: 'All is well.' }))
    expect(run.code).toBe(1)
    expect(run.stdout).toContain('(nothing was changed)')
    expect(run.stdout).toMatch(/^FAILED {2}the tests are red: 9 of 11 passed/m)
  })

  test('that makes the tests agree with the defect ends red', async () => {
    const run = await runServed((_, index) =>
      index === 0
        ? {
            calls: ['test/tax.test.js', 'test/invoice.test.js'].map((path) => ({
              name: 'write',
              input: { path, content: "import { test } from 'node:test'\ntest('fine', () => {})\n" },
            })),
          }
        : { text: 'Green.' },
    )
    expect(run.code).toBe(1)
    expect(run.stdout).toMatch(/^FAILED {2}.*the agent changed the tests: test\/invoice\.test\.js, test\/tax\.test\.js/m)
  })

  test('that never comes to an end is stopped after --max-steps', async () => {
    const run = await runServed(() => ({ calls: [{ name: 'read', input: { path: 'package.json' } }] }), ['--max-steps', '3'])
    expect(run.requests).toHaveLength(3)
    expect(run.stdout).toContain('The agent was stopped after 3 steps (--max-steps).')
    expect(run.code).toBe(1)
  })

  test.each([
    ['refuses the key', { status: 401, message: 'Incorrect API key' }, /answered 401: Incorrect API key; check the key$/],
    ['breaks down', { status: 500, message: 'out of memory' }, /answered 500: out of memory \(tried 3 times\)$/],
    ['hangs up', { hangUp: true } as const, /did not answer: .+ \(tried 3 times\)$/],
  ])('that %s ends the run with a sentence', async (_, reply, sentence) => {
    const run = await runServed(() => reply)
    expect(run.stderr.trim().split('\n')).toHaveLength(1)
    expect(run.stderr.trim()).toMatch(sentence)
    expect(run.stderr).not.toContain(KEY)
    expect(run.code).toBe(1)
    expect(leftovers()).toEqual([])
  })

  test('that never answers is given up at --timeout-ms', async () => {
    const run = await runServed(() => ({ silent: true }), ['--timeout-ms', '1500'])
    expect(run.stderr.trim()).toBe('The run was given up after 1500 ms (--timeout-ms).')
    expect(run.code).toBe(1)
    expect(run.ms).toBeLessThan(10_000)
  })

  test.skipIf(process.platform !== 'linux')('runs the commands of the agent confined', async () => {
    const mark = join(root, 'node_modules', `.mark-${process.pid}`)
    const leave = { name: 'bash', input: { cmd: 'sh', args: ['-c', `echo x > '${mark}'`] } }
    try {
      const run = await runServed(script({ calls: [leave] }))
      expect(toolMessages(run.requests[1])).toEqual([expect.stringContaining('[TOOL_COMMAND_FAILED]')])
      expect(existsSync(mark)).toBe(false)
    } finally {
      rmSync(mark, { force: true })
    }
  })

  // In Bun, process.env is a copy, and a command must see that copy.
  test('does not give its key to the commands of the agent', async () => {
    const show = 'console.log(Object.keys(process.env).includes("DEMO_SERVER_ACCESS"))'
    const run = await runServed(script({ calls: [{ name: 'bash', input: { cmd: 'node', args: ['-e', show] } }] }))
    expect(toolMessages(run.requests[1])).toEqual(['false\n'])
  })
})

describe('the command line', () => {
  test('--help explains itself', async () => {
    const run = await runDemo(['--help'])
    expect(run).toMatchObject({ code: 0, stderr: '' })
    for (const option of ['--model', '--base-url', '--api-key-env', '--allow-network', '--keep', '--max-steps']) {
      expect(run.stdout).toContain(option)
    }
  })

  test.each([
    [['--frobnicate'], "Unknown option '--frobnicate'"],
    [['stray'], "Unexpected argument 'stray'"],
    [['--max-steps', 'many'], '--max-steps must be a whole number'],
    [['--model', 'gpt'], '--model must be PROVIDER/MODEL'],
    [['--base-url', 'http://127.0.0.1:1/v1'], '--base-url needs --model'],
    [['--base-url', 'nowhere', '--model', 'test'], '--base-url must be an http(s) address'],
    [['--base-url', 'http://127.0.0.1:1/v1', '--model', 'm', '--project', '/nonexistent'], '--project /nonexistent is not a directory'],
    [['--task', 'Do it.'], '--task and --project need --model'],
    [['--model', 'provider/model'], 'AI_GATEWAY_API_KEY'],
    [['--base-url', 'http://127.0.0.1:1/v1', '--model', 'm', '--api-key-env', 'DEMO_NO_KEY'], 'DEMO_NO_KEY'],
  ])('refuses %j in one sentence', async (args, sentence) => {
    const run = await runDemo(args)
    expect(run.stderr).toContain(sentence)
    expect(run.stderr.trim().split('\n')).toHaveLength(1)
    expect(run.stdout).toBe('')
    expect(run.code).toBe(2)
  })
})

describe('an interruption', () => {
  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s ends the run and the command that is running', async (signal, code) => {
    const seconds = `4${process.pid}.${code}`
    server = await startOpenAIServer(() => ({ calls: [{ name: 'bash', input: { cmd: 'sleep', args: [seconds] } }] }))
    const { child, ended, printed } = startDemo(['--base-url', server.url, '--model', 'test'])
    await printed(/#1 bash +sleep/)
    await waitFor(() => isRunning(seconds))

    const sent = Date.now()
    child.kill(signal)
    const run = await ended
    expect(Date.now() - sent).toBeLessThan(5_000)
    expect(run).toMatchObject({ code, signal: null })
    expect(run.stderr.trim()).toBe('Interrupted.')
    await waitFor(() => !isRunning(seconds))
    expect(leftovers()).toEqual([])
  })
})

/** Whether a process has `argument` among its arguments; true where there is no /proc to ask. */
function isRunning(argument: string): boolean {
  return readdirSync('/proc').some((pid) => {
    if (!/^\d+$/.test(pid)) return false
    try {
      return readFileSync(join('/proc', pid, 'cmdline'), 'utf8').split('\0').includes(argument)
    } catch {
      return false // gone in the meantime
    }
  })
}

async function waitFor(holds: () => boolean): Promise<void> {
  if (!existsSync('/proc/self')) return
  for (let tries = 0; tries < 100; tries += 1) {
    if (holds()) return
    await new Promise((resolve) => setTimeout(resolve, 30))
  }
  throw new Error(`still not: ${holds}`)
}
