import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, symlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { createThread, loadTools, watchTools, type LoadedTools } from 'toolwright/standard-agents'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { startScript } from '../support/child-script.ts'
import { makeFolder, putFile, toolSource } from './tool-folder.ts'

const NOT_SNAKE_CASE = "Tool name should be in snake_case format (e.g., 'log_name', 'send_email')"
const noDefault = (base: string) => `Tool file '${base}' must have a default export using defineTool()`
/** Errors by the name of their file. */
const faults = ({ errors }: LoadedTools) => Object.fromEntries(errors.map(({ file, message }) => [basename(file), message]))

describe('which files', () => {
  test('R23 files of the directory itself, by their names; a missing directory has no tools', async () => {
    const folder = makeFolder({
      'lookup_customer.ts': toolSource('lookup'),
      'create_ticket.ts': toolSource('create'),
      'deeper/other_tool.ts': toolSource('deeper'),
      'notes.md': '# no tool',
      'data.json': '{}',
      'component.tsx': 'export default 5',
    })
    mkdirSync(join(folder, 'folder.ts'))
    const { tools, errors } = await loadTools(folder)
    expect(errors).toEqual([])
    expect(Object.keys(tools)).toEqual(['create_ticket', 'lookup_customer'])
    expect(await loadTools(pathToFileURL(`${folder}/`))).toMatchObject({ errors: [], tools: { create_ticket: { description: 'create' } } })
    expect(await loadTools(join(folder, 'nowhere'))).toEqual({ tools: {}, errors: [] })
  })

  test('R23 agents/tools is where it looks without an argument', async () => {
    const folder = makeFolder({
      'agents/tools/only_one.ts': toolSource('default'),
      'run.mjs': `
import { loadTools } from 'toolwright/standard-agents'
const { tools, errors } = await loadTools()
console.log(JSON.stringify([Object.keys(tools), errors]))
`,
    })
    expect(
      JSON.parse(execFileSync(process.execPath, ['run.mjs'], { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })),
    ).toEqual([['only_one'], []])
  })

  test('R26 no declarations and no tests; .js and .mjs too', async () => {
    const plain = toolSource('built').replace('interface Args { query: string }', '').replace(': Args', '')
    const folder = makeFolder({
      'a_tool.js': plain,
      'b_tool.mjs': plain,
      'a_tool.d.ts': 'export {}',
      'a_tool.test.ts': 'throw new Error("a test ran")',
      'b_tool.test.mjs': 'throw new Error("a test ran")',
    })
    const { tools, errors } = await loadTools(folder)
    expect(errors).toEqual([])
    expect(Object.keys(tools)).toEqual(['a_tool', 'b_tool'])
  })

  test('a name of two files is an error of both', async () => {
    const plain = toolSource('built').replace('interface Args { query: string }', '').replace(': Args', '')
    const loaded = await loadTools(makeFolder({ 'a_tool.js': plain, 'a_tool.ts': toolSource('source') }))
    const message = 'Tool "a_tool" is defined by more than one file: a_tool.js, a_tool.ts'
    expect(loaded.tools).toEqual({})
    expect(faults(loaded)).toEqual({ 'a_tool.js': message, 'a_tool.ts': message })
  })

  test('R28 names are sorted, whatever the directory says', async () => {
    const names = ['zeta', 'a', 'm_1', 'b2', 'aa']
    const { tools } = await loadTools(makeFolder(Object.fromEntries(names.map((name) => [`${name}.ts`, toolSource(name)]))))
    expect(Object.keys(tools)).toEqual(['a', 'aa', 'b2', 'm_1', 'zeta'])
  })
})

describe('faults', () => {
  test.each([
    ['a', true],
    ['ab', true],
    ['a1', true],
    ['a__b', true],
    ['send_email', true],
    ['constructor', true],
    ['a_', false],
    ['_a', false],
    ['1a', false],
    ['A', false],
    ['sendEmail', false],
    ['send-email', false],
    ['send email', false],
    ['é', false],
  ])('R24 snake_case: %s', async (name, fits) => {
    const loaded = await loadTools(makeFolder({ [`${name}.ts`]: toolSource(name) }))
    expect(Object.keys(loaded.tools)).toEqual(fits ? [name] : [])
    expect(faults(loaded)).toEqual(fits ? {} : { [`${name}.ts`]: NOT_SNAKE_CASE })
  })

  test('R25 no default export of defineTool; several faults of a file are joined', async () => {
    const loaded = await loadTools(
      makeFolder({
        'nothing.ts': 'export const a = 5',
        'other.ts': 'export default { description: "x", args: null, execute: async () => ({ status: "success" }) }',
        'named.ts': toolSource('x').replace('export default', 'export const tool ='),
        'notSnake.ts': 'export default 5',
      }),
    )
    expect(loaded.tools).toEqual({})
    expect(faults(loaded)).toEqual({
      'named.ts': noDefault('named.ts'),
      'notSnake.ts': `${NOT_SNAKE_CASE} | ${noDefault('notSnake.ts')}`,
      'nothing.ts': noDefault('nothing.ts'),
      'other.ts': noDefault('other.ts'),
    })
  })

  test('R26 the default export may be made anywhere in the file, and one bad file hides no other', async () => {
    const loaded = await loadTools(
      makeFolder({
        'good.ts': toolSource('good'),
        'later.ts': `${toolSource('later').replace('export default', 'const made =')}\nexport { made as default, made as again }`,
        'throws.ts': 'throw new Error("on load")',
        'syntax.ts': 'export default {',
        'missing.ts': 'import "./nowhere.ts"',
        'refused.ts': toolSource('x').replace('z.string().default', 'z.date().default'),
      }),
    )
    expect(Object.keys(loaded.tools)).toEqual(['good', 'later'])
    const faultsByFile = faults(loaded)
    expect(Object.keys(faultsByFile)).toEqual(['missing.ts', 'refused.ts', 'syntax.ts', 'throws.ts'])
    expect(faultsByFile['throws.ts']).toContain("Tool file 'throws.ts' cannot be loaded: on load")
    expect(faultsByFile['refused.ts']).toContain('args.query: unsupported Zod type "date"')
    expect(loaded.errors.every(({ file, error }) => file.startsWith('/') && error instanceof Error)).toBe(true)
  })

  test('R27 a second tool in a file is an error', async () => {
    const loaded = await loadTools(
      makeFolder({
        'two.ts': `${toolSource('two')}\nexport const second = defineTool({ description: 'd', execute: async () => ({ status: 'success' }) })`,
      }),
    )
    expect(faults(loaded)).toEqual({ 'two.ts': "Tool file 'two.ts' must define one tool, and exports another as second" })
  })

  test('R28 without type stripping, the error says what to do', async (context) => {
    if (process.versions.bun !== undefined) return context.skip()
    const folder = makeFolder({
      'tools/a_tool.ts': toolSource('x'),
      'run.mjs': `
import { loadTools } from 'toolwright/standard-agents'
console.log(JSON.stringify((await loadTools('tools')).errors.map(({ message }) => message)))
`,
    })
    const out = execFileSync(process.execPath, ['--no-experimental-strip-types', 'run.mjs'], { cwd: folder, encoding: 'utf8' })
    const [message] = JSON.parse(out) as string[]
    expect(message).toMatch(
      /Unknown file extension.*Node runs TypeScript by stripping its types, from Node 22\.18 on.*Bun runs all of it.*compile the file to \.js/u,
    )
  })

  test('what is no file is ignored, a dangling link is an error, a link to a file is followed', async () => {
    const folder = makeFolder({ 'elsewhere/real.ts': toolSource('linked') })
    symlinkSync('nowhere.ts', join(folder, 'dangling.ts'))
    symlinkSync('elsewhere/real.ts', join(folder, 'linked.ts'))
    symlinkSync('elsewhere', join(folder, 'directory.ts'))
    execFileSync('mkfifo', [join(folder, 'pipe.ts')])
    const loaded = await loadTools(folder)
    expect(Object.keys(loaded.tools)).toEqual(['linked'])
    expect(Object.keys(faults(loaded))).toEqual(['dangling.ts'])
    expect(faults(loaded)['dangling.ts']).toMatch(/^Tool file cannot be read: .*ENOENT/u)
  })

  test('a directory that cannot be read is an error, and so is a file in its place', async (context) => {
    const folder = makeFolder({ 'file.ts': toolSource('x'), 'closed/a.ts': toolSource('a') })
    expect(faults(await loadTools(join(folder, 'file.ts')))['file.ts']).toMatch(/ENOTDIR/u)
    if (process.getuid?.() === 0) return context.skip('root reads everything')
    chmodSync(join(folder, 'closed'), 0)
    expect(faults(await loadTools(join(folder, 'closed')))['closed']).toMatch(/EACCES/u)
    chmodSync(join(folder, 'closed'), 0o755)
  })

  test('a file that never finishes loading is given up', async () => {
    const loaded = await loadTools(makeFolder({ 'good.ts': toolSource('good'), 'slow.ts': 'await new Promise(() => undefined)' }), {
      timeoutMs: 3_000,
    })
    expect(Object.keys(loaded.tools)).toEqual(['good'])
    expect(faults(loaded)['slow.ts']).toBe("Tool file 'slow.ts' cannot be loaded: it has not loaded within 3000 ms")
  })

  test.each([[5], [''], [null]])('refuses %j for a directory', async (directory) => {
    await expect(loadTools(directory as never)).rejects.toThrow('[INVALID_INPUT]')
  })
})

describe('watching', () => {
  test('a changed file is loaded again, and the thread calls the new one', async () => {
    const folder = makeFolder({ 'a_tool.ts': toolSource('first') })
    const seen: string[][] = []
    const watched = await watchTools(folder, { pollMs: 20, onChange: ({ tools }) => seen.push(Object.keys(tools)) })
    const thread = await createThread({ tools: () => watched.tools })
    onTestFinished(async () => {
      watched.close()
      await thread.close()
    })
    expect(await thread.call('a_tool')).toMatchObject({ result: 'first none' })
    putFile(folder, 'a_tool.ts', toolSource('second one'))
    await vi.waitFor(() => expect(watched.tools['a_tool']?.description).toBe('second one'), 5_000)
    expect(await thread.call('a_tool')).toMatchObject({ result: 'second one none' })
    putFile(folder, 'b_tool.ts', 'export default')
    await vi.waitFor(() => expect(watched.errors).toHaveLength(1), 5_000)
    expect(Object.keys(watched.tools)).toEqual(['a_tool'])
    putFile(folder, 'b_tool.ts', toolSource('b'))
    await vi.waitFor(() => expect(Object.keys(watched.tools)).toEqual(['a_tool', 'b_tool']), 5_000)
    expect(watched.errors).toEqual([])
    expect(seen.at(-1)).toEqual(['a_tool', 'b_tool'])
    watched.close()
    putFile(folder, 'c_tool.ts', toolSource('c'))
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(Object.keys(watched.tools)).toEqual(['a_tool', 'b_tool'])
  })

  test('in this runtime without a test runner in between', async () => {
    const { code, stdout, stderr } = await startScript(fileURLToPath(new URL('watch-process.ts', import.meta.url)), [makeFolder()]).ended
    expect(stderr).not.toMatch(/Error/u)
    expect([code, stdout]).toEqual([0, 'first none\nsecond none\n'])
  })
})
