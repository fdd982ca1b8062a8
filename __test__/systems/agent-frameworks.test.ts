// Frameworks for agents with our tools, as the programs in `frameworks` put them together: the frameworks are real, from npm and PyPI, and
// so are the tools. The model is the mock (`scripted-models.ts`).
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { cli } from '../mcp-server/mcp-client.ts'
import { installedPackages } from '../support/installed-packages.ts'
import { putPackageInto } from '../support/npm-project.ts'
import { eventually, running, sleepingMark } from '../support/processes.ts'
import { makeSandbox } from '../support/sandbox.ts'
import { type ModelTurn, startModels } from '../support/scripted-models.ts'

const PACKAGES = [
  '@mastra/core@1.71.0',
  '@ai-sdk/openai-compatible@3.0.92',
  'ai@7.0.173',
  'zod@4.6.7',
  'langchain@1.5.14',
  '@langchain/openai@1.6.0',
  '@langchain/core@1.4.0',
  'deepagents@1.14.1',
  '@openai/agents@0.20.0',
  'openai',
] as const
const PYTHON = ['pydantic-ai-slim[openai,mcp]==2.68.0']

let folder = ''
let python: string | undefined
beforeAll(async () => {
  folder = await installedPackages('agent-frameworks', [...PACKAGES])
  // As it is built now.
  putPackageInto(folder)
  cpSync(fileURLToPath(new URL('frameworks', import.meta.url)), join(folder, 'programs'), { recursive: true })
  python = installedPython()
}, 600_000)

/** A Python with its packages; `undefined` where there is none, or no index of packages. */
function installedPython(): string | undefined {
  const program = join(folder, 'python', 'bin', 'python')
  try {
    if (!existsSync(program)) execFileSync('python3', ['-m', 'venv', join(folder, 'python')], { stdio: 'ignore' })
    execFileSync(program, ['-m', 'pip', 'install', '-q', '--disable-pip-version-check', ...PYTHON], { stdio: 'ignore', timeout: 300_000 })
    return program
  } catch {
    console.warn('skipped: pydantic-ai cannot be installed')
    return undefined
  }
}

interface Framework {
  program: string
  /** What reads a file, runs a command and how its arguments are called. */
  read: (path: string) => ModelTurn
  run: (command: string) => ModelTurn
  /** What a failure says. */
  missing: RegExp
}

const createTools: Omit<Framework, 'program'> = {
  read: (path) => ({ tool: 'read', input: { path } }),
  run: (command) => ({ tool: 'bash', input: { cmd: 'sh', args: ['-c', command] } }),
  missing: /File not found: `b\.txt`/u,
}

const frameworks: Record<string, Framework> = {
  Mastra: { program: 'mastra.mjs', ...createTools },
  'LangChain.js': { program: 'langchain.mjs', ...createTools },
  'OpenAI Agents': { program: 'openai-agents.mjs', ...createTools },
  deepagents: {
    program: 'deepagents.mjs',
    read: (path) => ({ tool: 'read_file', input: { file_path: path } }),
    run: (command) => ({ tool: 'execute', input: { command } }),
    missing: /not found/iu,
  },
  'pydantic-ai': {
    program: 'pydantic-ai.py',
    read: createTools.read,
    run: (command) => ({ tool: 'bash', input: { command } }),
    missing: /File not found: `b\.txt`/u,
  },
}

/** Starts a program of a framework with a model that has a script. A server that asks allows nothing by itself. */
async function begin({ program }: Framework, script: readonly ModelTurn[], more: NodeJS.ProcessEnv = {}, asks = program.includes('-asks')) {
  const fixture = makeSandbox()
  fixture.put('a.txt', 'the first line\n')
  const models = await startModels(script)
  onTestFinished(() => models.close())
  const server = [process.execPath, cli, 'mcp', '--root', fixture.root, ...(asks ? [] : ['--allow', 'bash'])].join('\n')
  const env = {
    ...process.env,
    BASE_URL: `${models.url}/v1`,
    ROOT: fixture.root,
    ABORT: '1',
    SERVER: server,
    MASTRA_TELEMETRY_DISABLED: '1',
    ...more,
  }
  const runtime = program.endsWith('.py') ? (python ?? '') : process.execPath
  const child = spawn(runtime, [join(folder, 'programs', program)], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (printed += text))
  return { fixture, models, child, printed: () => printed }
}

describe.each(['Mastra', 'LangChain.js', 'OpenAI Agents', 'deepagents', 'pydantic-ai'])('%s asks a person', (name) => {
  const framework = frameworks[name] as Framework
  const asking = { ...framework, program: framework.program.replace(/(?=\.\w+$)/u, '-asks') }
  const isAbsent = (): boolean => name === 'pydantic-ai' && python === undefined

  test.each(['approve', 'reject'])('before a command runs, with the answer %s', { timeout: 60_000 }, async (answer) => {
    if (isAbsent()) return
    const script = [framework.run('echo made > made.txt'), 'all is done']
    const { models, child, printed, fixture } = await begin(asking, script, { ANSWER: answer })
    await once(child, 'close')
    expect(printed()).toMatch(/^asked: (?:bash|execute) .*made\.txt/mu)
    expect(printed()).toContain('all is done')
    expect(existsSync(fixture.at('made.txt'))).toBe(answer === 'approve')
    // The model reads that it was not done.
    if (answer === 'reject') expect(models.bodies.at(-1)).toMatch(/not now|rejected|declined|not approved/iu)
  })

  test('and not before a file is read', { timeout: 60_000 }, async () => {
    if (isAbsent()) return
    const root = makeSandbox()
    root.put('a.txt', 'the first line\n')
    const path = name === 'deepagents' ? root.at('a.txt') : 'a.txt'
    const { models, child, printed } = await begin(asking, [framework.read(path), 'all is done'], { ANSWER: 'reject' })
    await once(child, 'close')
    expect(printed()).not.toContain('asked:')
    expect(printed()).toContain('all is done')
    if (name !== 'deepagents') expect(models.bodies.at(-1)).toContain('the first line')
  })
})

test('pydantic-ai without a person reads which option would allow the command', { timeout: 60_000 }, async () => {
  if (python === undefined) return
  const framework = frameworks['pydantic-ai'] as Framework
  const { models, child, printed, fixture } = await begin(framework, [framework.run('echo made > made.txt'), 'all is done'], {}, true)
  await once(child, 'close')
  expect(printed()).toContain('all is done')
  expect(models.bodies.at(-1)).toMatch(/cannot ask its user\. Nothing was done\. .*--allow '?bash/u)
  expect(existsSync(fixture.at('made.txt'))).toBe(false)
})

describe.each(Object.entries(frameworks))('%s', (name, framework) => {
  const isAbsent = (): boolean => name === 'pydantic-ai' && python === undefined

  test('lists, calls, shows errors and long outputs', { timeout: 120_000 }, async ({ skip }) => {
    if (isAbsent()) skip('it cannot be installed')
    const root = name === 'deepagents' ? '/' : ''
    expect(readFileSync(join(folder, 'programs', framework.program), 'utf8')).not.toBe('')
    const script: ModelTurn[] = []
    const { models, child, printed, fixture } = await begin(framework, script)
    const at = (path: string): string => (root === '' ? path : fixture.at(path))
    script.push(
      framework.read(at('a.txt')),
      framework.read(at('b.txt')),
      framework.run('echo "made by a command" > made.txt; seq 1 60000'),
      'all is done',
    )
    await once(child, 'close')
    expect(printed()).toContain('all is done')
    const results = models.bodies.at(-1) ?? ''
    expect(results).toContain('the first line')
    expect(results).toMatch(framework.missing)
    expect(results).toMatch(/60000|left out|output_path|too large/iu)
    expect(fixture.text('made.txt')).toBe('made by a command\n')
  })

  test.each(['SIGUSR2', 'SIGKILL'] as const)('an abort (%s) ends the command', { timeout: 60_000 }, async (signal) => {
    if (isAbsent()) return
    const mark = sleepingMark()
    const { child, printed } = await begin(framework, [framework.run(`sleep ${mark}`), 'done'])
    expect(await eventually(() => running(mark).length > 0, 40_000), printed()).toBe(true)
    child.kill(signal)
    expect(await eventually(() => running(mark).length === 0, 10_000), printed()).toBe(true)
  })
})
