// The ten first tasks of docs/getting-started.md, saved and run as the page says: in a project of `npm init -y` and in one of ES modules, by each
// runtime that is supported. The model is a mock, which is loaded before the program; all else is real.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { blockOf } from '../support/code-blocks.ts'
import { installedPackages } from '../support/installed-packages.ts'
import { putPackageInto } from '../support/npm-project.ts'
import { makeSandbox } from '../support/sandbox.ts'

const platform = `${process.platform}-${process.arch}`
const PACKAGES = [
  'ai@7.0.173',
  'zod@4.6.7',
  '@modelcontextprotocol/server',
  ...['22', '24', '26'].map((version) => `node${version}@npm:node-${platform}@${version}`),
] as const

let folder = ''
beforeAll(async () => {
  folder = await installedPackages('first-tasks', [...PACKAGES] as unknown as [string, ...string[]])
  // As it is built now.
  putPackageInto(folder)
}, 600_000)

/** What the AI SDK finds for a model by its name: it writes a file, and says that it is done. */
const model = `
import { MockLanguageModelV4 } from 'ai/test'
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
const turns = [
  { finishReason: { unified: 'tool-calls' }, content: [{ type: 'tool-call', toolCallId: '1', toolName: 'write', input: JSON.stringify({ path: 'fixed.txt', content: 'yes' }) }] },
  { finishReason: { unified: 'stop' }, content: [{ type: 'text', text: 'done' }] },
]
const model = new MockLanguageModelV4({ doGenerate: async () => ({ ...turns.shift(), usage, warnings: [] }) })
globalThis.AI_SDK_DEFAULT_PROVIDER = { specificationVersion: 'v4', languageModel: () => model }
`

const start = 'getting-started.md'
/** The programs, and what each prints. */
const programs: readonly (readonly [page: string, name: string, prints: RegExp])[] = [
  ['../README.md', 'agent.mjs', /^done$/u],
  [start, 'host.mjs', /^registry\.npmjs\.org .+\nexample\.com .*sandbox\.network\.allow/su],
  [start, 'orders.mjs', /^done Map/u],
  [start, 'session.mjs', /fixed\.txt.*\ndone$/su],
  [start, 'task.mjs', /^done$/u],
  [start, 'undo.mjs', /notes\.txt/u],
  [start, 'error.mjs', /^TOOL_FILE_NOT_FOUND$/u],
  [start, 'tools.mjs', /^text$/u],
]
/** The commands of the other two tasks. */
const commands: readonly (readonly [args: string[], prints: RegExp])[] = [
  [['doctor'], /network/u],
  [['calls', '../runs.db'], /write/u],
]

const runtimes = ['node22', 'node24', 'node26', 'bun'] as const

describe.each(runtimes)('%s', (runtime) => {
  test.each(['commonjs', 'module'])('each first task shows something, in a project of the type %s', { timeout: 180_000 }, (type) => {
    const project = makeSandbox().at('shop')
    mkdirSync(project)
    execFileSync('npm', ['init', '-y'], { cwd: project, stdio: 'ignore' })
    const manifest = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as object
    writeFileSync(join(project, 'package.json'), JSON.stringify({ ...manifest, type }))
    symlinkSync(join(folder, 'node_modules'), join(project, 'node_modules'))
    writeFileSync(join(project, '..', 'model.mjs'), model)
    symlinkSync(join(folder, 'node_modules'), join(project, '..', 'node_modules'))
    const program = runtime === 'bun' ? bun : join(folder, 'node_modules', runtime, 'bin', 'node')
    const before = runtime === 'bun' ? ['--preload', '../model.mjs'] : ['--import', '../model.mjs']
    const run = (args: readonly string[]): string =>
      execFileSync(program, args, { cwd: project, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
    for (const [page, name, prints] of programs) {
      writeFileSync(join(project, name), blockOf(page, name))
      expect(run([...before, name]), name).toMatch(prints)
    }
    for (const [args, prints] of commands) expect(run(['node_modules/toolwright/dist/cli.js', ...args]), args[0]).toMatch(prints)
  })
})

const bun = fileURLToPath(new URL('../../node_modules/.bin/bun', import.meta.url))
