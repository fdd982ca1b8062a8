import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { makeSandbox } from '../support/sandbox.ts'

const repository = fileURLToPath(new URL('../..', import.meta.url))

/** Another installed copy of the package, as npm would lay it out. */
function install(directory: string): string {
  const copy = join(directory, 'node_modules', 'toolwright')
  mkdirSync(copy, { recursive: true })
  const addons = readdirSync(repository).filter((name) => name.endsWith('.node'))
  for (const name of ['package.json', 'index.js', 'index.cjs', 'dist', ...addons]) {
    cpSync(join(repository, name), join(copy, name), { recursive: true })
  }
  symlinkSync(join(repository, 'node_modules', 'zod'), join(directory, 'node_modules', 'zod'))
  return pathToFileURL(join(copy, 'dist', 'index.js')).href
}

/** A root, and a module whose `copies` are two installed copies. */
function twoCopies() {
  const fixture = makeSandbox()
  const [first, second] = [install(fixture.at('first')), install(fixture.at('second'))]
  const both = (source: string): Promise<unknown> =>
    report(fixture.root, `const copies = [await import('${first}'), await import('${second}')]\nconst [a, b] = copies\n${source}`)
  return { fixture, both }
}

/** Puts files of a package beside a copy. */
function companion(directory: string, files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    const path = join(directory, 'node_modules', '@smithers-orchestrator', 'tool-context', name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
}

/** Runs a module in a process of its own, by the runtime of this one, and gives what it reports. */
async function report(directory: string, source: string): Promise<unknown> {
  const main = join(directory, 'main.mjs')
  writeFileSync(main, `${source}\nprocess.stdout.write(JSON.stringify(result))\n`)
  const { stdout } = await promisify(execFile)(process.execPath, [main], { cwd: directory })
  return JSON.parse(stdout)
}

describe('Context store: "so that duplicate installs share it"', () => {
  test('a tool of one copy sees the context that the other provides, and counts in it', async () => {
    const { fixture, both } = twoCopies()
    fixture.put('file', 'text')
    const result = await both(
      `const context = { rootDir: ${JSON.stringify(fixture.root)}, runId: 'r', nodeId: 'n' }
      const result = {
        twoCopies: a.read !== b.read,
        same: a.runWithToolContext(context, () => b.getToolContext() === context),
        key: b.runWithToolContext(context, () => a.getToolIdempotencyKey()),
        read: await a.runWithToolContext(context, () => b.read.execute({ path: 'file' })),
        again: await b.runWithToolContext(context, () => a.read.execute({ path: 'file' })),
        seq: context.seq,
        metadata: a.getDefinedToolMetadata(b.write).name,
      }`,
    )
    expect(result).toEqual({
      twoCopies: true,
      same: true,
      key: 'smithers:r:n:0',
      read: 'text',
      again: 'text',
      seq: 2,
      metadata: 'write',
    })
  })

  test('ToolError.isInstance knows the errors of the other copy, instanceof does not', async () => {
    const { both } = twoCopies()
    const result = await both(
      `const error = await b.readFileTool('../x').catch((error) => error)
      const result = {
        isInstance: [a.ToolError.isInstance(error), b.ToolError.isInstance(error)],
        instanceOf: [error instanceof a.ToolError, error instanceof b.ToolError, error instanceof Error],
        code: error.code,
      }`,
    )
    expect(result).toEqual({
      isInstance: [true, true],
      instanceOf: [false, true, true],
      code: 'TOOL_PATH_ESCAPE',
    })
  })

  test('edits of one file by both copies at the same time all land', async () => {
    const { fixture, both } = twoCopies()
    fixture.put('f', '0\n1\n2\n3\n4\n5\n')
    const result = await both(
      `const edits = Array.from({ length: 6 }, async (_, line) => {
        const patch = \`@@ -\${line + 1} +\${line + 1} @@\\n-\${line}\\n+\${line}!\\n\`
        for (let left = 20; ; left -= 1) {
          const error = await copies[line % 2].editFileTool('f', patch).catch((error) => error)
          if (error === 'ok') return 'ok'
          if (error.code !== 'TOOL_EDIT_CONFLICT' || left === 0) return error.message
        }
      })
      const result = await Promise.all(edits)`,
    )
    expect(result).toEqual(Array(6).fill('ok'))
    expect(fixture.text('f')).toBe('0!\n1!\n2!\n3!\n4!\n5!\n')
  })

  test('tools of both copies are recorded in the journal of the task, numbered together', async () => {
    const { fixture, both } = twoCopies()
    fixture.put('file', 'text')
    const result = await both(
      `const journal = await a.openJournal('memory:')
      const options = { journal, runId: 'r', nodeId: 'n', rootDir: ${JSON.stringify(fixture.root)} }
      await a.runTask(options, async () => {
        await a.read.execute({ path: 'file' })
        await b.read.execute({ path: 'file' })
        await b.bash.execute({ cmd: 'false' }).catch(() => undefined)
        await a.write.execute({ path: 'file', content: '' })
        await Promise.all([b.read.execute({ path: 'file' }), b.read.execute({ path: 'file' })])
      })
      const rows = await journal.listRun('r')
      const result = rows.map(({ seq, toolName, status }) => [seq, toolName, status].join(' '))`,
    )
    expect(result).toEqual(['1 read success', '2 read success', '3 bash error', '4 write success', '5 read success', '6 read success'])
  })
})

const engine = `import { AsyncLocalStorage } from 'node:async_hooks'
const store = new AsyncLocalStorage()
export const runWithToolContext = (context, fn) => store.run(context, fn)
export const getToolContext = () => store.getStore()
`
const manifest = (exports: object): string =>
  JSON.stringify({ name: '@smithers-orchestrator/tool-context', version: '0.32.0', type: 'module', exports })

describe('Context store: "When @smithers-orchestrator/tool-context is installed beside us, its AsyncLocalStorage is the store"', () => {
  const shapes: [string, object, specifier: string][] = [
    ['as its main entry', { '.': './index.js' }, '@smithers-orchestrator/tool-context'],
    ['as ./toolContext', { './toolContext': './index.js' }, '@smithers-orchestrator/tool-context/toolContext'],
  ]
  test.each(shapes)('%s: our tools see its context, record to it and take its key', async (_what, exports, specifier) => {
    const fixture = makeSandbox()
    fixture.put('in/file', 'text')
    const copy = install(fixture.root)
    companion(fixture.root, { 'package.json': manifest(exports), 'index.js': engine })
    const result = await report(
      fixture.root,
      `const engine = await import('${specifier}')
      const ours = await import('${copy}')
      const phases = []
      const context = {
        rootDir: ${JSON.stringify(fixture.at('in'))}, runId: 'run', nodeId: 'task', iteration: 1,
        recordToolCall: (record) => { phases.push([record.phase, record.toolName, record.seq]) },
      }
      const result = {
        read: await engine.runWithToolContext(context, () => ours.read.execute({ path: 'file' })),
        direct: await engine.runWithToolContext(context, () => ours.readFileTool('file')),
        phases,
        key: engine.runWithToolContext(context, () => ours.getToolIdempotencyKey()),
        theirsFromOurs: ours.runWithToolContext(context, () => engine.getToolContext() === context),
        outside: ours.getToolContext() === undefined,
        symbol: Symbol.for('toolwright.tool-context') in globalThis,
      }`,
    )
    expect(result).toEqual({
      read: 'text',
      direct: 'text',
      phases: [
        ['started', 'read', 1],
        ['finished', 'read', 1],
      ],
      key: 'smithers:run:task:1',
      theirsFromOurs: true,
      outside: true,
      symbol: false,
    })
  })

  test.each([
    ['exports something else', 'export const other = 1\n'],
    ['cannot be loaded', 'throw new Error("broken")\n'],
  ])('a companion that %s is left aside', async (_what, source) => {
    const fixture = makeSandbox()
    const copy = install(fixture.root)
    companion(fixture.root, { 'package.json': manifest({ '.': './index.js' }), 'index.js': source })
    const result = await report(
      fixture.root,
      `const ours = await import('${copy}')
      const result = ours.runWithToolContext({ runId: 'r' }, () => ours.getToolContext().runId)`,
    )
    expect(result).toBe('r')
  })
})
